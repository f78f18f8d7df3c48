// SPDX-License-Identifier: Apache-2.0
//
// The simulator against sums done by hand, and its two views against each other.

#include "src/sim/simulator.h"

#include <gtest/gtest.h>

#include <numeric>

#include "src/planners/gaps.h"
#include "src/planners/order.h"
#include "src/sim/residency.h"
#include "tests/core/random_problem.h"

namespace tflms {
namespace {

std::vector<OpId> InIdOrder(const Problem& problem) {
  std::vector<OpId> order(problem.ops.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// x -> a (8 bytes, 2 ticks) -> b (8, 8) -> c (2, 4) -> g reads c and a (2, 2); x is 4 bytes.
Problem Example() {
  Problem problem;
  const int64_t time[] = {0, 2, 8, 4, 2}, size[] = {4, 8, 8, 2, 2};
  for (int i = 0; i < 5; ++i) {
    ProblemOp op;
    op.time_us = time[i];
    problem.ops.push_back(op);
    ProblemBuffer buffer;
    buffer.size_bytes = size[i];
    buffer.producer = i;
    buffer.swappable = true;
    problem.buffers.push_back(buffer);
  }
  problem.buffers[0].uses = {1};
  problem.buffers[1].uses = {2, 4};
  problem.buffers[2].uses = {3};
  problem.buffers[3].uses = {4};
  problem.successors = {{1}, {2, 4}, {3}, {4}, {}};
  return problem;
}

constexpr Machine kUnitMachine{1, 1};

TEST(Simulator, WithoutSwapsBytesAddUp) {
  const Problem problem = Example();
  const SimulationResult result = Simulate(problem, {InIdOrder(problem), false, {}}, kUnitMachine);
  EXPECT_EQ(result.peak_bytes, 18);  // while c runs: a 8, b 8, c 2
  EXPECT_EQ(result.peak_op, 3);
  EXPECT_EQ(result.time_us, 16);
  EXPECT_EQ(result.stall_us, 0);
}

TEST(Simulator, SwapGoesOutWhileComputingAndStallsOnReturn) {
  // a leaves at ticks 2..10 while b runs, comes back at 14..22 behind c; g waits 8 ticks.
  const Problem problem = Example();
  const Plan plan{InIdOrder(problem), true, {{1, 2, 4, 3, 3}}};
  ASSERT_EQ(CheckPlan(problem, plan), "");
  const SimulationResult result = Simulate(problem, plan, kUnitMachine);
  EXPECT_EQ(result.peak_bytes, 16);  // while b runs: a 8, b 8
  EXPECT_EQ(result.time_us, 24);
  EXPECT_EQ(result.stall_us, 8);
  EXPECT_EQ(result.worst_stall_op, 4);
  EXPECT_EQ(result.out_bytes, 8);
  EXPECT_EQ(result.in_bytes, 8);
  EXPECT_EQ(result.host_peak_bytes, 8);
}

TEST(Simulator, PlannedMemoryHoldsTheBufferUntilSomeoneWaits) {
  const Problem problem = Example();
  Plan plan{InIdOrder(problem), true, {{1, 2, 4, 3, 3}}};
  EXPECT_EQ(PlannedMemory(problem, plan).running, (std::vector<int64_t>{4, 12, 16, 10, 12}));
  // Just before c starts, a (8) is still leaving beside b (8); before g, a is coming back to c.
  EXPECT_EQ(PlannedMemory(problem, plan).waiting, (std::vector<int64_t>{0, 4, 8, 16, 10}));
  plan.swaps[0].sync = kNoOp;  // nobody waits: it may be there all the time
  EXPECT_EQ(PlannedMemory(problem, plan).running, (std::vector<int64_t>{4, 12, 16, 18, 12}));
}

TEST(Simulator, TakeoverCountsTheSharedMemoryOnce) {
  Problem problem = Example();
  problem.buffers[4].may_reuse = {3};  // g in place of c
  const Plan plan{InIdOrder(problem), false, {}};
  EXPECT_EQ(FindTakeovers(problem, Positions(plan.order)),
            (std::vector<BufferId>{-1, -1, -1, -1, 3}));
  EXPECT_EQ(PlannedMemory(problem, plan).running.back(), 10);  // a 8, g 2
  problem.buffers[3].live_at_end = true;  // now c must stay
  EXPECT_EQ(PlannedMemory(problem, plan).running.back(), 12);
}

TEST(Simulator, CheckPlanNamesTheBrokenLaw) {
  const Problem problem = Example();
  const auto fault = [&](Plan plan) {
    const std::string text = CheckPlan(problem, plan);
    return text.substr(0, text.find(':'));
  };
  const std::vector<OpId> order = InIdOrder(problem);
  EXPECT_EQ(fault({{0, 1, 2, 3}, false, {}}), "order-complete");
  EXPECT_EQ(fault({{0, 1, 2, 3, 3}, false, {}}), "order-complete");
  EXPECT_EQ(fault({{1, 0, 2, 3, 4}, false, {}}), "order-legal");
  EXPECT_EQ(fault({order, true, {{1, 1, 4, 3, 3}}}), "gap-is-a-gap");
  EXPECT_EQ(fault({order, true, {{9, 1, 4, 3, 3}}}), "gap-is-a-gap");
  EXPECT_EQ(fault({order, true, {{1, 2, 4, 4, 3}}}), "trigger-inside");
  EXPECT_EQ(fault({order, true, {{1, 2, 4, 3, 2}}}), "sync-inside");
  EXPECT_EQ(fault({order, true, {{1, 2, 4, 3, 3}, {1, 2, 4, 3, 3}}}), "gap-is-a-gap");
  Problem stays = problem;
  stays.buffers[1].swappable = false;
  EXPECT_EQ(CheckPlan(stays, {order, true, {{1, 2, 4, 3, 3}}}).substr(0, 13), "gap-swappable");
}

// Whatever the link's speed, the clock never sees more than the planned peak.
TEST(Simulator, PlannedPeakHoldsForEveryLinkSpeed) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const Problem problem = RandomProblem(seed, 12);
    const std::vector<OpId> order = MakeOrder(problem, OrderPolicy::kDepthFirst);
    const Steps steps = FindSteps(problem, order);
    Plan plan{order, true, {}};
    BufferId last = -1;
    for (Gap gap : FindGaps(problem, steps, 0)) {
      gap.first = gap.buffer != last;
      SwapGap placed;
      if (!PlaceGap(gap, steps, 1 + static_cast<int32_t>(seed % 3), true, &placed)) continue;
      plan.swaps.push_back(placed);
      last = gap.buffer;
    }
    ASSERT_EQ(CheckPlan(problem, plan), "") << "seed " << seed;
    const int64_t planned = PlannedMemory(problem, plan).peak_bytes;
    for (const Machine& machine : {Machine{0, 0}, Machine{1, 1}, Machine{0.1, 3}, Machine{5, 0.2}}) {
      EXPECT_LE(Simulate(problem, plan, machine).peak_bytes, planned) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tflms
