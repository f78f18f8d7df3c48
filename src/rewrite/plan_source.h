// SPDX-License-Identifier: Apache-2.0
//
// Where a plan comes from, the first that has one:
//
//   file      option `plan`, when a plan in it fits the graph
//   cache     the store, under the plan's key (plan_key.h)
//   planner   option `planner`; what it finds within its time limit goes to the store
//
// Whatever its source, a plan that is handed out passes CheckPlan. Cost: that of the planner, or
// O((V + E + plan) log).

#ifndef TFLMS_REWRITE_PLAN_SOURCE_H_
#define TFLMS_REWRITE_PLAN_SOURCE_H_

#include "src/rewrite/plan_key.h"
#include "tflms/plan_store.h"
#include "tflms/report.h"
#include "tflms/status.h"

namespace tflms {

// Fills plan_source of `report`, and plan_refused when a plan file was given and not used. `store`
// may be null.
Result<Plan> FindPlan(const PlanSubject& subject, const Options& options,
                      const PlannerOptions& planner_options, PlanStore* store, Report* report);

// Puts the plan's text into plan_file of `report`.
void KeepPlan(const PlanSubject& subject, const Plan& plan, const Options& options,
              const Machine& machine, Report* report);

}  // namespace tflms

#endif  // TFLMS_REWRITE_PLAN_SOURCE_H_
