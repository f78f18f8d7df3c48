// SPDX-License-Identifier: Apache-2.0
//
// Rule fuse-swap-ins: readers near one another share one copy in.
//
//   out -> in1 -> v1, out -> in2 -> v2   =>   out -> in1, in1 -> v1, in1 -> v2
//   when group(v1) = group(v2) and |level(v1) - level(v2)| <= fuse_gap
//
// for the swap-ins of one swap-out on the requested edges. Within a group, in ascending level, a
// swap-in joins the open one as long as it lies at most fuse_gap levels above the first of it; else
// it opens the next. The swap-in of the earliest reader stays, so that reader decides when the
// tensor is back: rule trigger takes the trigger of the earliest reader.
// Side condition: the swap-ins were made in this rewriting and have no control edge in or out (rule
// trigger has not come to them).
// Buys: one copy in instead of several. Costs: the tensor stays on the device for the gap.
// Running time: O(V + E) when there is something to fuse, else O(k log k) for k edges.

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "src/rules/edit.h"
#include "src/rules/rule.h"

namespace tflms {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id); }

struct Candidate {
  int32_t level = 0;  // of the earliest reader
  NodeId in = kNoNode;
};

bool WithinGap(const Candidate& first, const Candidate& next, int32_t gap) {
  return gap < 0 || next.level - first.level <= gap;
}

Result<RuleEffect> Apply(const SwapRequest& request, RewriteState* state) {
  const Graph& graph = *state->graph;
  const std::vector<bool> has_control = HaveControlEdges(graph);
  // By (swap-out, group): the swap-ins there.
  std::map<std::pair<NodeId, int32_t>, std::vector<Candidate>> groups;
  for (const SwapInReaders& swap_in : ReadersBySwapIn(request, *state, /*serial_place=*/{})) {
    if (has_control[Index(swap_in.in)]) continue;
    const SwapEdge& first = *swap_in.edges.front();
    const NodeId out = graph.node(swap_in.in).inputs.front().node;
    groups[{out, first.group}].push_back({state->level[Index(first.reader)], swap_in.in});
  }

  RuleEffect effect;
  std::vector<NodeId> keep(graph.nodes.size());
  std::iota(keep.begin(), keep.end(), 0);
  for (auto& [key, candidates] : groups) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.level < b.level; });
    const Candidate* open = &candidates.front();
    for (const Candidate& next : candidates) {
      if (next.in == open->in) continue;
      if (WithinGap(*open, next, request.fuse_gap)) {
        keep[Index(next.in)] = open->in;
        effect.changes += 2;  // a node removed, an edge redirected
      } else {
        open = &next;
      }
    }
  }
  if (effect.changes > 0) TFLMS_RETURN_IF_ERROR(MergeNodes(keep, state));
  return effect;
}

}  // namespace

RuleEntry FuseSwapInsRule() {
  return {"fuse-swap-ins", "readers near one another share one copy in",
          "out -> in1 -> v1, out -> in2 -> v2  =>  out -> in -> v1, v2", Apply};
}

}  // namespace tflms
