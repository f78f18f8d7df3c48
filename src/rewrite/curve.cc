// SPDX-License-Identifier: Apache-2.0
//
// Points of the curve. See curve.h.

#include "src/rewrite/curve.h"

#include <chrono>
#include <set>
#include <string>

#include "src/rewrite/planner_options.h"
#include "src/sim/bfc.h"
#include "src/sim/clones.h"

namespace tflms {

Result<CurvePoint> PlanForBudget(const Problem& problem, const Options& options,
                                 const Machine& machine, int64_t budget_bytes) {
  using Clock = std::chrono::steady_clock;
  const PlannerEntry* planner = FindPlanner(options.planner);
  if (!planner) return InvalidArgument("planner `" + options.planner + "` is not known");
  Options here = options;
  here.budget_bytes = budget_bytes;
  PlannerOptions wanted = PlannerOptionsOf(here, machine);
  const Clock::time_point start = Clock::now();
  wanted.deadline = start + std::chrono::milliseconds(options.time_limit_ms);
  TFLMS_ASSIGN_OR_RETURN(const Plan plan, planner->plan(problem, wanted));
  const std::string fault = CheckPlan(problem, plan);
  if (!fault.empty()) return InternalError("planner " + options.planner + ": " + fault);
  CurvePoint point;
  point.planning_us =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
  point.budget_bytes = budget_bytes;
  point.figures = FiguresOf(problem, plan, machine);
  std::set<BufferId> swapped;
  for (const SwapGap& gap : plan.swaps) swapped.insert(gap.buffer);
  point.swapped_tensors = static_cast<int64_t>(swapped.size());
  point.clones = static_cast<int64_t>(plan.clones.size());
  point.needed = plan.pin_order || !plan.swaps.empty();
  point.fits =
      point.figures.peak_bytes <= budget_bytes &&
      FitsInBfc(Expand(problem, plan).problem, plan, budget_bytes, kReplaySteps, kReplaySeeds);
  return point;
}

std::vector<int64_t> BudgetsBetween(int64_t low, int64_t high, int64_t count) {
  if (low >= high) return {high};
  std::vector<int64_t> budgets;
  const double step = static_cast<double>(high - low) / static_cast<double>(count - 1);
  for (int64_t i = 0; i + 1 < count; ++i) {
    budgets.push_back(low + static_cast<int64_t>(step * static_cast<double>(i)));
  }
  budgets.push_back(high);
  return budgets;
}

}  // namespace tflms
