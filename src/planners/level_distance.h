// SPDX-License-Identifier: Apache-2.0
//
// Planner "level-distance": see level_distance.cc for policy and cost.

#ifndef TFLMS_PLANNERS_LEVEL_DISTANCE_H_
#define TFLMS_PLANNERS_LEVEL_DISTANCE_H_

#include "src/planners/planner.h"

namespace tflms {

// A plan whose peak is within options.budget_bytes if one is found, else the one with the smallest
// peak. Fails only when the problem cannot be ordered.
Result<Plan> PlanLevelDistance(const Problem& problem, const PlannerOptions& options);

}  // namespace tflms

#endif  // TFLMS_PLANNERS_LEVEL_DISTANCE_H_
