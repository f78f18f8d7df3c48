// SPDX-License-Identifier: Apache-2.0
//
// What memory buys: the figures of the plans that a planner finds for a row of budgets.
//
//   point(b) = figures of planner(problem, b);   b fits  <=>  peak <= b, and the replays of the
//                                                            allocator find room in b
//
// Each point is planned on its own, with the options of the pipeline. Cost: one run of the planner
// for each budget.

#ifndef TFLMS_REWRITE_CURVE_H_
#define TFLMS_REWRITE_CURVE_H_

#include <cstdint>
#include <vector>

#include "src/planners/planner.h"
#include "src/rewrite/explain.h"
#include "tflms/options.h"
#include "tflms/status.h"

namespace tflms {

struct CurvePoint {
  int64_t budget_bytes = 0;
  bool fits = false;
  bool needed = false;  // the plan swaps, recomputes or holds the order
  int64_t swapped_tensors = 0;
  int64_t clones = 0;
  int64_t planning_us = 0;
  PlanFigures figures;
};

// The point at one budget, > 0. `options.budget_bytes` does not matter; its time limit is for this
// point.
Result<CurvePoint> PlanForBudget(const Problem& problem, const Options& options,
                                 const Machine& machine, int64_t budget_bytes);

// `count` >= 2 budgets from `low` to `high`, both included, at equal distances; one when both are
// equal.
std::vector<int64_t> BudgetsBetween(int64_t low, int64_t high, int64_t count);

}  // namespace tflms

#endif  // TFLMS_REWRITE_CURVE_H_
