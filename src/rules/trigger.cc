// SPDX-License-Identifier: Apache-2.0
//
// Rule trigger: a swap-in waits for an operation, its trigger.
//
//   in   =>   w ->c in
//
// for each swap-in made in this rewriting on the requested edges; v is its earliest reader. Side
// condition on w:
//   w is an operation (no swap node) on v's accelerator and always runs when v does (root frame, on
//   no branch); it takes order edges (no source, no control flow, nothing that blocks)
//   w does not run at the start of the step: reading a variable holds nothing back, unless the
//   serial order holds the read
//   where the serial order has both, w stands before every reader of the swap-in
//   no path in ~> w
// Where w is looked for:
//   planned        the trigger of the request
//   direct order, chain rule: see trigger_search.h, with lb <= level(v) - level(w) <= ub; there
//                  also level(w) > level(u), since what runs no later than u holds nothing back
// When the first way gives no legal w the next is tried: planned, direct order, chain rule; chain
// rule, direct order. A planned trigger that is illegal counts as refused even when another is
// found; so does a swap-in that stays without a trigger. That one is still right, only early: it
// may come back as soon as it is on the host.
// A swap-in that has a control input has its trigger and is left alone, and so are the swap-ins of
// an earlier rewriting.
// Buys: the tensor is off the device until w has run. Costs: v waits when the copy takes longer
// than the run from w to v.
// Running time: O(V + E) and a bounded walk for each swap-in.

#include <algorithm>
#include <string>
#include <vector>

#include "src/rules/edit.h"
#include "src/rules/rule.h"
#include "src/rules/trigger_search.h"

namespace tflms {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id); }

// True when the node runs at the start of the step, whatever else does: state is read as soon as
// its handle is there. Order edges of rules do not count, so that a second run decides alike.
bool RunsAtStart(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.Has(kSource)) return true;
  if (!node.Has(kParameterised)) return false;
  const auto at_start = [&](NodeId from) {
    const Node& before = graph.node(from);
    return before.Has(kSource) ||
           (before.Has(kParameterised) && before.inputs.empty() && OwnControls(before).empty());
  };
  const auto own = OwnControls(node);
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Input& in) { return at_start(in.node); }) &&
         std::all_of(own.begin(), own.end(), at_start);
}

class Triggers {
 public:
  Triggers(const SwapRequest& request, RewriteState* state)
      : request_(request),
        state_(*state),
        serial_place_(SerialPlaces(request.serial_order, state->graph->size())),
        search_(*state) {}

  RuleEffect Run() {
    RuleEffect effect;
    for (const SwapInReaders& readers : ReadersBySwapIn(request_, state_, serial_place_)) {
      if (!state_.graph->node(readers.in).control_inputs.empty()) continue;
      bool planned_refused = false;
      const NodeId trigger = Find(readers, &planned_refused);
      const bool added =
          trigger != kNoNode && state_.order->AddControlEdge(state_.graph, trigger, readers.in);
      if (added) ++effect.changes;
      if (!added || planned_refused) ++effect.refused;
    }
    return effect;
  }

 private:
  NodeId Find(const SwapInReaders& readers, bool* planned_refused) {
    const SwapEdge& first = *readers.edges.front();
    if (request_.strategy == TriggerStrategy::kPlanned && first.trigger != kNoNode) {
      if (Legal(first.trigger, readers)) return first.trigger;
      *planned_refused = true;
    }
    const int32_t level = state_.level[Index(first.reader)];
    const NodeId out = state_.graph->node(readers.in).inputs.front().node;
    const NodeId u = state_.graph->node(out).inputs.front().node;
    const LevelWindow window = {std::max(level - request_.ub, state_.level[Index(u)] + 1),
                                level - request_.lb};
    const auto legal = [&](NodeId w) { return Legal(w, readers); };
    const auto direct = [&] {
      return search_.DirectOrder(first.reader, readers.in, window, legal);
    };
    const auto chain = [&] { return search_.ChainRule(first.reader, window, legal); };
    if (request_.strategy == TriggerStrategy::kChainRule) {
      const NodeId found = chain();
      return found != kNoNode ? found : direct();
    }
    const NodeId found = direct();
    return found != kNoNode ? found : chain();
  }

  // The side condition, the cheap parts first.
  bool Legal(NodeId w, const SwapInReaders& readers) const {
    const Graph& graph = *state_.graph;
    if (!TakesOrderEdges(state_, w)) return false;
    if (!OnSameAccelerator(graph, w, readers.edges.front()->reader)) return false;
    const int32_t place = serial_place_[Index(w)];
    if (place < 0 && RunsAtStart(graph, w)) return false;
    const auto late = [&](const SwapEdge* edge) {
      const int32_t reader_place = serial_place_[Index(edge->reader)];
      return place >= 0 && reader_place >= 0 && place >= reader_place;
    };
    return std::none_of(readers.edges.begin(), readers.edges.end(), late) &&
           !state_.order->Reaches(readers.in, w);
  }

  const SwapRequest& request_;
  RewriteState& state_;
  std::vector<int32_t> serial_place_;
  TriggerSearch search_;
};

Result<RuleEffect> Apply(const SwapRequest& request, RewriteState* state) {
  if (request.lb < 1 || request.ub < request.lb) {
    return InvalidArgument("expected 1 <= lb <= ub, found lb = " + std::to_string(request.lb) +
                           ", ub = " + std::to_string(request.ub));
  }
  return Triggers(request, state).Run();
}

}  // namespace

RuleEntry TriggerRule() {
  return {"trigger", "a swap-in waits for an operation near its reader", "in  =>  w ->c in", Apply};
}

}  // namespace tflms
