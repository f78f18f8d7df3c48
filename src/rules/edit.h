// SPDX-License-Identifier: Apache-2.0
//
// What the rules share: finding the pair of nodes on a swapped edge, the side condition of order
// edges, names for new nodes, and taking doubled nodes out again.
//
//   u -> out -> in -> v        u, v operations; out: kSwapOut, in: kSwapIn
//
// Operations are the nodes of the graph as it came, their clones, and what a split operation has on
// the device; not the swap nodes.

#ifndef TFLMS_RULES_EDIT_H_
#define TFLMS_RULES_EDIT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/graph/graph.h"
#include "src/rules/rule.h"
#include "tflms/status.h"

namespace tflms {

// The swap pair on a requested edge.
struct SwapPair {
  NodeId out = kNoNode;
  NodeId in = kNoNode;
};

// A swap-in and the requested edges that read it.
struct SwapInReaders {
  NodeId in = kNoNode;
  std::vector<const SwapEdge*> edges;  // the earliest reader first
};

// Place of each node in `serial_order`, -1 for the others. By node id, `size` entries.
std::vector<int32_t> SerialPlaces(const std::vector<NodeId>& serial_order, int32_t size);

// The pair that data input `slot` of `reader` goes through; both kNoNode when it is not swapped or
// there is no such input.
SwapPair FindPair(const Graph& graph, NodeId reader, int32_t slot);

// All swap-ins made in this rewriting on the requested edges, by id, each with the edges that read
// it, the earliest reader first: by place in the serial order when all of them have one, else by
// level. An empty `serial_place` stands for "none has one".
std::vector<SwapInReaders> ReadersBySwapIn(const SwapRequest& request, const RewriteState& state,
                                           const std::vector<int32_t>& serial_place);

// True when the node came with the graph, that is, was not made by a rule in this rewriting.
bool CameWithGraph(const RewriteState& state, NodeId id);

// True for an operation.
bool IsOperation(const RewriteState& state, NodeId id);

// True when an operation runs once in every step: in the root frame, on no branch.
bool RunsOnceAStep(const RewriteState& state, NodeId id);

// True when data input `slot` of an operation belongs to a branch though both its ends run once in
// every step, or tells branches apart: out of a Switch, into a Merge, a Switch's predicate.
bool IsBranching(const Graph& graph, NodeId reader, int32_t slot);

// True when order edges may begin and end at the node: it is an operation outside loops and
// branches, has to be run to have a value, is no control flow and in no part that a compiler takes
// over, and waits for nothing but its inputs.
bool TakesOrderEdges(const RewriteState& state, NodeId id);

// The control inputs that rules have not added. Valid until the node changes.
std::span<const NodeId> OwnControls(const Node& node);

// True when both nodes are on one and the same accelerator.
bool OnSameAccelerator(const Graph& graph, NodeId a, NodeId b);

// True when `to` waits for `from` by an edge of its own, data or control.
bool HasEdge(const Graph& graph, NodeId from, NodeId to);

// For every node: has it a control edge in or out? O(V + E).
std::vector<bool> HaveControlEdges(const Graph& graph);

// Hands out names under the reserved prefix: "tflms/<kind>/<tensor>", then with "_1", "_2", ...
class NameMaker {
 public:
  explicit NameMaker(const Graph& graph);
  std::string Make(std::string_view kind, std::string tensor_name);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int64_t> next_;  // by base: the last counter tried
};

// Replaces nodes made in this rewriting by others that do the same: every reader of a node `id`
// with keep[id] != id reads keep[id] from now on, and the node is removed. `keep` has an entry for
// every node; what is kept must be kept as itself, and what is removed must have been made in this
// rewriting and have no control edge. Ids of the graph as it came do not change. O(V + E).
Status MergeNodes(const std::vector<NodeId>& keep, RewriteState* state);

}  // namespace tflms

#endif  // TFLMS_RULES_EDIT_H_
