// SPDX-License-Identifier: Apache-2.0
//
// Rule serialise: operations run in the planned order.
//
//   a, b unordered   =>   a ->c b
//
// for each pair of neighbours in the serial order. Operations that take no order edges (sources,
// control flow, loops and branches, sends and receives, collectives whose peers are not known,
// nodes made by rules) are passed over and counted as refused: their neighbours become neighbours.
// Side condition for a pair: no path b ~> a, no edge a -> b yet, not members of one sync group.
// Buys: the peak of the order holds for every legal order. Costs: operations that could have run
// together wait for one another.
// Running time: O(n) for an order the state's kept order agrees with; else, for each pair that does
// not, the part of the kept order between the two.

#include "src/rules/edit.h"
#include "src/rules/rule.h"

namespace tflms {
namespace {

bool InOneSyncGroup(const Graph& graph, NodeId a, NodeId b) {
  const int32_t group = graph.node(a).sync_group;
  return group > 0 && group == graph.node(b).sync_group;
}

Result<RuleEffect> Apply(const SwapRequest& request, RewriteState* state) {
  RuleEffect effect;
  Graph& graph = *state->graph;
  NodeId last = kNoNode;
  for (NodeId id : request.serial_order) {
    if (!TakesOrderEdges(*state, id)) {
      ++effect.refused;
      continue;
    }
    const NodeId before = last;
    last = id;
    if (before == kNoNode || HasEdge(graph, before, id) || InOneSyncGroup(graph, before, id)) {
      continue;
    }
    const bool added = state->order->AddControlEdge(&graph, before, id);
    ++(added ? effect.changes : effect.refused);
  }
  return effect;
}

}  // namespace

RuleEntry SerialiseRule() {
  return {"serialise", "operations run in the planned order", "a, b unordered  =>  a ->c b", Apply};
}

}  // namespace tflms
