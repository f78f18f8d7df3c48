// SPDX-License-Identifier: Apache-2.0
//
// A plan in the report's terms. See plan_details.h.

#include "src/rewrite/plan_details.h"

#include <set>
#include <string>
#include <vector>

#include "src/base/bytes_text.h"
#include "src/base/checked_math.h"
#include "src/sim/bfc.h"
#include "src/sim/simulator.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// By op: its place in the report's timeline, -1 for ops that are not on the device.
std::vector<int32_t> DescribeTimeline(const Graph& graph, const Problem& problem, const Plan& plan,
                                      const MemoryView& view, Report* report) {
  const MemoryView unswapped = PlannedMemory(problem, {plan.order, false, {}});
  std::vector<int32_t> place(problem.ops.size(), -1);
  report->timeline.clear();
  for (size_t p = 0; p < plan.order.size(); ++p) {
    const OpId op = plan.order[p];
    if (!problem.ops[Index(op)].on_device) continue;
    place[Index(op)] = static_cast<int32_t>(report->timeline.size());
    report->timeline.push_back({graph.node(op).name, view.waiting[p], view.running[p],
                                unswapped.running[p], view.host[p]});
  }
  return place;
}

std::string TensorText(const Graph& graph, const ProblemMap& map, const GraphFacts& facts,
                       BufferId id) {
  const Buffer& buffer = facts.buffers.buffers[Index(map.graph_buffer[Index(id)])];
  return graph.node(buffer.node).name + ":" + std::to_string(buffer.port);
}

void DescribeSwaps(const Graph& graph, const GraphFacts& facts, const ProblemMap& map,
                   const Plan& plan, const std::vector<int32_t>& place, Report* report) {
  const auto at = [&](OpId op) { return op == kNoOp ? -1 : place[Index(op)]; };
  std::set<BufferId> swapped;
  report->swaps.clear();
  for (const SwapGap& swap : plan.swaps) {
    const int64_t bytes = map.problem.buffers[Index(swap.buffer)].size_bytes;
    report->swap_in_bytes += bytes;
    if (swapped.insert(swap.buffer).second) report->swap_out_bytes += bytes;
    report->swaps.push_back({TensorText(graph, map, facts, swap.buffer), bytes,
                             at(swap.leave_after), at(swap.sync), at(swap.trigger),
                             at(swap.back_for)});
  }
  report->swapped_tensors = static_cast<int64_t>(swapped.size());
}

}  // namespace

void DescribeAllocator(const Graph& graph, const Problem& problem, const Plan& plan,
                       Report* report) {
  constexpr int kSteps = 2;  // the second meets what the first left behind
  const int64_t capacity = report->budget_bytes > 0
                               ? report->budget_bytes
                               : SaturatingAdd(report->peak_bytes_after, report->peak_bytes_after);
  const BfcReplayResult replay = ReplayBfc(problem, plan, capacity, kSteps, 0);
  report->allocator_peak_bytes = replay.fits ? replay.peak_bytes : capacity;
  const BfcReplayResult fast = ReplayBfc(problem, plan, capacity, kSteps, kFastCopies);
  report->allocator_peak_fast_bytes = fast.fits ? fast.peak_bytes : capacity;
  if (replay.fits || report->peak_bytes_after > capacity) return;
  const std::string where = replay.failed_position < 0
                                ? "the variables"
                                : graph.node(plan.order[Index(replay.failed_position)]).name;
  report->notes.push_back("the bytes fit, but in a replay of the device's allocator " +
                          FormatBytes(replay.failed_bytes) + " at " + where +
                          " find no room in one piece: the step may run out of memory");
}

void DescribePlan(const Graph& graph, const GraphFacts& facts, const ProblemMap& map,
                  const Plan& plan, Report* report) {
  const MemoryView view = PlannedMemory(map.problem, plan);
  report->peak_bytes_after = view.peak_bytes;
  report->host_peak_bytes = view.host_peak_bytes;
  report->order_pinned = plan.pin_order;
  const std::vector<int32_t> place = DescribeTimeline(graph, map.problem, plan, view, report);
  DescribeSwaps(graph, facts, map, plan, place, report);
  DescribeAllocator(graph, map.problem, plan, report);
  if (report->budget_bytes > 0 && view.peak_bytes > report->budget_bytes) {
    report->notes.push_back("the predicted peak " + FormatBytes(view.peak_bytes) +
                            " stays above the budget " + FormatBytes(report->budget_bytes) +
                            ": this is the best plan found");
  }
}

}  // namespace tflms
