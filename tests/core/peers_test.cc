// SPDX-License-Identifier: Apache-2.0
//
// Rules of other tools: legal plans on every problem, and on small ones what the rule says.

#include "bench/core/peers/peers.h"

#include <gtest/gtest.h>

#include "bench/core/peers/building.h"
#include "bench/core/peers/compare.h"
#include "bench/core/peers/problem_file.h"
#include "src/sim/clones.h"
#include "tests/core/random_problem.h"

namespace tflms {
namespace {

// Forward ops 0 .. n - 1, each making 10 bytes of the one before; backward ops n .. 2n - 1, each
// making 1 byte of the one before and of the mirrored forward result. All take 10 us.
//   0 -> 1 -> 2 -> 3 -> 4 -> 5     with n = 3: 5 reads 0, 4 reads 1, 3 reads 2
Problem Mirror(OpId n) {
  Problem problem;
  problem.ops.resize(static_cast<size_t>(2 * n));
  problem.successors.resize(static_cast<size_t>(2 * n));
  for (OpId op = 0; op < 2 * n; ++op) {
    problem.ops[static_cast<size_t>(op)].time_us = 10;
    problem.ops[static_cast<size_t>(op)].repeatable = true;
    ProblemBuffer buffer;
    buffer.size_bytes = op < n ? 10 : 1;
    buffer.producer = op;
    buffer.swappable = buffer.recomputable = true;
    if (op + 1 < 2 * n) buffer.uses.push_back(op + 1);
    if (op < n - 1) buffer.uses.push_back(2 * n - 1 - op);
    problem.successors[static_cast<size_t>(op)] = buffer.uses;
    problem.buffers.push_back(buffer);
  }
  return problem;
}

PeerOptions Options(const Problem& problem, int64_t budget, double rate = 0) {
  PeerOptions options;
  options.budget_bytes = budget;
  options.machine = {rate, rate};
  options.order = PeerOrder(problem, false);
  return options;
}

int64_t KeepAllPeak(const Problem& problem) {
  return PeakOf(problem, PlanKeepAll(problem, Options(problem, 0)));
}

class EveryPeer : public ::testing::TestWithParam<size_t> {
 protected:
  const PeerEntry& peer() const { return PeerCatalog()[GetParam()]; }
};

TEST_P(EveryPeer, GivesLegalPlans) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Problem problem = RandomProblem(seed, 16);
    for (size_t op = 0; op < problem.ops.size(); op += 1 + seed % 3) {
      problem.ops[op].repeatable = problem.ops[op].on_device;
    }
    for (ProblemBuffer& buffer : problem.buffers) {
      buffer.recomputable = problem.ops[static_cast<size_t>(buffer.producer)].repeatable;
    }
    const int64_t peak = KeepAllPeak(problem);
    for (int64_t budget : {peak / 3, peak / 2, peak - 1, peak}) {
      const Plan plan = peer().plan(problem, Options(problem, budget, 2));
      EXPECT_EQ(CheckPlan(problem, plan), "") << "seed " << seed << " budget " << budget;
    }
  }
}

TEST_P(EveryPeer, LowersThePeakOfATrainingStep) {
  Problem problem = Mirror(16);
  for (ProblemBuffer& buffer : problem.buffers) buffer.size_bytes *= 1000;  // none is small
  for (size_t op = 2; op < 8; ++op) problem.ops[op].time_us = 100;          // "convolutions"
  const int64_t peak = KeepAllPeak(problem);
  EXPECT_EQ(peak, 161000);  // all 16 forward results, and the first backward one
  const Plan plan = peer().plan(problem, Options(problem, 100000, 100000));
  EXPECT_EQ(CheckPlan(problem, plan), "");
  if (peer().name == "keep-all") return;
  EXPECT_LT(PeakOf(problem, plan), peak);
  EXPECT_GT(plan.swaps.size() + plan.clones.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Peers, EveryPeer, ::testing::Range(size_t{0}, PeerCatalog().size()),
                         [](const auto& test_info) {
                           std::string name(PeerCatalog()[test_info.param].name);
                           std::erase(name, '-');
                           return name;
                         });

// The buffers of a plan's swaps, in order.
std::vector<BufferId> Swapped(const Plan& plan) {
  std::vector<BufferId> ids;
  for (const SwapGap& swap : plan.swaps) ids.push_back(swap.buffer);
  return ids;
}

TEST(Peers, TheTurnIsBehindTheLastForwardOp) {
  EXPECT_EQ(FindTurn(Mirror(3), Options(Mirror(3), 0).order), 3);
  EXPECT_EQ(FindTurn(Mirror(8), Options(Mirror(8), 0).order), 8);
}

TEST(Peers, SwapAllTakesGapsOverFour) {
  // Gaps of n = 5: of buffer b from op b + 1 to op 9 - b: 8 - 2b.
  const Plan plan = PlanSwapAll(Mirror(5), Options(Mirror(5), 0));
  EXPECT_EQ(Swapped(plan), (std::vector<BufferId>{0, 1}));
  EXPECT_EQ(plan.swaps[0], (SwapGap{0, 1, 9, 8, 2}));
}

TEST(Peers, BeladyEvictsTheFurthestNextUse) {
  // Room for 3 of 4 forward results; buffer 0 is needed last, so it leaves when op 3 needs room.
  const Plan plan = PlanBelady(Mirror(4), Options(Mirror(4), 31));
  ASSERT_EQ(Swapped(plan), (std::vector<BufferId>{0}));
  EXPECT_EQ(plan.swaps[0].sync, 3);
  EXPECT_EQ(PeakOf(Mirror(4), plan), 31);
}

TEST(Peers, GrapplerTakesTheFurthestFromThePeak) {
  Problem problem = Mirror(4);
  for (ProblemBuffer& buffer : problem.buffers) buffer.size_bytes *= 1000;
  // 41,000 at the peak; one buffer of 10,000 saves enough: the first made and last used.
  const Plan plan = PlanGrappler(problem, Options(problem, 35000));
  EXPECT_EQ(Swapped(plan), (std::vector<BufferId>{0}));
}

TEST(Peers, GrapplerLeavesSmallBuffers) {
  EXPECT_TRUE(PlanGrappler(Mirror(4), Options(Mirror(4), 20)).swaps.empty());
}

TEST(Peers, VdnnOffloadsWhatForwardLayersRead) {
  // Of n = 4: 0, 1, 2 cross the turn (op 3); 2 has the gap 3 -> 5, too short to be away but for
  // one op. The copy in of 0, for op 7, starts when op 6, the layer before, starts.
  const Plan plan = PlanVdnnAll(Mirror(4), Options(Mirror(4), 0));
  EXPECT_EQ(Swapped(plan), (std::vector<BufferId>{0, 1, 2}));
  EXPECT_EQ(plan.swaps[0], (SwapGap{0, 1, 7, 5, 2}));
}

TEST(Peers, VdnnConvOffloadsInputsOfConvolutionsOnly) {
  PeerOptions options = Options(Mirror(4), 0);
  options.layers.assign(8, false);
  options.layers[2] = true;  // reads buffer 1
  EXPECT_EQ(Swapped(PlanVdnnConv(Mirror(4), options)), (std::vector<BufferId>{1}));
}

TEST(Peers, CapuchinSwapsWhatHidesAndRecomputesWhatDoesNot) {
  const Problem problem = Mirror(8);
  // 10 bytes a copy. With 10 bytes/us everything hides: swaps only.
  const Plan swaps = PlanCapuchin(problem, Options(problem, 60, 10));
  EXPECT_FALSE(swaps.swaps.empty());
  EXPECT_TRUE(swaps.clones.empty());
  // 1,000 us a copy, 10 us an op: nothing hides, recompute only.
  const Plan clones = PlanCapuchin(problem, Options(problem, 60, 0.01));
  EXPECT_TRUE(clones.swaps.empty());
  EXPECT_FALSE(clones.clones.empty());
}

TEST(Peers, ChenRunsEachSegmentOnceMore) {
  // n = 9: checkpoints at every third op, 2, 5, 8. Segments {0, 1}, {3, 4}, {6, 7} run again, each
  // from the checkpoint before it, when the first of it is read.
  const Plan plan = PlanChenSqrt(Mirror(9), Options(Mirror(9), 0));
  EXPECT_EQ(plan.clones, (std::vector<OpId>{6, 7, 3, 4, 0, 1}));
  EXPECT_EQ(CheckPlan(Mirror(9), plan), "");
  // At op 10, which reads 7: checkpoints 2 and 5 and the segment 6, 7, what op 9 made, its own.
  EXPECT_EQ(PeakOf(Mirror(9), plan), 42);
}

TEST(Peers, TflmsV2TunesTheLargestThresholdThatFits) {
  // 0.9 of the budget is 51. Each forward result that is away at the peak (81) saves 10: three.
  // Distances from producer to use are 15 - 2b: threshold 10 swaps 0, 1 and 2.
  const Problem problem = Mirror(8);
  const Plan plan = PlanTflmsV2(problem, Options(problem, 57));
  EXPECT_EQ(Swapped(plan), (std::vector<BufferId>{0, 1, 2}));
}

TEST(Peers, DtrIsWhatTheSimulatorSays) {
  for (OpId n : {4, 8, 20, 40}) {
    const Problem problem = Mirror(n);
    for (int64_t budget : {int64_t{45}, 5 * int64_t{n}, 10 * int64_t{n}}) {
      const DtrRun run = RunDtr(problem, Options(problem, budget));
      EXPECT_EQ(CheckPlan(problem, run.plan), "");
      EXPECT_EQ(run.time_us, SimulateExpanded(problem, run.plan, {}).time_us);
      EXPECT_LE(PeakOf(problem, run.plan), run.peak_bytes);
      EXPECT_EQ(run.fits, run.peak_bytes <= budget);
    }
  }
}

TEST(Peers, DtrDoesNothingWithRoom) {
  const DtrRun run = RunDtr(Mirror(8), Options(Mirror(8), 1000));
  EXPECT_TRUE(run.plan.clones.empty());
  EXPECT_EQ(run.time_us, 160);
}

TEST(Peers, DtrDropsTheStalestOfEquals) {
  // Room for 3: before op 3, buffer 0 was read 10 us before buffer 1; 2 is op 3's input.
  const DtrRun run = RunDtr(Mirror(4), Options(Mirror(4), 32));
  ASSERT_FALSE(run.plan.clones.empty());
  EXPECT_EQ(run.plan.clones.front(), 0);
  EXPECT_TRUE(run.fits);
}

TEST(Peers, ProblemsAreReadFromJson) {
  const Result<PeerInput> input = InputFromJson(
      R"({"persistent_bytes": 7, "ops": [{"time_us": 1, "repeatable": true}, {"time_us": 2}],
          "buffers": [{"size_bytes": 8, "producer": 0, "uses": [1], "swappable": true}]})");
  ASSERT_TRUE(input.ok()) << input.status().ToString();
  EXPECT_EQ(input->problem.persistent_bytes, 7);
  EXPECT_EQ(input->problem.successors, (std::vector<std::vector<OpId>>{{1}, {}}));
  EXPECT_TRUE(input->problem.ops[0].repeatable);
  EXPECT_TRUE(input->problem.buffers[0].swappable);
}

TEST(Peers, FaultyProblemsAreRefused) {
  for (const char* text : {"[]", "{", R"({"ops": [{"time_us": 0}], "buffers": []})",
                           R"({"ops": [{"time_us": 1}],
                               "buffers": [{"size_bytes": 1, "producer": 0, "uses": [3]}]})",
                           R"({"ops": [], "buffers": [{"size_bytes": 1, "producer": 0,
                               "uses": []}]})"}) {
    EXPECT_FALSE(InputFromJson(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tflms
