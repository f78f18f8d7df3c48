// SPDX-License-Identifier: Apache-2.0
//
// Plan -> SwapRequest. See plan_request.h. Cost: O(swaps + readers of swapped buffers, log).

#include "src/rewrite/plan_request.h"

#include <algorithm>
#include <span>

#include "src/base/checked_math.h"
#include "src/rewrite/clone_wiring.h"
#include "src/rewrite/level_slices.h"
#include "src/sim/clones.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

TriggerStrategy StrategyFrom(const Options& options) {
  if (options.trigger_strategy == "direct-order") return TriggerStrategy::kDirectOrder;
  if (options.trigger_strategy == "chain-rule") return TriggerStrategy::kChainRule;
  return TriggerStrategy::kPlanned;
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
void AddEdges(const CloneWiring& wiring, std::span<const SwapGap> gaps,
              const std::vector<int32_t>& position, const std::vector<OpId>& before,
              SwapRequest* request) {
  // The gap after whose return a position lies: 0 = before any, i = behind gaps[i - 1].
  const auto part = [&](int32_t at) {
    int32_t behind = 0;
    for (const SwapGap& gap : gaps) {
      if (at >= position[Index(gap.back_for)]) ++behind;
    }
    return behind;
  };
  for (const Wire& wire : wiring.WiresOf(gaps.front().buffer)) {
    const int32_t behind = part(wire.position);
    if (behind == 0 || behind == part(wire.name_position)) continue;
    const SwapGap& gap = gaps[Index(behind - 1)];
    request->edges.push_back({wire.reader, wire.slot, behind - 1, wiring.NodeOf(gap.trigger),
                              wiring.NodeOf(gap.sync),
                              wiring.NodeOf(SyncIn(gap, before, position))});
  }
}

// Bytes that the first runs of each level's ops make.
std::vector<int64_t> BytesByLevel(const GraphFacts& facts, const Problem& problem) {
  std::vector<int64_t> bytes;
  for (const ProblemBuffer& buffer : problem.buffers) {
    if (Index(buffer.producer) >= facts.level.size()) continue;
    const size_t level = Index(facts.level[Index(buffer.producer)]);
    if (level >= bytes.size()) bytes.resize(level + 1, 0);
    bytes[level] = SaturatingAdd(bytes[level], buffer.size_bytes);
  }
  return bytes;
}

// The plan's order of the ops on the device, or of those on the levels the options name and of all
// clones.
void AddSerialOrder(const GraphFacts& facts, const Problem& problem, const Plan& plan,
                    const CloneWiring& wiring, const Options& options, SwapRequest* request) {
  const bool all = options.serialization.empty() && options.serialization_bytes == 0;
  const Result<std::vector<LevelSlice>> parsed = ParseLevelSlices(options.serialization);
  const std::vector<LevelSlice> slices = parsed.ok() ? *parsed : std::vector<LevelSlice>();
  const std::vector<int64_t> bytes = BytesByLevel(facts, problem);
  const auto chosen = [&](OpId op) {
    if (Index(op) >= facts.level.size()) return true;
    const int32_t level = facts.level[Index(op)];
    return all || Contains(slices, level) ||
           (options.serialization_bytes > 0 && Index(level) < bytes.size() &&
            bytes[Index(level)] > options.serialization_bytes);
  };
  for (OpId op : plan.order) {
    const ProblemOp& info = problem.ops[Index(op)];
    if (info.on_device && info.orderable && chosen(op))
      request->serial_order.push_back(wiring.NodeOf(op));
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
  const Expansion expansion = Expand(map.problem, plan);
  const CloneWiring wiring(graph, facts, map, plan, expansion);
  wiring.AddTo(&request);
  const std::vector<int32_t> position = Positions(plan.order);
  std::vector<OpId> before;
  if (options.sync_mode >= 2) before = OpsBefore(expansion.problem, plan.order);
  for (size_t from = 0; from < plan.swaps.size();) {
    size_t to = from;
    while (to < plan.swaps.size() && plan.swaps[to].buffer == plan.swaps[from].buffer) ++to;
    AddEdges(wiring, std::span(plan.swaps).subspan(from, to - from), position, before, &request);
    from = to;
  }
  if (plan.pin_order) AddSerialOrder(facts, expansion.problem, plan, wiring, options, &request);
  return request;
}

}  // namespace tflms
