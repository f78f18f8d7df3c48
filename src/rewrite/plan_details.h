// SPDX-License-Identifier: Apache-2.0
//
// What a plan comes to, for the report: memory at every operation on both sides, every swap and
// second run, and the peak the device's allocator will show. Cost: O(ops + accesses log) and one replay of the
// allocator.

#ifndef TFLMS_REWRITE_PLAN_DETAILS_H_
#define TFLMS_REWRITE_PLAN_DETAILS_H_

#include "src/graph/graph.h"
#include "src/rewrite/problem_builder.h"
#include "src/sim/problem.h"
#include "tflms/report.h"

namespace tflms {

// Fills peaks, bytes, counts, timeline, swaps and recomputes of `report`, whose budget_bytes is
// set; adds a note when the plan or the allocator's replay of it does not keep to the budget.
void DescribePlan(const Graph& graph, const GraphFacts& facts, const ProblemMap& map,
                  const Plan& plan, Report* report);

// Fills allocator_peak_bytes: the peak that the allocator's own statistics will show, with rounding
// and with chunks that are not split, in the run with the slowest copies. Adds a note when bytes
// that fit the budget find no room in one piece. `problem` is what Expand gives for the plan.
void DescribeAllocator(const Graph& graph, const Problem& problem, const Plan& plan,
                       Report* report);

}  // namespace tflms

#endif  // TFLMS_REWRITE_PLAN_DETAILS_H_
