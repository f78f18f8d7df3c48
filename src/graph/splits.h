// SPDX-License-Identifier: Apache-2.0
//
// The form of a split operation: v runs in k pieces along the first extent N of its output, and
// neither what it reads nor what it makes is on the device as a whole while it runs.
//
//   X -> v -> Y   =>   X -> out -> Split =(i)=> in_i -> c_i -> v_i -> out_i =(i)=> Concat -> in ->
//   y
//
//   out, in, out_i, in_i   swap nodes, on the host        v_1 .. v_{k-1}   clones of v; v_k is v
//   Split, Concat          on the host, by rows           c_i, y           identities on the device
//   begin, end, gone       operations without data on the device:
//     out ->c begin ->c gone ->c in_1, in_2     X is on the host before the first piece comes
//     v_{i-2} ->c in_i, v_{i-1} ->c v_i, out_{i-2} ->c v_i      two pieces of each at most
//     out_{k-1}, out_k ->c end ->c gone' ->c in   all pieces have left before Y comes
//
// All of these but swap nodes, clones and v have role kSplit. Readers of Y read y. v keeps its
// name and attributes; Node::pieces says that it makes a k-th of what its type says.
//
// Exact when row i of v's output is a function of row i of the X alone (kBatchwise), in bits.

#ifndef TFLMS_GRAPH_SPLITS_H_
#define TFLMS_GRAPH_SPLITS_H_

#include <cstdint>
#include <vector>

#include "src/graph/graph.h"
#include "tflms/status.h"

namespace tflms {

// What a batchwise operation does with one of its inputs, by the shapes of input and output.
enum class SlotUse : uint8_t {
  kRows,     // reads row i of it for row i
  kWhole,    // reads all of it for every row: fewer dimensions, or one row only
  kUnknown,  // cannot be told
};
SlotUse UseOfSlot(const OutputInfo& input, const OutputInfo& output);

// Type of what an output really holds: of a piece, a part of the node's rows.
TensorType MadeType(const Graph& graph, NodeId node, int32_t port);

// True for a node of role kSplit that is an identity on an accelerator: c_i or y.
bool IsSplitArrival(const Graph& graph, NodeId id);

// The law of split operations: every node with pieces > 1 and every node of role kSplit is part of
// the form above, and the pieces read all rows in order. O(V + E).
Status VerifySplits(const Graph& graph);

}  // namespace tflms

#endif  // TFLMS_GRAPH_SPLITS_H_
