// SPDX-License-Identifier: Apache-2.0
//
// Rule sync: an operation waits for a swap-out.
//
//   x   =>   out ->c x
//
// for each requested edge u -> v with a sync node x, out being the swap-out on that edge, made in
// this rewriting.
// Side condition:
//   x came with the graph, is on u's accelerator, and takes order edges (root frame, on no branch,
//   no source, no control flow, nothing that blocks)
//   where the serial order has both, u stands before x
//   no path x ~> out
// An edge that is there already is neither a change nor refused.
// Buys: the tensor's memory really is free before x asks for more. Costs: x waits for the copy.
// Running time: O(V) and, for each edge, the part of the kept order between x and out.

#include <vector>

#include "src/rules/edit.h"
#include "src/rules/rule.h"

namespace tflms {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id); }

bool Legal(const RewriteState& state, const std::vector<int32_t>& serial_place, NodeId out,
           NodeId x) {
  const Graph& graph = *state.graph;
  const NodeId u = graph.node(out).inputs.front().node;
  if (!TakesOrderEdges(state, x) || !OnSameAccelerator(graph, u, x)) return false;
  const int32_t place_u = serial_place[Index(u)], place_x = serial_place[Index(x)];
  return place_u < 0 || place_x < 0 || place_u < place_x;
}

Result<RuleEffect> Apply(const SwapRequest& request, RewriteState* state) {
  RuleEffect effect;
  Graph& graph = *state->graph;
  const std::vector<int32_t> serial_place = SerialPlaces(request.serial_order, graph.size());
  for (const SwapEdge& edge : request.edges) {
    if (edge.sync == kNoNode) continue;
    const NodeId out = FindPair(graph, edge.reader, edge.slot).out;
    // No swap-out: rule swap refused the edge and counted it.
    if (out == kNoNode || CameWithGraph(*state, out)) continue;
    if (!Legal(*state, serial_place, out, edge.sync)) {
      ++effect.refused;
    } else if (!HasEdge(graph, out, edge.sync)) {
      const bool added = state->order->AddControlEdge(&graph, out, edge.sync);
      ++(added ? effect.changes : effect.refused);
    }
  }
  return effect;
}

}  // namespace

RuleEntry SyncRule() {
  return {"sync", "an operation waits for a swap-out, so that the memory is free",
          "x  =>  out ->c x", Apply};
}

}  // namespace tflms
