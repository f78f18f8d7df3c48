// SPDX-License-Identifier: Apache-2.0
//
// A plan in the report's terms. See plan_details.h.

#include "src/rewrite/plan_details.h"

#include <set>
#include <string>
#include <vector>

#include "src/base/bytes_text.h"
#include "src/base/checked_math.h"
#include "src/rules/edit.h"
#include "src/sim/bfc.h"
#include "src/sim/clones.h"
#include "src/sim/simulator.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// By op and clone: the name that its node has or will get from rule recompute.
std::vector<std::string> OpNames(const Graph& graph, const Plan& plan) {
  std::vector<std::string> names(graph.nodes.size() + plan.clones.size());
  NameMaker maker(graph);
  for (OpId op : plan.order) {
    if (op < graph.size()) {
      names[Index(op)] = graph.node(op).name;
    } else {
      const OpId source = plan.clones[Index(op - graph.size())];
      names[Index(op)] = maker.Make("recompute", graph.node(source).name);
    }
  }
  return names;
}

// By position: device bytes in the same order of first runs, with nothing swapped. While a clone
// runs it is what waits for the next of them.
std::vector<int64_t> MemoryWithoutPlan(const Problem& first_runs, const Plan& plan) {
  const auto is_clone = [&](OpId op) { return Index(op) >= first_runs.ops.size(); };
  Plan plain;
  plain.order = plan.order;
  std::erase_if(plain.order, is_clone);
  const MemoryView view = PlannedMemory(first_runs, plain);
  std::vector<int64_t> bytes;
  size_t next = 0;
  for (OpId op : plan.order) {
    const bool last = next == plain.order.size();
    if (is_clone(op)) {
      bytes.push_back(last ? first_runs.persistent_bytes : view.waiting[next]);
    } else {
      bytes.push_back(view.running[next++]);
    }
  }
  return bytes;
}

// By op: its place in the report's timeline, -1 for ops that are not on the device.
std::vector<int32_t> DescribeTimeline(const std::vector<std::string>& names, const Problem& problem,
                                      const Plan& plan, const MemoryView& view,
                                      const std::vector<int64_t>& without_plan, Report* report) {
  std::vector<int32_t> place(problem.ops.size(), -1);
  report->timeline.clear();
  for (size_t p = 0; p < plan.order.size(); ++p) {
    const OpId op = plan.order[p];
    if (!problem.ops[Index(op)].on_device) continue;
    place[Index(op)] = static_cast<int32_t>(report->timeline.size());
    report->timeline.push_back(
        {names[Index(op)], view.waiting[p], view.running[p], without_plan[p], view.host[p]});
  }
  return place;
}

// A plan in names; all members outlive it.
struct Names {
  const GraphFacts& facts;
  const ProblemMap& map;
  const Expansion& expansion;
  const std::vector<std::string>& ops;

  // "node:output" of an expanded buffer.
  std::string Tensor(BufferId id) const {
    const BufferId original = expansion.original[Index(id)];
    const Buffer& buffer = facts.buffers.buffers[Index(map.graph_buffer[Index(original)])];
    const OpId maker = expansion.problem.buffers[Index(id)].producer;
    return ops[Index(maker)] + ":" + std::to_string(buffer.port);
  }
};

void DescribeSwaps(const Names& names, const Plan& plan, const std::vector<int32_t>& place,
                   Report* report) {
  const auto at = [&](OpId op) { return op == kNoOp ? -1 : place[Index(op)]; };
  std::set<BufferId> swapped;
  report->swaps.clear();
  for (const SwapGap& swap : plan.swaps) {
    const int64_t bytes = names.expansion.problem.buffers[Index(swap.buffer)].size_bytes;
    report->swap_in_bytes += bytes;
    if (swapped.insert(swap.buffer).second) report->swap_out_bytes += bytes;
    report->swaps.push_back({names.Tensor(swap.buffer), bytes, at(swap.leave_after), at(swap.sync),
                             at(swap.trigger), at(swap.back_for)});
  }
  report->swapped_tensors = static_cast<int64_t>(swapped.size());
}

void DescribeRecomputes(const Names& names, const Plan& plan, const std::vector<int32_t>& place,
                        Report* report) {
  const Problem& problem = names.expansion.problem;
  const OpId first_runs = static_cast<OpId>(problem.ops.size() - plan.clones.size());
  std::vector<RecomputeRecord> records(plan.clones.size());
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const int32_t clone = names.expansion.clone[id];
    const ProblemBuffer& buffer = problem.buffers[id];
    if (clone < 0 || buffer.uses.empty()) continue;
    RecomputeRecord& record = records[Index(clone)];
    record.tensors.push_back(names.Tensor(static_cast<BufferId>(id)));
    record.size_bytes = SaturatingAdd(record.size_bytes, buffer.size_bytes);
    ++report->recomputed_tensors;
  }
  report->recomputes.clear();
  for (OpId op : plan.order) {
    if (op < first_runs) continue;
    RecomputeRecord& record = records[Index(op - first_runs)];
    record.node = names.ops[Index(op)];
    record.time_us = problem.ops[Index(op)].time_us;
    record.at = place[Index(op)];
    report->recompute_bytes = SaturatingAdd(report->recompute_bytes, record.size_bytes);
    report->recompute_time_us = SaturatingAdd(report->recompute_time_us, record.time_us);
    report->recomputes.push_back(std::move(record));
  }
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
  const std::string where =
      replay.failed_position < 0
          ? "the variables"
          : OpNames(graph, plan)[Index(plan.order[Index(replay.failed_position)])];
  report->notes.push_back("the bytes fit, but in a replay of the device's allocator " +
                          FormatBytes(replay.failed_bytes) + " at " + where +
                          " find no room in one piece: the step may run out of memory");
}

void DescribePlan(const Graph& graph, const GraphFacts& facts, const ProblemMap& map,
                  const Plan& plan, Report* report) {
  const Expansion expansion = Expand(map.problem, plan);
  const Problem& problem = expansion.problem;
  const MemoryView view = PlannedMemory(problem, plan);
  report->peak_bytes_after = view.peak_bytes;
  report->host_peak_bytes = view.host_peak_bytes;
  report->order_pinned = plan.pin_order;
  const std::vector<std::string> ops = OpNames(graph, plan);
  const std::vector<int32_t> place =
      DescribeTimeline(ops, problem, plan, view, MemoryWithoutPlan(map.problem, plan), report);
  const Names names = {facts, map, expansion, ops};
  DescribeSwaps(names, plan, place, report);
  DescribeRecomputes(names, plan, place, report);
  DescribeAllocator(graph, problem, plan, report);
  if (report->budget_bytes > 0 && view.peak_bytes > report->budget_bytes) {
    report->notes.push_back("the predicted peak " + FormatBytes(view.peak_bytes) +
                            " stays above the budget " + FormatBytes(report->budget_bytes) +
                            ": this is the best plan found");
  }
}

}  // namespace tflms
