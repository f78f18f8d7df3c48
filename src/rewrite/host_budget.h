// SPDX-License-Identifier: Apache-2.0
//
// The device's budget and the host's together.
//
//   conflict  <=>  peak(plan within the host's) > budget_bytes
//                  and peak(plan without a limit on the host) <= budget_bytes
//
// Then it is the host that lacks memory, and a plan that is known to break the device's budget is
// not worth its copies. When the device's budget cannot hold either way, the host is not to blame:
// the best plan within its limit is used, as without one.

#ifndef TFLMS_REWRITE_HOST_BUDGET_H_
#define TFLMS_REWRITE_HOST_BUDGET_H_

#include <string>

#include "src/rewrite/plan_key.h"
#include "tflms/options.h"
#include "tflms/report.h"
#include "tflms/status.h"

namespace tflms {

// One sentence with both numbers, also written to device_needed_bytes and host_needed_bytes of
// `report`, when the budgets cannot both hold by the plans that are found; else "". `plan` is the
// one within the host's limit. Costs a second planning when that one breaks the device's budget.
Result<std::string> WhyBudgetsConflict(const PlanSubject& subject, const Options& options,
                                       const PlannerOptions& planner_options, const Plan& plan,
                                       Report* report);

}  // namespace tflms

#endif  // TFLMS_REWRITE_HOST_BUDGET_H_
