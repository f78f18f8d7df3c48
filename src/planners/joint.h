// SPDX-License-Identifier: Apache-2.0
//
// Planner "joint": see joint.cc for algorithm and cost.

#ifndef TFLMS_PLANNERS_JOINT_H_
#define TFLMS_PLANNERS_JOINT_H_

#include "src/planners/planner.h"

namespace tflms {

// The plan with the least simulated time among those found whose peak is within
// options.budget_bytes; when none is, the one with the smallest peak. Fails only when the problem
// cannot be ordered.
Result<Plan> PlanJoint(const Problem& problem, const PlannerOptions& options);

}  // namespace tflms

#endif  // TFLMS_PLANNERS_JOINT_H_
