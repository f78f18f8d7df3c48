// SPDX-License-Identifier: Apache-2.0
//
// Bounds in the report. See describe_bounds.h.

#include "src/rewrite/describe_bounds.h"

#include <algorithm>
#include <vector>

#include "src/sim/bounds.h"
#include "src/sim/clones.h"

namespace tflms {

void DescribeBounds(const Problem& problem, const Plan& plan, const Machine& machine,
                    Report* report) {
  std::vector<OpId> order;  // the plan's, without clones
  for (OpId op : plan.order) {
    if (static_cast<size_t>(op) < problem.ops.size()) order.push_back(op);
  }
  report->order_bound_bytes = KeepEverythingBound(problem, order).bytes;
  const SimulationResult result = Simulate(Expand(problem, plan).problem, plan, machine);
  const bool times_known =
      !report->machine.empty() || machine.out_bytes_per_us > 0 || machine.in_bytes_per_us > 0;
  const int64_t budget_bytes = std::max(report->budget_bytes, result.peak_bytes);
  const TimeBounds bounds = BoundTime(problem, order, machine, budget_bytes);
  report->compute_us = bounds.compute_us;
  report->time_bound_us = bounds.compute_us;
  report->step_us = report->stall_us = 0;
  if (!times_known) return;
  // This plan keeps to `budget_bytes`, so the bound is not that of an impossible one.
  if (bounds.both_us != kNoPlan) report->time_bound_us = bounds.both_us;
  report->step_us = result.time_us;
  report->stall_us = result.stall_us;
}

}  // namespace tflms
