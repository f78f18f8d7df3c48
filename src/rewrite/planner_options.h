// SPDX-License-Identifier: Apache-2.0
//
// From the user's options to a planner's.

#ifndef TFLMS_REWRITE_PLANNER_OPTIONS_H_
#define TFLMS_REWRITE_PLANNER_OPTIONS_H_

#include <chrono>

#include "src/planners/planner.h"
#include "tflms/options.h"

namespace tflms {

// What the pipeline asks a planner for. Without a deadline the search ends by itself.
PlannerOptions PlannerOptionsOf(
    const Options& options, const Machine& link,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max());

}  // namespace tflms

#endif  // TFLMS_REWRITE_PLANNER_OPTIONS_H_
