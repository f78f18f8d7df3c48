// SPDX-License-Identifier: Apache-2.0
//
// Plans with one decision changed: by hand on a small step, and on random problems that every plan
// is legal, does what was asked and nothing else.

#include "src/rewrite/explain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/planners/order.h"
#include "src/planners/planner.h"
#include "src/rewrite/curve.h"
#include "src/sim/clones.h"
#include "tests/core/random_graph.h"
#include "tests/core/random_problem.h"

namespace tflms {
namespace {

// a (8 bytes, 2 us) is read by b and, after c, by g: 8 + 8 + 2 bytes while b runs and c waits.
//   a: 2 us, 8 bytes; b: 8 us, 8 bytes; c: 4 us, 2 bytes; g: 2 us, 2 bytes
Problem SmallStep() {
  Problem problem;
  problem.ops.resize(4);
  const int64_t times[] = {2, 8, 4, 2};
  for (size_t op = 0; op < 4; ++op) {
    problem.ops[op].time_us = times[op];
    problem.ops[op].repeatable = true;
  }
  problem.buffers.resize(4);
  const int64_t sizes[] = {8, 8, 2, 2};
  for (size_t id = 0; id < 4; ++id) {
    problem.buffers[id].size_bytes = sizes[id];
    problem.buffers[id].producer = static_cast<OpId>(id);
    problem.buffers[id].swappable = problem.buffers[id].recomputable = true;
  }
  problem.buffers[0].uses = {1, 3};
  problem.buffers[1].uses = {2};
  problem.buffers[2].uses = {3};
  problem.successors = {{1, 3}, {2}, {3}, {}};
  return problem;
}

constexpr Machine kUnit = {1, 1};

TEST(Explain, FiguresByHand) {
  const Problem problem = SmallStep();
  const Plan plain{{0, 1, 2, 3}, true, {}};
  const PlanFigures figures = FiguresOf(problem, plain, kUnit);
  EXPECT_EQ(figures.peak_bytes, 18);  // a, b and c while c runs
  EXPECT_EQ(figures.time_us, 16);
  EXPECT_EQ(figures.bottleneck, 2);
  EXPECT_FALSE(figures.bottleneck_waits);
}

// Kept: 18 bytes, 16 us. Swapped from b to g: out until 10, back in 8 us behind c at 14: g waits
// until 22. Recomputed before g: 2 us more, and g needs a again beside c.
TEST(Explain, TheChoicesByHand) {
  const Problem problem = SmallStep();
  const Plan plain{{0, 1, 2, 3}, true, {}};
  const TensorExplanation told = ExplainTensor(problem, plain, 0, kUnit, 0);
  EXPECT_EQ(told.fate, Fate::kKept);
  ASSERT_EQ(told.others.size(), 2u);
  const Alternative &first = told.others[0], &second = told.others[1];
  EXPECT_EQ(first.fate, Fate::kRecomputed);
  EXPECT_TRUE(first.possible) << first.why_not;
  EXPECT_EQ(first.figures.time_us, 18);
  EXPECT_EQ(first.figures.recompute_us, 2);
  EXPECT_EQ(first.figures.peak_bytes, 16);  // a and b
  EXPECT_EQ(first.gap.leave_after, 1);
  EXPECT_EQ(first.gap.back_for, 3);
  EXPECT_EQ(second.fate, Fate::kSwapped);
  EXPECT_TRUE(second.possible) << second.why_not;
  EXPECT_EQ(second.figures.out_bytes, 8);
  EXPECT_GT(second.figures.time_us, 16);
  EXPECT_TRUE(second.figures.bottleneck_waits);
  EXPECT_EQ(second.figures.bottleneck, 3);
}

TEST(Explain, ABudgetThatIsMissedComesLast) {
  const Problem problem = SmallStep();
  const Plan plain{{0, 1, 2, 3}, true, {}};
  const Result<Plan> recomputed = RecomputeTensor(problem, plain, 0, {1, 3});
  ASSERT_TRUE(recomputed.ok()) << recomputed.status().message();
  const TensorExplanation told = ExplainTensor(problem, *recomputed, 0, kUnit, 16);
  EXPECT_EQ(told.fate, Fate::kRecomputed);
  // To keep it is faster, but does not fit.
  EXPECT_EQ(told.others[1].fate, Fate::kKept);
  EXPECT_FALSE(told.others[1].fits);
  EXPECT_LT(told.others[1].figures.time_us, told.others[0].figures.time_us);
}

TEST(Explain, WhatCannotBeSaysWhy) {
  Problem problem = SmallStep();
  problem.buffers[0].recomputable = false;
  problem.buffers[0].swappable = false;
  const TensorExplanation told = ExplainTensor(problem, {{0, 1, 2, 3}, true, {}}, 0, kUnit, 0);
  for (const Alternative& choice : told.others) {
    EXPECT_FALSE(choice.possible);
    EXPECT_NE(choice.why_not, "");
  }
}

// A clone in the middle of a swap of what it reads: the swap ends there.
TEST(Decisions, ASwapThatACloneFallsIntoEndsThere) {
  // x -> a; x is read again at the very end, a by the op before.
  Problem problem;
  problem.ops.resize(6);
  for (ProblemOp& op : problem.ops) op.repeatable = true;
  problem.buffers.resize(2);
  problem.buffers[0] = {8, 0, {1, 5}, false, true, true, {}, {}};
  problem.buffers[1] = {8, 1, {2, 4}, false, true, true, {}, {}};
  problem.successors = {{1, 5}, {2, 4}, {3}, {4}, {5}, {}};
  const Plan swapped{{0, 1, 2, 3, 4, 5}, true, {{0, 1, 5, 4, 2}}};
  ASSERT_EQ(CheckPlan(problem, swapped), "");
  const Result<Plan> plan = RecomputeTensor(problem, swapped, 1, {2, 4});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const OpId clone = 6;
  EXPECT_EQ(plan->order, (std::vector<OpId>{0, 1, 2, 3, clone, 4, 5}));
  ASSERT_EQ(plan->swaps.size(), 1u);
  EXPECT_EQ(plan->swaps[0], (SwapGap{0, 1, clone, 3, 2}));
  // Taken back, the swap is as long as it was, but for its trigger.
  const Result<Plan> kept = KeepTensor(problem, *plan, 1);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_TRUE(kept->clones.empty());
  EXPECT_EQ(kept->swaps, (std::vector<SwapGap>{{0, 1, 5, 3, 2}}));
}

TEST(Decisions, OnRandomProblemsEveryChangeIsLegalAndAlone) {
  int swaps = 0, clones = 0, chains = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Problem problem = RandomProblem(seed, 16);
    Random random(seed);
    for (ProblemOp& op : problem.ops) op.repeatable = op.on_device && random.Percent(80);
    for (ProblemBuffer& buffer : problem.buffers) {
      buffer.recomputable = problem.ops[static_cast<size_t>(buffer.producer)].repeatable;
    }
    Plan plan{MakeOrder(problem, OrderPolicy::kReadyFirst), true, {}};
    // Changes on top of one another: swaps of what clones read, clones that read clones.
    for (int round = 0; round < 12; ++round) {
      const BufferId id = random.Below(static_cast<int32_t>(problem.buffers.size()));
      const Result<Plan> kept = KeepTensor(problem, plan, id);
      ASSERT_TRUE(kept.ok()) << seed << ": " << kept.status().message();
      ASSERT_EQ(FateOf(*kept, id), Fate::kKept);
      const std::vector<AccessGap> gaps = GapsOf(problem, *kept, id);
      if (gaps.empty()) continue;
      const AccessGap gap = random.Pick(gaps);
      const bool swap = random.Percent(50);
      const Result<Plan> changed = swap ? SwapTensor(problem, *kept, id, gap, kUnit)
                                        : RecomputeTensor(problem, *kept, id, gap);
      if (!changed.ok()) continue;
      ASSERT_EQ(CheckPlan(problem, *changed), "") << seed;
      ASSERT_EQ(FateOf(*changed, id), swap ? Fate::kSwapped : Fate::kRecomputed);
      const Result<Plan> back = KeepTensor(problem, *changed, id);
      ASSERT_TRUE(back.ok()) << seed << ": " << back.status().message();
      if (swap) {
        EXPECT_EQ(*back, *kept) << seed;
      } else {
        EXPECT_EQ(back->order, kept->order) << seed;
        EXPECT_EQ(back->clones, kept->clones) << seed;
      }
      swaps += swap;
      clones += !swap;
      chains += std::any_of(changed->clone_reads.begin(), changed->clone_reads.end(),
                            [&](const CloneRead& read) {
                              return static_cast<size_t>(read.reader) >= problem.ops.size();
                            });
      plan = *changed;
    }
  }
  EXPECT_GT(swaps, 100);
  EXPECT_GT(clones, 100);
  EXPECT_GT(chains, 20);
}

TEST(Curve, MoreMemoryMeansFewerCopies) {
  const Problem problem = TrainingProblem(12, 32000, 3200);
  Options options;
  options.min_swap_bytes = 0;
  options.safety = 1;
  const Machine link = {20000, 20000};
  int64_t bytes = -1;
  for (int64_t budget : BudgetsBetween(160000, 480000, 5)) {
    const Result<CurvePoint> point = PlanForBudget(problem, options, link, budget);
    ASSERT_TRUE(point.ok()) << point.status().message();
    EXPECT_EQ(point->budget_bytes, budget);
    EXPECT_TRUE(bytes < 0 || point->figures.in_bytes <= bytes) << budget;
    bytes = point->figures.in_bytes;
    EXPECT_TRUE(!point->fits || point->figures.peak_bytes <= budget);
  }
  EXPECT_EQ(bytes, 0) << "all of it fits the last one";
}

TEST(Curve, Budgets) {
  EXPECT_EQ(BudgetsBetween(10, 20, 2), (std::vector<int64_t>{10, 20}));
  EXPECT_EQ(BudgetsBetween(10, 21, 3), (std::vector<int64_t>{10, 15, 21}));
  EXPECT_EQ(BudgetsBetween(7, 7, 5), (std::vector<int64_t>{7}));
}

}  // namespace
}  // namespace tflms
