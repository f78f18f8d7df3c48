// SPDX-License-Identifier: Apache-2.0
//
// Splitting one operation whose inputs and output do not fit together: the rewriting to the form of
// src/graph/splits.h. Other than the rules of the catalog it comes before planning: the plan is
// made for the graph with the pieces.
//
// Side condition, all of it checked here:
//   v is batchwise, came with the graph, is on an accelerator and runs once in every step
//   v has one output, of known shape with N >= 2 rows, in device memory, neither fetched nor fed
//   each input has N rows, and is copied to the host and back in k parts, or is read whole;
//   those copied are device memory of the same accelerator, neither persistent nor written in
//   place, read by no node that picks its input
//   all readers of Y run once in every step, and none picks its input
// Buys: max(X, 2 X / k + 3 Y / k + what is read whole, Y) on the device, X all inputs read by rows,
// instead of the sum of all. Costs: X out and in, Y out and in, with little of
// it hidden. Running time: O(V + E).

#ifndef TFLMS_RULES_SPLIT_H_
#define TFLMS_RULES_SPLIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/graph/buffers.h"
#include "src/graph/graph.h"
#include "src/graph/topology.h"

namespace tflms {

// An operation that may be split.
struct SplitCandidate {
  NodeId node = kNoNode;
  int64_t rows = 0;
  std::vector<int32_t> slots;  // inputs that are read row by row
  int64_t rows_bytes = 0;      // of the different tensors behind them
  int64_t whole_bytes = 0;     // of the different tensors on the device that are read whole
  int64_t output_bytes = 0;
};

// Why the operation cannot be split, or the empty text and `candidate`.
std::string WhyNotSplit(const Graph& graph, const Contexts& contexts, const BufferTable& buffers,
                        NodeId id, SplitCandidate* candidate);

// Rates of the link to the host; 0 = no limit.
struct SplitLink {
  double out_bytes_per_us = 0;
  double in_bytes_per_us = 0;
};

// What it needs on the device at once when it runs in so many pieces, in bytes.
int64_t SplitNeed(const SplitCandidate& candidate, int64_t pieces);

// Runs the operation in `pieces`, which divide its rows. `link` serves for the run times of the
// nodes that stand for copies. The host is that of the operation's accelerator.
void SplitNode(const SplitCandidate& candidate, int64_t pieces, const SplitLink& link,
               Graph* graph);

}  // namespace tflms

#endif  // TFLMS_RULES_SPLIT_H_
