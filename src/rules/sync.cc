// SPDX-License-Identifier: Apache-2.0
//
// Rule sync: an operation waits for a copy.
//
//   x   =>   out ->c x        y   =>   in ->c y
//
// for each requested edge u -> v with a sync node x or y, out and in being the swap-out and swap-in
// on that edge, made in this rewriting. Side condition:
//   x and y are operations (no swap nodes) on u's accelerator that take order edges (root frame, on
//   no branch, no source, no control flow, nothing that blocks)
//   where the serial order has both, u stands before x, and before y
//   no path x ~> out; no path y ~> in
// An edge that is there already is neither a change nor refused.
// Buys: the tensor's memory really is free before x asks for more; the copy back is under way
// before y runs. Costs: x and y wait for the copies. Running time: O(V) and, for each edge, the
// part of the kept order between x and out.

#include <vector>

#include "src/rules/edit.h"
#include "src/rules/rule.h"

namespace tflms {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id); }

bool Legal(const RewriteState& state, const std::vector<int32_t>& serial_place, NodeId u,
           NodeId x) {
  const Graph& graph = *state.graph;
  if (!TakesOrderEdges(state, x) || !OnSameAccelerator(graph, u, x)) return false;
  const int32_t place_u = serial_place[Index(u)], place_x = serial_place[Index(x)];
  return place_u < 0 || place_x < 0 || place_u < place_x;
}

Result<RuleEffect> Apply(const SwapRequest& request, RewriteState* state) {
  RuleEffect effect;
  Graph& graph = *state->graph;
  const std::vector<int32_t> serial_place = SerialPlaces(request.serial_order, graph.size());
  const auto wait = [&](NodeId copy, NodeId u, NodeId x) {
    if (x == kNoNode) return;
    if (!Legal(*state, serial_place, u, x)) {
      ++effect.refused;
    } else if (!HasEdge(graph, copy, x)) {
      const bool added = state->order->AddControlEdge(&graph, copy, x);
      ++(added ? effect.changes : effect.refused);
    }
  };
  for (const SwapEdge& edge : request.edges) {
    if (edge.sync == kNoNode && edge.sync_in == kNoNode) continue;
    const SwapPair pair = FindPair(graph, edge.reader, edge.slot);
    // No swap-out: rule swap refused the edge and counted it.
    if (pair.out == kNoNode || CameWithGraph(*state, pair.out)) continue;
    const NodeId u = graph.node(pair.out).inputs.front().node;
    wait(pair.out, u, edge.sync);
    wait(pair.in, u, edge.sync_in);
  }
  return effect;
}

}  // namespace

RuleEntry SyncRule() {
  return {"sync", "an operation waits for a copy, so that memory is free or the tensor on its way",
          "x  =>  out ->c x,  in ->c x", Apply};
}

}  // namespace tflms
