// SPDX-License-Identifier: Apache-2.0
//
// Rule fuse-swap-outs: one copy out for each swapped output.
//
//   u -> out1, u -> out2   =>   u -> out1, and what read out2 reads out1
//
// for all swap-outs of one output on the requested edges; the one with the smallest id stays.
// Side condition: the swap-outs were made in this rewriting, on one device, and have no control
// edge in or out (rule sync has not come to them).
// Buys: one copy out and one buffer on the host instead of one for each reader. Costs nothing: the
// copies would have been the same bytes at the same time.
// Running time: O(V + E) when there is something to fuse, else O(k log k) for k edges.

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "src/rules/edit.h"
#include "src/rules/rule.h"

namespace tflms {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id); }

Result<RuleEffect> Apply(const SwapRequest& request, RewriteState* state) {
  const Graph& graph = *state->graph;
  // By (node, port, host): the swap-outs there.
  std::map<std::tuple<NodeId, int32_t, DeviceId>, std::vector<NodeId>> outs;
  for (const SwapEdge& edge : request.edges) {
    const SwapPair pair = FindPair(graph, edge.reader, edge.slot);
    if (pair.out == kNoNode || CameWithGraph(*state, pair.out)) continue;
    const Input& from = graph.node(pair.out).inputs.front();
    outs[{from.node, from.port, graph.node(pair.out).device}].push_back(pair.out);
  }
  const std::vector<bool> has_control = HaveControlEdges(graph);

  RuleEffect effect;
  std::vector<NodeId> keep(graph.nodes.size());
  std::iota(keep.begin(), keep.end(), 0);
  for (auto& [output, same] : outs) {
    std::erase_if(same, [&](NodeId out) { return has_control[Index(out)]; });
    std::sort(same.begin(), same.end());
    same.erase(std::unique(same.begin(), same.end()), same.end());
    for (size_t i = 1; i < same.size(); ++i) {
      keep[Index(same[i])] = same.front();
      effect.changes += 2;  // a node removed, an edge redirected
    }
  }
  if (effect.changes > 0) TFLMS_RETURN_IF_ERROR(MergeNodes(keep, state));
  return effect;
}

}  // namespace

RuleEntry FuseSwapOutsRule() {
  return {"fuse-swap-outs", "one copy out for all swapped readers of an output",
          "u -> out1, u -> out2  =>  u -> out", Apply};
}

}  // namespace tflms
