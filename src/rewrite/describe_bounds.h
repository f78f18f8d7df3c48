// SPDX-License-Identifier: Apache-2.0
//
// How near a plan is to what is possible, for the report: the bounds of src/sim/bounds.h.

#ifndef TFLMS_REWRITE_DESCRIBE_BOUNDS_H_
#define TFLMS_REWRITE_DESCRIBE_BOUNDS_H_

#include "src/sim/problem.h"
#include "src/sim/simulator.h"
#include "tflms/report.h"

namespace tflms {

// Fills order_bound_bytes, compute_us, time_bound_us, step_us and
// stall_us of `report`, whose budget_bytes is set. The time bound is that of plans, with
// swaps and clones, in this plan's order, that keep to the budget, or to the peak this plan has on
// the clock where that is higher. Without a machine in the report and
// without rates of a link the bound is the compute time, and nothing is predicted. O(one simulation
// + the bounds).
void DescribeBounds(const Problem& problem, const Plan& plan, const Machine& machine,
                    Report* report);

}  // namespace tflms

#endif  // TFLMS_REWRITE_DESCRIBE_BOUNDS_H_
