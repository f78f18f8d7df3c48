// SPDX-License-Identifier: Apache-2.0
//
// Plan -> SwapRequest. See plan_request.h. Cost: O(swaps + readers of swapped buffers, log).

#include "src/rewrite/plan_request.h"

#include <algorithm>
#include <span>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

TriggerStrategy StrategyFrom(const Options& options) {
  if (options.trigger_strategy == "direct-order") return TriggerStrategy::kDirectOrder;
  if (options.trigger_strategy == "chain-rule") return TriggerStrategy::kChainRule;
  return TriggerStrategy::kPlanned;
}

// Edges for all gaps of one buffer; `gaps` in the order of their return.
void AddEdges(const Graph& graph, const Buffer& buffer, std::span<const SwapGap> gaps,
              const std::vector<int32_t>& position, SwapRequest* request) {
  // The gap after whose return a position lies: 0 = before any, i = behind gaps[i - 1].
  const auto part = [&](NodeId node) {
    int32_t behind = 0;
    for (const SwapGap& gap : gaps) {
      if (position[Index(node)] >= position[Index(gap.back_for)]) ++behind;
    }
    return behind;
  };
  for (const Reader& reader : buffer.readers) {
    if (graph.node(reader.node).device != graph.node(buffer.node).device) continue;
    const int32_t behind = part(reader.node);
    const NodeId source = graph.node(reader.node).inputs[Index(reader.slot)].node;
    if (behind == 0 || behind == part(source)) continue;
    const SwapGap& gap = gaps[Index(behind - 1)];
    request->edges.push_back({reader.node, reader.slot, behind - 1, gap.trigger, gap.sync});
  }
}

}  // namespace

SwapRequest RequestFromPlan(const Graph& graph, const GraphFacts& facts, const ProblemMap& map,
                            const Plan& plan, const Options& options, DeviceId host) {
  SwapRequest request;
  request.host = host;
  request.strategy = StrategyFrom(options);
  request.lb = static_cast<int32_t>(options.lb);
  request.ub = static_cast<int32_t>(options.ub);
  const std::vector<int32_t> position = Positions(plan.order);
  for (size_t from = 0; from < plan.swaps.size();) {
    size_t to = from;
    while (to < plan.swaps.size() && plan.swaps[to].buffer == plan.swaps[from].buffer) ++to;
    const BufferIndex index = map.graph_buffer[Index(plan.swaps[from].buffer)];
    AddEdges(graph, facts.buffers.buffers[Index(index)],
             std::span(plan.swaps).subspan(from, to - from), position, &request);
    from = to;
  }
  if (plan.pin_order) {
    for (OpId op : plan.order) {
      const ProblemOp& info = map.problem.ops[Index(op)];
      if (info.on_device && info.orderable) request.serial_order.push_back(op);
    }
  }
  return request;
}

}  // namespace tflms
