// SPDX-License-Identifier: Apache-2.0
//
// The ledger of a plan in the making: the plan that comes of it needs no more memory than the
// ledger says, and hardly less, and a transaction that is rolled back leaves no trace.

#include "src/planners/ledger.h"

#include <gtest/gtest.h>

#include <random>

#include "src/planners/assemble.h"
#include "src/planners/order.h"
#include "src/sim/clones.h"
#include "src/sim/simulator.h"
#include "tests/core/random_problem.h"

namespace tflms {
namespace {

// All ops may run again.
Problem Repeatable(Problem problem) {
  for (ProblemOp& op : problem.ops) op.repeatable = op.on_device;
  for (ProblemBuffer& buffer : problem.buffers) buffer.recomputable = !buffer.live_at_end;
  return problem;
}

// x -> a -> b -> c -> y, and y reads a again; 10 bytes each.
Problem Chain() {
  Problem problem;
  for (OpId op = 0; op < 5; ++op) {
    problem.ops.push_back({});
    problem.buffers.push_back({10, op, {}, false, true, false, {}, {}});
    if (op > 0) problem.buffers[static_cast<size_t>(op) - 1].uses.push_back(op);
  }
  problem.buffers[1].uses.push_back(4);
  problem.successors = {{1}, {2, 4}, {3}, {4}, {}};
  return Repeatable(std::move(problem));
}

using Bytes = std::vector<int64_t>;

TEST(Ledger, CountsWhatTheOrderHolds) {
  const Problem problem = Chain();
  const Ledger ledger(problem, {0, 1, 2, 3, 4});
  EXPECT_EQ(ledger.memory(), (Bytes{10, 20, 20, 30, 30}));
  EXPECT_EQ(ledger.PeakBytes(), 30);
  EXPECT_EQ(ledger.WorkingSet(4), 30);
  EXPECT_EQ(ledger.WorkingSet(2), 20);
}

TEST(Ledger, ASwapTakesItsWindowAway) {
  const Problem problem = Chain();
  Ledger ledger(problem, {0, 1, 2, 3, 4});
  ledger.Begin();
  ledger.SwapAway(1, OpKey(2), {3, 3});
  EXPECT_EQ(ledger.ExcessLowered(Bytes(5, 20)), 10);
  EXPECT_EQ(ledger.ExcessLowered(Bytes(5, 25)), 5);
  // Limits are by position: where there is room, nothing is won.
  EXPECT_EQ(ledger.ExcessLowered({20, 20, 20, 30, 20}), 0);
  ledger.Commit();
  EXPECT_EQ(ledger.memory(), (Bytes{10, 20, 20, 20, 30}));
  ledger.Begin();
  ledger.EndSwap(1, OpKey(2));
  EXPECT_EQ(ledger.ExcessLowered(Bytes(5, 20)), -10 * kRaised);
  ledger.Rollback();
  EXPECT_EQ(ledger.memory(), (Bytes{10, 20, 20, 20, 30}));
}

TEST(Ledger, ARecomputationRunsTheChainThatIsGone) {
  const Problem problem = Chain();
  Ledger ledger(problem, {0, 1, 2, 3, 4});
  ledger.Begin();
  int64_t time_us = 0;
  ASSERT_TRUE(ledger.Recompute(1, OpKey(2), &time_us));
  // `a` needs `x`, which is gone by then and runs again too.
  EXPECT_EQ(time_us, 2);
  ledger.Commit();
  EXPECT_EQ(ledger.slots(0), (std::vector<Key>{SlotKey(4)}));
  EXPECT_EQ(ledger.slots(1), (std::vector<Key>{SlotKey(4)}));
  EXPECT_EQ(ledger.memory(), (Bytes{10, 20, 20, 20, 30}));
}

TEST(Ledger, WhatMayNotRunAgainDoesNot) {
  Problem problem = Chain();
  problem.ops[0].repeatable = false;
  problem.buffers[0].recomputable = false;
  Ledger ledger(problem, {0, 1, 2, 3, 4});
  ledger.Begin();
  int64_t time_us = 0;
  // The source of the chain is kept until then.
  ASSERT_TRUE(ledger.Recompute(1, OpKey(2), &time_us));
  EXPECT_EQ(time_us, 1);
  ledger.Rollback();
  problem.ops[1].repeatable = false;
  Ledger other(problem, {0, 1, 2, 3, 4});
  other.Begin();
  EXPECT_FALSE(other.Recompute(1, OpKey(2), &time_us));
  other.Rollback();
}

TEST(Ledger, ACloneStaysBeforeWhoWritesItsState) {
  Problem problem = Chain();
  problem.writes_after_reads = {{1, 3}};  // op 3 writes what op 1 reads
  Ledger ledger(problem, {0, 1, 2, 3, 4});
  ledger.Begin();
  int64_t time_us = 0;
  EXPECT_FALSE(ledger.Recompute(1, OpKey(2), &time_us));
  ledger.Rollback();
  EXPECT_TRUE(ledger.slots(1).empty());
  EXPECT_TRUE(ledger.slots(0).empty());
}

// Random choices on random problems.
class RandomChoices : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomChoices, PlansNeedNoMoreThanTheLedgerSays) {
  std::mt19937 random(GetParam());
  const Problem problem = Repeatable(RandomProblem(GetParam(), 24));
  const std::vector<OpId> order = MakeOrder(problem, OrderPolicy::kDepthFirst);
  Ledger ledger(problem, order);
  for (int change = 0; change < 12; ++change) {
    const auto id = static_cast<BufferId>(random() % problem.buffers.size());
    const std::vector<Access>& accesses = ledger.buffer(id).first.accesses;
    if (accesses.size() < 2) continue;
    const Key leave = accesses[random() % (accesses.size() - 1)].key;
    const std::vector<int64_t> before = ledger.memory();
    int64_t time_us = 0;
    ledger.Begin();
    const bool made = ledger.Recompute(id, leave, &time_us);
    EXPECT_GE(time_us, 0);
    if (made && random() % 2 == 0) {
      ledger.Commit();
    } else {
      ledger.Rollback();
      EXPECT_EQ(ledger.memory(), before);
    }
  }
  const Plan plan = Assemble(ledger);
  ASSERT_EQ(CheckPlan(problem, plan), "");
  const MemoryView view = PlannedMemory(Expand(problem, plan).problem, plan);
  // Reads that move to a clone can make room for an op to take over the memory that it reads: the
  // ledger does not count on that.
  EXPECT_LE(view.peak_bytes, ledger.PeakBytes());
  EXPECT_GE(view.peak_bytes * 10, ledger.PeakBytes() * 9);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomChoices, testing::Range(0u, 200u));

}  // namespace
}  // namespace tflms
