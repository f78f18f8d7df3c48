// SPDX-License-Identifier: Apache-2.0
//
// Bounds in the report: which budget they are for, and what is said when copies are not known.

#include "src/rewrite/describe_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/planners/order.h"
#include "src/planners/planner.h"
#include "tests/core/random_problem.h"

namespace tflms {
namespace {

Report Describe(const Problem& problem, const Plan& plan, const Machine& machine,
                int64_t budget_bytes) {
  Report report;
  report.outcome = Outcome::kRewritten;
  report.device = "gpu";
  report.budget_bytes = budget_bytes;
  DescribeBounds(problem, plan, machine, &report);
  return report;
}

TEST(DescribeBounds, WithoutRatesNothingIsPredicted) {
  const Problem problem = TrainingProblem(10, 1000, 10);
  const Plan plan{MakeOrder(problem, OrderPolicy::kDepthFirst), false, {}};
  const Report report = Describe(problem, plan, {}, 100);
  EXPECT_EQ(report.compute_us, 300);
  EXPECT_EQ(report.time_bound_us, 300);
  EXPECT_EQ(report.step_us, 0);
  // All ten activations, the last layer's gradient as it is made.
  EXPECT_EQ(report.order_bound_bytes, 10010);
  EXPECT_EQ(FormatReport(report).find("step time"), std::string::npos);
}

TEST(DescribeBounds, APlanAboveTheBudgetIsHeldAgainstItsOwnPeak) {
  const Problem problem = TrainingProblem(10, 1000, 10);
  const Plan plan{MakeOrder(problem, OrderPolicy::kDepthFirst), false, {}};
  const Report report = Describe(problem, plan, {1, 1}, 100);
  EXPECT_EQ(report.step_us, 300);
  EXPECT_EQ(report.time_bound_us, 300);
}

TEST(DescribeBounds, TheReportSaysHowNearThePlanIs) {
  Report report;
  report.device = "gpu";
  report.order_bound_bytes = 3 << 20;
  report.compute_us = 590000;
  report.time_bound_us = 600000;
  report.step_us = 612000;
  const std::string text = FormatReport(report);
  EXPECT_NE(
      text.find(
          "  step time             612.0 ms predicted, 0 us of it waiting, 590.0 ms of compute; "
          "within 2.0 % of the bound for this order\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("  floor without swaps   3.0 MiB, in any order\n"), std::string::npos)
      << text;
  EXPECT_NE(ReportToJson(report).find("\"time_bound_us\":600000"), std::string::npos);
}

TEST(DescribeBounds, PlansOfThePlannerKeepToTheirBounds) {
  int excess = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Problem problem =
        seed % 2 == 0 ? RandomProblem(seed, 60) : TrainingProblem(20, 100, 10 + seed);
    const std::vector<OpId> order = MakeOrder(problem, OrderPolicy::kDepthFirst);
    PlannerOptions options;
    options.budget_bytes = PlannedMemory(problem, {order, false, {}}).peak_bytes * 3 / 4;
    const Result<Plan> plan = PlannerCatalog().front().plan(problem, options);
    ASSERT_TRUE(plan.ok());
    const Report report = Describe(problem, *plan, {1, 1}, options.budget_bytes);
    EXPECT_LE(report.time_bound_us, report.step_us) << "seed " << seed;
    EXPECT_LE(report.compute_us, report.time_bound_us) << "seed " << seed;
    excess += report.time_bound_us > report.compute_us;
  }
  EXPECT_GT(excess, 10);
}

}  // namespace
}  // namespace tflms
