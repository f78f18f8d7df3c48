// SPDX-License-Identifier: Apache-2.0
//
// Expand and CheckClones: a plan with clones as a problem without.

#include "src/sim/clones.h"

#include <gtest/gtest.h>

#include "src/sim/simulator.h"

namespace tflms {
namespace {

// a -> b -> c -> d, with b's buffer read again by d. Sizes 10, 100, 1; all ops on the device.
//   a makes 0 (10, read by b), b makes 1 (100, read by c and d), c makes 2 (1, read by d)
Problem Chain() {
  Problem problem;
  problem.ops.resize(4);
  for (ProblemOp& op : problem.ops) op.time_us = 5;
  problem.ops[1].repeatable = true;
  problem.buffers.resize(3);
  problem.buffers[0] = {10, 0, {1}, false, true, false, {}, {}};
  problem.buffers[1] = {100, 1, {2, 3}, false, true, true, {}, {}};
  problem.buffers[2] = {1, 2, {3}, false, true, false, {}, {}};
  problem.successors = {{1}, {2, 3}, {3}, {}};
  return problem;
}

Plan RecomputeB() {
  Plan plan;
  plan.order = {0, 1, 2, 4, 3};
  plan.pin_order = true;
  plan.clones = {1};
  plan.clone_reads = {{1, 3, 0}};
  return plan;
}

TEST(Clones, WithoutClonesTheProblemIsTheSame) {
  const Problem problem = Chain();
  const Expansion expansion = Expand(problem, {{0, 1, 2, 3}, false, {}, {}, {}});
  EXPECT_EQ(expansion.problem.ops.size(), 4u);
  EXPECT_EQ(expansion.problem.buffers.size(), 3u);
  EXPECT_EQ(expansion.problem.successors, problem.successors);
}

TEST(Clones, AReaderMovesToTheClone) {
  const Expansion expansion = Expand(Chain(), RecomputeB());
  ASSERT_EQ(expansion.problem.buffers.size(), 4u);
  EXPECT_EQ(expansion.problem.buffers[1].uses, (std::vector<OpId>{2}));
  EXPECT_EQ(expansion.problem.buffers[3].uses, (std::vector<OpId>{3}));
  EXPECT_EQ(expansion.problem.buffers[3].producer, 4);
  EXPECT_EQ(expansion.problem.buffers[0].uses, (std::vector<OpId>{1, 4}));
  EXPECT_EQ(expansion.original[3], 1);
  EXPECT_EQ(expansion.clone[3], 0);
  EXPECT_EQ(CheckPlan(Chain(), RecomputeB()), "");
}

TEST(Clones, TheSimulatorCountsMemoryAndTimeOfTheClone) {
  const Problem expanded = Expand(Chain(), RecomputeB()).problem;
  const SimulationResult result = Simulate(expanded, RecomputeB(), {});
  EXPECT_EQ(result.time_us, 25);
  // While the clone runs: buffer 0 (10), its output (100), c's output (1).
  EXPECT_EQ(PlannedMemory(expanded, RecomputeB()).running[3], 111);
  EXPECT_EQ(PlannedMemory(expanded, RecomputeB()).running[2], 111);  // 10 + 100 + 1
}

TEST(Clones, ACloneStandsBeforeTheWriterOfItsState) {
  Problem problem = Chain();
  problem.writes_after_reads = {{1, 2}};
  EXPECT_NE(CheckPlan(problem, RecomputeB()).find("order-legal"), std::string::npos);
}

TEST(Clones, OfAnOpThatMayNotRepeatIsAFault) {
  Problem problem = Chain();
  problem.ops[1].repeatable = false;
  EXPECT_NE(CheckPlan(problem, RecomputeB()).find("clone-legal"), std::string::npos);
}

TEST(Clones, ReadByAnOpThatDoesNotReadTheBufferIsAFault) {
  Plan plan = RecomputeB();
  plan.clone_reads = {{1, 0, 0}};
  EXPECT_NE(CheckPlan(Chain(), plan).find("clone-read"), std::string::npos);
}

TEST(Clones, NeedAPinnedOrder) {
  Plan plan = RecomputeB();
  plan.pin_order = false;
  EXPECT_NE(CheckPlan(Chain(), plan).find("clone-legal"), std::string::npos);
}

}  // namespace
}  // namespace tflms
