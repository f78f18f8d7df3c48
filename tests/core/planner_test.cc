// SPDX-License-Identifier: Apache-2.0
//
// Orders and planners: legal plans on every problem, never worse than no plan, and against brute
// force on small ones.

#include "src/planners/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "src/planners/order.h"
#include "src/sim/bfc.h"
#include "src/sim/simulator.h"
#include "tests/core/random_problem.h"

namespace tflms {
namespace {

int64_t PeakOf(const Problem& problem, const std::vector<OpId>& order) {
  return PlannedMemory(problem, {order, false, {}}).peak_bytes;
}

TEST(Order, EveryPolicyGivesALegalOrder) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Problem problem = RandomProblem(seed, 20);
    for (OrderPolicy policy : kOrderPolicies) {
      EXPECT_EQ(CheckPlan(problem, {MakeOrder(problem, policy), false, {}}), "")
          << OrderPolicyName(policy) << " seed " << seed;
    }
  }
}

TEST(Order, GroupsStandTogether) {
  // Two collectives whose members are made ready in opposite orders.
  Problem problem = RandomProblem(1, 6);
  for (auto& next : problem.successors) next.clear();
  for (auto& buffer : problem.buffers) buffer.uses.clear(), buffer.may_reuse.clear();
  problem.ops[0].group = problem.ops[5].group = 1;
  problem.ops[1].group = problem.ops[4].group = 2;
  for (OrderPolicy policy : kOrderPolicies) {
    EXPECT_EQ(CheckPlan(problem, {MakeOrder(problem, policy), false, {}}), "");
  }
}

TEST(Order, GroupsThatWaitForOneAnotherHaveNoOrder) {
  Problem problem = RandomProblem(1, 4);
  for (auto& next : problem.successors) next.clear();
  problem.ops[0].group = problem.ops[3].group = 1;
  problem.ops[1].group = problem.ops[2].group = 2;
  problem.successors[0] = {1};
  problem.successors[2] = {3};
  for (OrderPolicy policy : kOrderPolicies) EXPECT_TRUE(MakeOrder(problem, policy).empty());
}

TEST(Order, LeavesOfABackwardPassRunAtOnce) {
  // With the gradients' leaves put off, every gradient and activation stays to the end.
  const Problem problem = TrainingProblem(20, 10, 10);
  const int64_t depth_first = PeakOf(problem, MakeOrder(problem, OrderPolicy::kDepthFirst));
  const int64_t greedy = PeakOf(problem, MakeOrder(problem, OrderPolicy::kGreedyBytes));
  EXPECT_LE(depth_first, 20 * 10 + 3 * 10 + 20);
  EXPECT_LE(greedy, depth_first);
}

bool IsTopological(const Problem& problem, const std::vector<OpId>& order) {
  const std::vector<int32_t> position = Positions(order);
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    for (OpId next : problem.successors[op]) {
      if (position[static_cast<size_t>(next)] < position[op]) return false;
    }
  }
  return true;
}

// The smallest peak over all legal orders of a small problem.
int64_t BestPeak(const Problem& problem) {
  std::vector<OpId> order(problem.ops.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    if (!IsTopological(problem, order)) continue;
    best = std::min(best, PlannedMemory(problem, {order, false, {}}).peak_bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Order, BestOfAllPoliciesIsNearTheOptimum) {
  int64_t ours = 0, optimum = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Problem problem = RandomProblem(seed, 7);
    int64_t best = INT64_MAX;
    for (OrderPolicy policy : kOrderPolicies) {
      best = std::min(best, PeakOf(problem, MakeOrder(problem, policy)));
    }
    const int64_t bound = BestPeak(problem);
    EXPECT_GE(best, bound) << "seed " << seed;
    ours += best;
    optimum += bound;
  }
  EXPECT_LE(static_cast<double>(ours), 1.1 * static_cast<double>(optimum));
}

class EveryPlanner : public ::testing::TestWithParam<size_t> {
 protected:
  const PlannerEntry& planner() const { return PlannerCatalog()[GetParam()]; }
};

TEST_P(EveryPlanner, GivesLegalPlansThatAreNeverWorse) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Problem problem = RandomProblem(seed, 16);
    const int64_t plain = PeakOf(problem, MakeOrder(problem, OrderPolicy::kReadyFirst));
    for (int64_t budget : {int64_t{0}, plain / 2, plain - 1, plain, 2 * plain, 1 + plain / 10}) {
      for (int32_t sync : {kAuto, 0}) {
        PlannerOptions options;
        options.budget_bytes = budget;
        options.sync_mode = sync;
        const Result<Plan> plan = planner().plan(problem, options);
        ASSERT_TRUE(plan.ok()) << plan.status().ToString();
        EXPECT_EQ(CheckPlan(problem, *plan), "") << "seed " << seed << " budget " << budget;
        EXPECT_LE(PlannedMemory(problem, *plan).peak_bytes, plain) << "seed " << seed;
      }
    }
  }
}

TEST_P(EveryPlanner, DoesNothingWhenEverythingFits) {
  const Problem problem = TrainingProblem(20, 4096, 4096);
  PlannerOptions options;
  options.budget_bytes = 100 * 4096;
  const Result<Plan> plan = planner().plan(problem, options);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->swaps.empty());
  EXPECT_FALSE(plan->pin_order);
}

TEST_P(EveryPlanner, KeepsTrainingStepUnderABudgetFarBelowItsPeak) {
  const Problem problem = TrainingProblem(40, 4096, 4096);
  PlannerOptions options;
  options.budget_bytes = 12 * 4096;
  const Result<Plan> plan = planner().plan(problem, options);
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(PlannedMemory(problem, *plan).peak_bytes, options.budget_bytes);
  EXPECT_TRUE(plan->pin_order);
  EXPECT_TRUE(ReplayBfc(problem, *plan, options.budget_bytes, 3, 0).fits);
}

TEST_P(EveryPlanner, PeakNeverRisesWhenTheBudgetFalls) {
  const Problem problem = TrainingProblem(30, 4096, 4096);
  int64_t before = INT64_MAX;
  for (int64_t budget = 40 * 4096; budget > 0; budget -= 4096) {
    PlannerOptions options;
    options.budget_bytes = budget;
    const Result<Plan> plan = planner().plan(problem, options);
    ASSERT_TRUE(plan.ok());
    const int64_t peak = PlannedMemory(problem, *plan).peak_bytes;
    EXPECT_LE(peak, before) << "budget " << budget;
    before = peak;
  }
}

TEST_P(EveryPlanner, IsDeterministic) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Problem problem = RandomProblem(seed, 30);
    PlannerOptions options;
    options.budget_bytes = 25;
    const Result<Plan> a = planner().plan(problem, options), b = planner().plan(problem, options);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->order, b->order);
    EXPECT_EQ(a->swaps, b->swaps);
  }
}

TEST_P(EveryPlanner, ObeysThresholdAndLimits) {
  const Problem problem = TrainingProblem(20, 4096, 4096);
  PlannerOptions options;
  options.swapout_threshold = 1000000;
  ASSERT_TRUE(planner().plan(problem, options).ok());
  EXPECT_TRUE(planner().plan(problem, options)->swaps.empty());
  options.swapout_threshold = 8;
  const size_t far = planner().plan(problem, options)->swaps.size();
  EXPECT_GT(far, 0u);
  options.swapout_threshold = 2;
  EXPECT_GT(planner().plan(problem, options)->swaps.size(), far);
  options.n_tensors = 3;
  EXPECT_EQ(planner().plan(problem, options)->swaps.size(), 3u);
  options.n_tensors = 0;
  EXPECT_TRUE(planner().plan(problem, options)->swaps.empty());
  options.n_tensors = -1;
  options.min_swap_bytes = 5000;
  EXPECT_TRUE(planner().plan(problem, options)->swaps.empty());
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPlanner,
                         ::testing::Range(size_t{0}, PlannerCatalog().size()),
                         [](const auto& param) {
                           std::string name(PlannerCatalog()[param.param].name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tflms
