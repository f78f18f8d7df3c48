// SPDX-License-Identifier: Apache-2.0
//
// Swaps by name. O(ops + swaps log swaps).

#include "src/cli/swap_list.h"

#include <algorithm>

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// By op: how many of the device's ops that order edges can hold stand before it.
std::vector<int32_t> StepsBefore(const Problem& problem, const std::vector<OpId>& order) {
  std::vector<int32_t> steps(problem.ops.size(), 0);
  int32_t number = 0;
  for (OpId op : order) {
    steps[Index(op)] = number;
    if (problem.ops[Index(op)].on_device && problem.ops[Index(op)].orderable) ++number;
  }
  return steps;
}

}  // namespace

std::vector<NamedSwap> ListSwaps(const PlannedGraph& graphs, const Planned& planned) {
  const Problem& problem = planned.expansion.problem;
  const std::vector<int32_t> step = StepsBefore(problem, planned.plan.order);
  const std::vector<int32_t> position = Positions(planned.plan.order);
  std::vector<SwapGap> gaps = planned.plan.swaps;
  std::stable_sort(gaps.begin(), gaps.end(), [&](const SwapGap& a, const SwapGap& b) {
    return position[Index(a.leave_after)] < position[Index(b.leave_after)];
  });
  const auto name = [&](OpId op) { return op == kNoOp ? std::string() : planned.names[Index(op)]; };
  std::vector<NamedSwap> swaps;
  for (const SwapGap& gap : gaps) {
    const BufferId first = planned.expansion.original[Index(gap.buffer)];
    const int32_t port =
        graphs.facts.buffers.buffers[Index(planned.map.graph_buffer[Index(first)])].port;
    const std::string maker = name(problem.buffers[Index(gap.buffer)].producer);
    swaps.push_back({port == 0 ? maker : maker + ":" + std::to_string(port), name(gap.leave_after),
                     name(gap.trigger), name(gap.back_for), name(gap.sync),
                     problem.buffers[Index(gap.buffer)].size_bytes,
                     step[Index(gap.back_for)] - step[Index(gap.leave_after)],
                     step[Index(gap.back_for)] - step[Index(gap.trigger)]});
  }
  return swaps;
}

}  // namespace tflms::cli
