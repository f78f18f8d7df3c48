// SPDX-License-Identifier: Apache-2.0
//
// Plan -> SwapRequest. See plan_request.h. Cost: O(swaps + readers of swapped buffers, log).

#include "src/rewrite/plan_request.h"

#include <algorithm>
#include <span>

#include "src/base/checked_math.h"
#include "src/rewrite/level_slices.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

TriggerStrategy StrategyFrom(const Options& options) {
  if (options.trigger_strategy == "direct-order") return TriggerStrategy::kDirectOrder;
  if (options.trigger_strategy == "chain-rule") return TriggerStrategy::kChainRule;
  return TriggerStrategy::kPlanned;
}

// By op: the op that stands before it among those on the device that order edges may hold.
std::vector<OpId> OpsBefore(const Problem& problem, const std::vector<OpId>& order) {
  std::vector<OpId> before(problem.ops.size(), kNoOp);
  OpId last = kNoOp;
  for (OpId op : order) {
    before[Index(op)] = last;
    if (problem.ops[Index(op)].on_device && problem.ops[Index(op)].orderable) last = op;
  }
  return before;
}

// The op that waits for the swap-in of the gap: the one before the reader, if it runs behind the
// trigger.
OpId SyncIn(const SwapGap& gap, const std::vector<OpId>& before,
            const std::vector<int32_t>& position) {
  const OpId op = before.empty() ? kNoOp : before[Index(gap.back_for)];
  return op != kNoOp && position[Index(op)] > position[Index(gap.trigger)] ? op : kNoOp;
}

// Edges for all gaps of one buffer; `gaps` in the order of their return. `before` is empty when
// nobody is to wait for swap-ins.
void AddEdges(const Graph& graph, const Buffer& buffer, std::span<const SwapGap> gaps,
              const std::vector<int32_t>& position, const std::vector<OpId>& before,
              SwapRequest* request) {
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
    request->edges.push_back({reader.node, reader.slot, behind - 1, gap.trigger, gap.sync,
                              SyncIn(gap, before, position)});
  }
}

// Bytes that the ops of each level make.
std::vector<int64_t> BytesByLevel(const GraphFacts& facts, const Problem& problem) {
  std::vector<int64_t> bytes;
  for (const ProblemBuffer& buffer : problem.buffers) {
    const size_t level = Index(facts.level[Index(buffer.producer)]);
    if (level >= bytes.size()) bytes.resize(level + 1, 0);
    bytes[level] = SaturatingAdd(bytes[level], buffer.size_bytes);
  }
  return bytes;
}

// The plan's order of the ops on the device, or of those on the levels the options name.
void AddSerialOrder(const GraphFacts& facts, const Problem& problem, const Plan& plan,
                    const Options& options, SwapRequest* request) {
  const bool all = options.serialization.empty() && options.serialization_bytes == 0;
  const Result<std::vector<LevelSlice>> parsed = ParseLevelSlices(options.serialization);
  const std::vector<LevelSlice> slices = parsed.ok() ? *parsed : std::vector<LevelSlice>();
  const std::vector<int64_t> bytes = BytesByLevel(facts, problem);
  const auto chosen = [&](OpId op) {
    const int32_t level = facts.level[Index(op)];
    return all || Contains(slices, level) ||
           (options.serialization_bytes > 0 && Index(level) < bytes.size() &&
            bytes[Index(level)] > options.serialization_bytes);
  };
  for (OpId op : plan.order) {
    const ProblemOp& info = problem.ops[Index(op)];
    if (info.on_device && info.orderable && chosen(op)) request->serial_order.push_back(op);
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
  std::vector<OpId> before;
  if (options.sync_mode >= 2) before = OpsBefore(map.problem, plan.order);
  for (size_t from = 0; from < plan.swaps.size();) {
    size_t to = from;
    while (to < plan.swaps.size() && plan.swaps[to].buffer == plan.swaps[from].buffer) ++to;
    const BufferIndex index = map.graph_buffer[Index(plan.swaps[from].buffer)];
    AddEdges(graph, facts.buffers.buffers[Index(index)],
             std::span(plan.swaps).subspan(from, to - from), position, before, &request);
    from = to;
  }
  if (plan.pin_order) AddSerialOrder(facts, map.problem, plan, options, &request);
  return request;
}

}  // namespace tflms
