// SPDX-License-Identifier: Apache-2.0
//
// The joint planner: swaps where they hide, recomputes where that is cheaper, keeps to its budget
// and to what it is told it may not do.

#include "src/planners/joint.h"

#include <gtest/gtest.h>

#include "src/planners/level_distance.h"
#include "src/sim/bfc.h"
#include "src/sim/clones.h"
#include "src/sim/simulator.h"
#include "tests/core/random_problem.h"

namespace tflms {
namespace {

constexpr int64_t kBytes = 4096;

Problem Training(int layers) {
  Problem problem = TrainingProblem(layers, kBytes, kBytes);
  for (ProblemOp& op : problem.ops) op.repeatable = true;
  for (ProblemBuffer& buffer : problem.buffers) buffer.recomputable = true;
  return problem;
}

struct Outcome {
  Plan plan;
  int64_t peak_bytes = 0;
  SimulationResult run;
};

Outcome PlanOf(const Problem& problem, const PlannerOptions& options,
               Result<Plan> (*planner)(const Problem&, const PlannerOptions&) = &PlanJoint) {
  Outcome outcome;
  Result<Plan> plan = planner(problem, options);
  EXPECT_TRUE(plan.ok());
  outcome.plan = *plan;
  EXPECT_EQ(CheckPlan(problem, outcome.plan), "");
  const Problem expanded = Expand(problem, outcome.plan).problem;
  outcome.peak_bytes = PlannedMemory(expanded, outcome.plan).peak_bytes;
  outcome.run = Simulate(expanded, outcome.plan, options.machine);
  return outcome;
}

int64_t ComputeTime(const Problem& problem) {
  int64_t time_us = 0;
  for (const ProblemOp& op : problem.ops) time_us += op.time_us;
  return time_us;
}

PlannerOptions With(int64_t budget_bytes, double bytes_per_us) {
  PlannerOptions options;
  options.budget_bytes = budget_bytes;
  options.machine = {bytes_per_us, bytes_per_us};
  return options;
}

TEST(Joint, SwapsBehindComputingWhenTheLinkIsFast) {
  const Problem problem = Training(40);
  // A copy takes a fifth of an op.
  const Outcome joint = PlanOf(problem, With(24 * kBytes, kBytes / 2.0));
  EXPECT_LE(joint.peak_bytes, 24 * kBytes);
  EXPECT_FALSE(joint.plan.swaps.empty());
  EXPECT_TRUE(joint.plan.clones.empty());
  EXPECT_EQ(joint.run.time_us, ComputeTime(problem));
}

TEST(Joint, RecomputesWhenTheLinkIsSlow) {
  const Problem problem = Training(40);
  // A copy takes as long as a hundred ops.
  const PlannerOptions options = With(24 * kBytes, kBytes / 1000.0);
  const Outcome joint = PlanOf(problem, options);
  EXPECT_LE(joint.peak_bytes, 24 * kBytes);
  EXPECT_FALSE(joint.plan.clones.empty());
  const Outcome plain = PlanOf(problem, options, &PlanLevelDistance);
  EXPECT_LT(2 * joint.run.time_us, plain.run.time_us);
  // At most one more forward part.
  EXPECT_LE(joint.run.time_us, ComputeTime(problem) + 40 * 10);
}

TEST(Joint, MixesBothWhereNeitherIsCheapAlone) {
  const Problem problem = Training(60);
  PlannerOptions options = With(24 * kBytes, kBytes / 60.0);
  const Outcome joint = PlanOf(problem, options);
  options.may_recompute = false;
  const Outcome swapped = PlanOf(problem, options);
  EXPECT_TRUE(swapped.plan.clones.empty());
  EXPECT_LE(swapped.peak_bytes, 24 * kBytes);
  EXPECT_LT(joint.run.time_us, swapped.run.time_us);
}

TEST(Joint, NeverSlowerThanLevelDistanceWhereBothFit) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Problem problem = RandomProblem(seed, 24);
    for (ProblemOp& op : problem.ops) op.repeatable = op.on_device;
    for (ProblemBuffer& buffer : problem.buffers) {
      buffer.size_bytes *= kBytes;
      buffer.recomputable = !buffer.live_at_end;
    }
    const PlannerOptions none = With(0, 0);
    const int64_t peak = PlanOf(problem, none, &PlanLevelDistance).peak_bytes;
    const PlannerOptions options = With(peak * 9 / 10, kBytes / 4.0);
    const Outcome joint = PlanOf(problem, options);
    const Outcome plain = PlanOf(problem, options, &PlanLevelDistance);
    const auto fits = [&](const Outcome& outcome) {
      return outcome.peak_bytes <= options.budget_bytes &&
             FitsInBfc(Expand(problem, outcome.plan).problem, outcome.plan, options.budget_bytes,
                       kReplaySteps, kReplaySeeds);
    };
    if (!fits(plain)) continue;
    EXPECT_TRUE(fits(joint)) << "seed " << seed;
    EXPECT_LE(joint.run.time_us, plain.run.time_us) << "seed " << seed;
  }
}

TEST(Joint, KeepsToTheHostsMemory) {
  const Problem problem = Training(40);
  PlannerOptions options = With(24 * kBytes, kBytes / 2.0);
  options.host_bytes = 4 * kBytes;
  const Outcome joint = PlanOf(problem, options);
  EXPECT_LE(joint.peak_bytes, 24 * kBytes);
  EXPECT_LE(joint.run.host_peak_bytes, options.host_bytes);
  EXPECT_FALSE(joint.plan.clones.empty()) << "what may not leave is made again";
}

TEST(Joint, KnobsOfLevelDistanceAreItsOwn) {
  const Problem problem = Training(40);
  PlannerOptions options = With(24 * kBytes, kBytes / 2.0);
  options.swapout_threshold = 4;
  const Outcome joint = PlanOf(problem, options);
  const Outcome plain = PlanOf(problem, options, &PlanLevelDistance);
  EXPECT_EQ(joint.plan.order, plain.plan.order);
  EXPECT_EQ(joint.plan.swaps.size(), plain.plan.swaps.size());
  EXPECT_TRUE(joint.plan.clones.empty());
}

TEST(Joint, StopsAtItsDeadlineWithAPlan) {
  const Problem problem = Training(200);
  PlannerOptions options = With(40 * kBytes, kBytes / 60.0);
  options.deadline = std::chrono::steady_clock::now();
  const Outcome joint = PlanOf(problem, options);
  EXPECT_FALSE(joint.plan.swaps.empty() && joint.plan.clones.empty());
}

}  // namespace
}  // namespace tflms
