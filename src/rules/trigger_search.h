// SPDX-License-Identifier: Apache-2.0
//
// The two published ways to find the operation w whose end lets a swap-in begin.
//
//   direct order   w with level(v) - ub <= level(w) <= level(v) - lb and a path w ~> v, the
//                  highest level first, the smallest id first within a level
//   chain rule     w on the chain that starts at v and goes on, from each node, to the highest of
//                  the operations its other inputs come from; same bounds on the level
//
// "Other inputs" are those that do not come back from the host themselves. In a gradient the chain
// is the backward path: next to the swapped activation, v reads the gradient from the layer behind
// it. Levels and paths are those of the graph as it came, so that a second run finds the same.
//
// Both walks look at a bounded number of edges, so that thousands of swaps cost time near linear in
// their number. The chain needs one step a level and so reaches further back than the direct order
// where levels are wide.

#ifndef TFLMS_RULES_TRIGGER_SEARCH_H_
#define TFLMS_RULES_TRIGGER_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "src/graph/graph.h"
#include "src/rules/rule.h"

namespace tflms {

// Edges that one walk may look at, and candidates it may test.
inline constexpr int32_t kMaxDirectEdges = 1024;
inline constexpr int32_t kMaxChainEdges = 16384;
inline constexpr int32_t kMaxTests = 64;

// Levels a trigger may lie on.
struct LevelWindow {
  int32_t lowest = 0;
  int32_t highest = 0;
};

// Walks back from readers of swapped tensors. Holds scratch memory for many walks on one graph.
class TriggerSearch {
 public:
  explicit TriggerSearch(const RewriteState& state)
      : state_(state), visited_in_(state.graph->nodes.size(), 0) {}

  // The first candidate in the window for which legal(w) holds, or kNoNode. `in` is the swap-in
  // that `reader` reads; no path through it is followed.
  NodeId DirectOrder(NodeId reader, NodeId in, LevelWindow window,
                     const std::function<bool(NodeId)>& legal);
  NodeId ChainRule(NodeId reader, LevelWindow window, const std::function<bool(NodeId)>& legal);

 private:
  int32_t Level(NodeId id) const { return state_.level[static_cast<size_t>(id)]; }
  bool Visit(NodeId id);

  const RewriteState& state_;
  std::vector<int32_t> visited_in_;  // by node: number of the walk that saw it last
  int32_t walk_ = 0;
};

}  // namespace tflms

#endif  // TFLMS_RULES_TRIGGER_SEARCH_H_
