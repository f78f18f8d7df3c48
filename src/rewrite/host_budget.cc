// SPDX-License-Identifier: Apache-2.0
//
// Device and host budget together. See host_budget.h.

#include "src/rewrite/host_budget.h"

#include "src/base/bytes_text.h"
#include "src/planners/planner.h"
#include "src/sim/clones.h"
#include "src/sim/simulator.h"

namespace tflms {
namespace {

MemoryView MemoryOf(const Problem& problem, const Plan& plan) {
  return PlannedMemory(Expand(problem, plan).problem, plan);
}

}  // namespace

Result<std::string> WhyBudgetsConflict(const PlanSubject& subject, const Options& options,
                                       const PlannerOptions& planner_options, const Plan& plan,
                                       Report* report) {
  const int64_t budget = options.budget_bytes;
  if (planner_options.host_bytes <= 0 || budget <= 0) return std::string();
  const Problem& problem = subject.map.problem;
  const int64_t peak = MemoryOf(problem, plan).peak_bytes;
  if (peak <= budget) return std::string();
  const PlannerEntry* planner = FindPlanner(options.planner);
  if (!planner) return InvalidArgument("planner `" + options.planner + "` is not known");
  PlannerOptions without_limit = planner_options;
  without_limit.host_bytes = 0;
  TFLMS_ASSIGN_OR_RETURN(const Plan free, planner->plan(problem, without_limit));
  const MemoryView memory = MemoryOf(problem, free);
  if (memory.peak_bytes > budget) return std::string();
  report->device_needed_bytes = peak;
  report->host_needed_bytes = memory.host_peak_bytes;
  return "the budgets of device and host cannot both hold: with " +
         FormatBytes(planner_options.host_bytes) + " on the host the step needs " +
         FormatBytes(peak) + " on the device, whose budget is " + FormatBytes(budget) +
         "; to keep to that it needs " + FormatBytes(memory.host_peak_bytes) + " on the host";
}

}  // namespace tflms
