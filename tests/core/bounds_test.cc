// SPDX-License-Identifier: Apache-2.0
//
// The bounds against sums done by hand, and against every plan of small problems: no plan may do
// better than a bound says. TFLMS_BOUND_CASES in the environment sets how many random problems are
// tried; TFLMS_BOUND_PRINT=1 also prints how near the bounds come.

#include "src/sim/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "src/planners/order.h"
#include "src/sim/clones.h"
#include "tests/core/brute_force.h"
#include "tests/core/random_problem.h"

namespace tflms {
namespace {

std::vector<OpId> InIdOrder(const Problem& problem) {
  std::vector<OpId> order(problem.ops.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

uint32_t Cases(uint32_t otherwise) {
  const char* text = std::getenv("TFLMS_BOUND_CASES");
  return text ? static_cast<uint32_t>(std::atoi(text)) : otherwise;
}

// Of random and of training-shaped problems in turn.
Problem SmallProblem(uint32_t seed) {
  return seed % 3 == 0 ? SmallTrainingProblem(seed, 2 + static_cast<int>(seed / 3 % 2))
                       : SmallRandomProblem(seed, 4 + static_cast<int>(seed % 4));
}

// x -> a (8 bytes, 2 us) -> b (8, 8) -> c (2, 4) -> g reads c and a (2, 2); x is 4 bytes.
Problem Example() {
  Problem problem;
  const int64_t time[] = {1, 2, 8, 4, 2}, size[] = {4, 8, 8, 2, 2};
  for (OpId i = 0; i < 5; ++i) {
    problem.ops.emplace_back().time_us = time[i];
    ProblemBuffer& buffer = problem.buffers.emplace_back();
    buffer.size_bytes = size[i];
    buffer.producer = i;
    buffer.swappable = true;
  }
  problem.buffers[0].uses = {1};
  problem.buffers[1].uses = {2, 4};
  problem.buffers[2].uses = {3};
  problem.buffers[3].uses = {4};
  problem.successors = {{1}, {2, 4}, {3}, {4}, {}};
  return problem;
}

TEST(Bounds, ASwapComesBackBehindTheOpThatHasNoRoomForIt) {
  // While c runs, 2 of the 8 + 8 + 2 bytes must be away. Of a they left while b ran, and come back
  // in 2 us between c and g: 17 us of compute and those.
  const Problem problem = Example();
  const TimeBounds bounds = BoundTime(problem, InIdOrder(problem), {1, 1}, 16);
  EXPECT_EQ(bounds.compute_us, 17);
  EXPECT_EQ(bounds.swap_us, 19);
  EXPECT_EQ(bounds.recompute_time_us, kNoPlan);
  EXPECT_EQ(bounds.both_us, 19);
  EXPECT_EQ(BoundTime(problem, InIdOrder(problem), {0, 0}, 16).swap_us, 17);  // no limit
  EXPECT_EQ(BoundTime(problem, InIdOrder(problem), {1, 0.5}, 16).swap_us, 21);
  EXPECT_EQ(BoundTime(problem, InIdOrder(problem), {1, 1}, 18).swap_us, 17);  // fits as it is
  EXPECT_EQ(BoundTime(problem, InIdOrder(problem), {1, 1}, 9).both_us, kNoPlan);
}

TEST(Bounds, ASlowLinkHoldsUpTheOpToo) {
  // a is made at 3 us and c starts at 11: 8 us for 2 bytes at 0.2 bytes a us, which take 10.
  const Problem problem = Example();
  EXPECT_EQ(BoundTime(problem, InIdOrder(problem), {0.2, 0}, 16).swap_us, 17 + 2);
}

TEST(Bounds, PartOfARunMakesPartOfABuffer) {
  // a's 8 bytes take 2 us to make again; 2 of them, a quarter, 0.5: rounded up, 18.
  Problem problem = Example();
  problem.ops[1].repeatable = true;
  problem.buffers[1].recomputable = true;
  const TimeBounds bounds = BoundTime(problem, InIdOrder(problem), {1, 1}, 16);
  EXPECT_EQ(bounds.swap_us, 19);
  EXPECT_EQ(bounds.recompute_time_us, 18);
  EXPECT_EQ(bounds.both_us, 18);
}

TEST(Bounds, WhatIsMadeBeforeAndReadBehindIsThereInEveryOrder) {
  // At c: a (read by g), b and c. At b: a and b.
  const Problem problem = Example();
  const OrderBound bound = KeepEverythingBound(problem, InIdOrder(problem));
  EXPECT_EQ(bound.bytes, 18);
  EXPECT_EQ(bound.op, 3);
  EXPECT_EQ(WorkingSetFloor(problem).bytes, 16);  // b reads a
}

TEST(Bounds, AnOutputInTheMemoryOfAnInputCountsOnce) {
  Problem problem = Example();
  problem.buffers[2].may_reuse = {1};
  EXPECT_EQ(WorkingSetFloor(problem).bytes, 12);  // a and x, or a, c and g
  problem.buffers[2].size_bytes = 7;              // of another size: it never does
  EXPECT_EQ(WorkingSetFloor(problem).bytes, 15);
}

// How near a bound comes, over many cases.
struct Tightness {
  double sum = 0, excess_sum = 0;
  int64_t count = 0, excess_count = 0, exact = 0;
  void Add(int64_t bound, int64_t best, int64_t least = 0) {
    sum += static_cast<double>(bound) / static_cast<double>(best);
    ++count;
    exact += bound == best;
    if (best <= least) return;
    excess_sum += static_cast<double>(bound - least) / static_cast<double>(best - least);
    ++excess_count;
  }
  void Print(const char* name) const {
    if (!std::getenv("TFLMS_BOUND_PRINT") || count == 0) return;
    std::printf("%-4s %lld cases, mean bound / best %.4f, equal in %.1f %%, of the excess %.3f\n",
                name, static_cast<long long>(count), sum / static_cast<double>(count),
                100.0 * static_cast<double>(exact) / static_cast<double>(count),
                excess_sum / static_cast<double>(std::max<int64_t>(excess_count, 1)));
  }
};

TEST(Bounds, NoOrderKeepingEverythingIsBelowTheOrderBound) {
  Tightness tightness;
  for (uint32_t seed = 0; seed < Cases(3000); ++seed) {
    const Problem problem = SmallProblem(seed);
    const OrderBound bound = KeepEverythingBound(problem, InIdOrder(problem));
    EXPECT_TRUE(bound.complete);
    int64_t best = kNoPlan;
    for (const std::vector<OpId>& order : AllOrders(problem)) {
      best = std::min(best, PlannedMemory(problem, {order, false, {}}).peak_bytes);
    }
    ASSERT_LE(bound.bytes, best) << "seed " << seed;
    ASSERT_GE(bound.bytes, WorkingSetFloor(problem).bytes) << "seed " << seed;
    if (best > 0) tightness.Add(bound.bytes, best);
  }
  tightness.Print("M3");
}

TEST(Bounds, TheOrderBoundDoesNotDependOnTheOrderAskedWith) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Problem problem = RandomProblem(seed, 700);  // more than one block of columns
    const int64_t bound =
        KeepEverythingBound(problem, MakeOrder(problem, OrderPolicy::kReadyFirst)).bytes;
    for (OrderPolicy policy : kOrderPolicies) {
      const std::vector<OpId> order = MakeOrder(problem, policy);
      EXPECT_EQ(KeepEverythingBound(problem, order).bytes, bound) << "seed " << seed;
      EXPECT_GE(PlannedMemory(problem, {order, false, {}}).peak_bytes, bound) << "seed " << seed;
    }
  }
}

// True when every moment of memory takes time, so that the clock sees all of them.
bool ClockSeesAll(const Problem& problem) {
  return std::all_of(problem.ops.begin(), problem.ops.end(),
                     [](const ProblemOp& op) { return op.on_device && op.time_us > 0; });
}

TEST(Bounds, NoPlanIsBelowTheWorkingSet) {
  Tightness tightness;
  for (uint32_t seed = 0; seed < Cases(600); ++seed) {
    const Problem problem = SmallProblem(seed);
    const int64_t floor = WorkingSetFloor(problem).bytes;
    const bool clock = ClockSeesAll(problem);
    int64_t best = kNoPlan;
    const auto check = [&](const Problem& expanded, const Plan& plan) {
      const int64_t peak = PlannedMemory(expanded, plan).peak_bytes;
      best = std::min(best, peak);
      ASSERT_GE(peak, floor) << "seed " << seed;
      if (!clock) return;
      ASSERT_GE(Simulate(expanded, plan, {1, 1}).peak_bytes, floor) << "seed " << seed;
    };
    const std::vector<std::vector<OpId>> orders = AllOrders(problem);
    for (size_t i = 0; i < orders.size(); i += 1 + orders.size() / 3) {
      ForEachSwapPlan(problem, {orders[i], true, {}}, 200, seed, check);
      for (const Plan& plan : ClonePlans(problem, orders[i], 50, seed)) {
        ForEachSwapPlan(problem, plan, 20, seed, check);
      }
    }
    if (best > 0) tightness.Add(floor, best);
  }
  tightness.Print("M1");
}

// Peak and time of every plan of one kind.
using Outcomes = std::vector<std::pair<int64_t, int64_t>>;

// The least time of the plans that fit.
int64_t BestTime(const Outcomes& outcomes, int64_t budget_bytes) {
  int64_t best = kNoPlan;
  for (const auto& [peak, time] : outcomes) {
    if (peak <= budget_bytes) best = std::min(best, time);
  }
  return best;
}

struct AllTightness {
  Tightness swap, recompute, both;
};

// The bounds for every budget between the lowest peak of a plan and the peak without one.
void CheckTimes(uint32_t seed, AllTightness* tightness) {
  const Problem problem = SmallProblem(seed);
  const double rates[] = {0, 0.5, 1, 1, 2, 5};
  const Machine machine{rates[seed % 6], rates[seed / 6 % 6]};
  const std::vector<OpId> order = InIdOrder(problem);
  Outcomes swap, recompute, both;
  const auto run = [&](const Problem& expanded, const Plan& plan) {
    const SimulationResult result = Simulate(expanded, plan, machine);
    const std::pair outcome(result.peak_bytes, result.time_us);
    if (plan.clones.empty()) swap.push_back(outcome);
    if (plan.swaps.empty()) recompute.push_back(outcome);
    both.push_back(outcome);
  };
  ForEachSwapPlan(problem, {order, true, {}}, 1000, seed, run);
  const int64_t before = both.front().first;  // the plan that does nothing comes first
  for (const Plan& plan : ClonePlans(problem, order, 60, seed)) {
    ForEachSwapPlan(problem, plan, 40, seed, run);
  }
  for (int64_t budget = before; budget >= 0; --budget) {
    const TimeBounds bounds = BoundTime(problem, order, machine, budget);
    const auto check = [&](const char* name, int64_t bound, const Outcomes& outcomes,
                           Tightness* kind) {
      const int64_t best = BestTime(outcomes, budget);
      ASSERT_LE(bound, best) << name << " seed " << seed << " budget " << budget;
      ASSERT_GE(bound, bounds.compute_us) << name << " seed " << seed;
      if (best != kNoPlan && best > bounds.compute_us) kind->Add(bound, best, bounds.compute_us);
    };
    check("T1", bounds.swap_us, swap, &tightness->swap);
    check("T2", bounds.recompute_time_us, recompute, &tightness->recompute);
    check("T2'", bounds.both_us, both, &tightness->both);
  }
}

TEST(Bounds, NoPlanTakesLessTimeThanItsBound) {
  AllTightness tightness;
  for (uint32_t seed = 0; seed < Cases(1500); ++seed) {
    CheckTimes(seed, &tightness);
    if (HasFatalFailure()) return;
  }
  tightness.swap.Print("T1");
  tightness.recompute.Print("T2");
  tightness.both.Print("T2'");
}

}  // namespace
}  // namespace tflms
