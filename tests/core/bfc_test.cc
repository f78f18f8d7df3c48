// SPDX-License-Identifier: Apache-2.0
//
// The allocator model: the rules one by one, and its invariants under random use.

#include "src/sim/bfc.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/core/random_problem.h"

namespace tflms {
namespace {

TEST(Bfc, RoundsTo256Bytes) {
  BfcModel model(1 << 20);
  EXPECT_EQ(model.OffsetOf(model.Allocate(1)), 0);
  EXPECT_EQ(model.OffsetOf(model.Allocate(257)), 256);
  EXPECT_EQ(model.in_use_bytes(), 256 + 512);
}

TEST(Bfc, SplitsOnlyFromTwiceTheRequest) {
  BfcModel model(1024);
  const BfcModel::ChunkId all = model.Allocate(768);  // 1024 < 2 * 768: all of it goes
  EXPECT_EQ(model.in_use_bytes(), 1024);
  model.Free(all);
  EXPECT_GE(model.Allocate(512), 0);  // 1024 >= 2 * 512: split
  EXPECT_EQ(model.in_use_bytes(), 512);
}

TEST(Bfc, SplitsALargeRestWhateverTheShare) {
  const int64_t mib = int64_t{1} << 20;
  BfcModel model(1000 * mib);
  model.Allocate(600 * mib);
  EXPECT_EQ(model.in_use_bytes(), 600 * mib);  // rest 400 MiB >= 128 MiB
}

TEST(Bfc, TakesTheSmallestChunkThatIsLargeEnough) {
  BfcModel model(8192);
  const BfcModel::ChunkId a = model.Allocate(1024), b = model.Allocate(256);
  const BfcModel::ChunkId c = model.Allocate(512), d = model.Allocate(256);
  const int64_t between = model.OffsetOf(c);
  model.Free(a);
  model.Free(c);
  EXPECT_EQ(model.OffsetOf(model.Allocate(512)), between);
  EXPECT_NE(model.OffsetOf(b), model.OffsetOf(d));
}

TEST(Bfc, JoinsFreeNeighbours) {
  BfcModel model(1024);
  const BfcModel::ChunkId a = model.Allocate(256), b = model.Allocate(256), c = model.Allocate(256);
  model.Free(a);
  model.Free(c);
  EXPECT_EQ(model.largest_free_bytes(), 512);
  EXPECT_EQ(model.Allocate(1024), -1);
  model.Free(b);
  EXPECT_EQ(model.largest_free_bytes(), 1024);
  EXPECT_EQ(model.OffsetOf(model.Allocate(1024)), 0);
}

TEST(Bfc, FreeingWhatIsNotAllocatedIsIgnored) {
  BfcModel model(1024);
  for (BfcModel::ChunkId id : {-1, 0, 77}) model.Free(id);
  const BfcModel::ChunkId a = model.Allocate(256), b = model.Allocate(256);
  model.Free(b);
  model.Free(b);
  EXPECT_EQ(model.in_use_bytes(), 256);
  model.Free(a);
  EXPECT_EQ(model.largest_free_bytes(), 1024);
}

TEST(Bfc, RandomUseNeverOverlapsAndComesBackWhole) {
  std::mt19937 random(7);
  const int64_t capacity = 1 << 20;
  BfcModel model(capacity);
  std::vector<std::pair<BfcModel::ChunkId, int64_t>> held;  // (chunk, asked)
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0 || held.empty()) {
      const int64_t size = 1 + static_cast<int64_t>(random() % 20000);
      const BfcModel::ChunkId chunk = model.Allocate(size);
      if (chunk < 0) continue;
      const int64_t at = model.OffsetOf(chunk);
      ASSERT_LE(at + size, capacity);
      for (const auto& [other, asked] : held) {
        const int64_t offset = model.OffsetOf(other);
        ASSERT_TRUE(at + size <= offset || offset + asked <= at);
      }
      held.emplace_back(chunk, size);
    } else {
      const size_t victim = random() % held.size();
      model.Free(held[victim].first);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
  for (const auto& [chunk, asked] : held) model.Free(chunk);
  EXPECT_EQ(model.in_use_bytes(), 0);
  EXPECT_EQ(model.largest_free_bytes(), capacity);
}

TEST(Bfc, ReplaySaysWhereItFails) {
  const Problem problem = TrainingProblem(4, 1024, 1024);
  std::vector<OpId> order;
  for (OpId op = 0; op < static_cast<OpId>(problem.ops.size()); ++op) order.push_back(op);
  const Plan plan{order, false, {}};
  EXPECT_TRUE(ReplayBfc(problem, plan, 64 * 1024, 3, 0).fits);
  const BfcReplayResult small = ReplayBfc(problem, plan, 3 * 1024, 1, 0);
  EXPECT_FALSE(small.fits);
  EXPECT_EQ(small.failed_position, 3);
  EXPECT_EQ(small.failed_bytes, 1024);
}

TEST(Bfc, FastCopiesFreeOneOperationAfterTheLastUse) {
  // Buffer 0 leaves after op 0 and is waited for by op 3: until there with slow copies, during op 1
  // with fast ones. Ops 1 and 2 make 1,024 bytes each, and op 2 works in 1,024 more.
  Problem problem;
  problem.ops.resize(5);
  problem.ops[2].workspace_bytes = 1024;
  problem.successors = {{1}, {2}, {3}, {4}, {}};
  for (OpId producer : {0, 1, 2}) {
    ProblemBuffer& buffer = problem.buffers.emplace_back();
    buffer.size_bytes = 1024;
    buffer.producer = producer;
    buffer.uses = {4};
    buffer.swappable = true;
  }
  const Plan plan{{0, 1, 2, 3, 4}, true, {{0, 0, 4, 3, 3}}};
  ASSERT_EQ(CheckPlan(problem, plan), "");
  EXPECT_EQ(ReplayBfc(problem, plan, 1 << 20, 1, 0).peak_bytes, 4 * 1024);
  EXPECT_EQ(ReplayBfc(problem, plan, 1 << 20, 1, kFastCopies).peak_bytes, 3 * 1024);
}

TEST(Bfc, VariablesInReplaysTakeNoMoreThanTheyAre) {
  // One chunk for all of them would be more than half of the region and swallow the rest.
  Problem problem;
  problem.ops.resize(2);
  problem.successors = {{1}, {}};
  problem.persistent_bytes = 60000;
  ProblemBuffer& buffer = problem.buffers.emplace_back();
  buffer.size_bytes = 20000;
  buffer.producer = 0;
  buffer.uses = {1};
  const Plan plan{{0, 1}, true, {}};
  const BfcReplayResult fits = ReplayBfc(problem, plan, 100000, 2, 0);
  EXPECT_TRUE(fits.fits);
  EXPECT_EQ(fits.peak_bytes, 235 * 256 + 155 * 256);  // the rest of the region is not split
  EXPECT_FALSE(ReplayBfc(problem, plan, 79000, 2, 0).fits);
  EXPECT_FALSE(ReplayBfc(problem, plan, 50000, 2, 0).fits);
}

TEST(Bfc, AWrittenVariableMovesInHalfOfTheRunsWithGaps) {
  // Op 0 writes the one variable. Its new value needs as much again before the old one goes.
  Problem problem;
  problem.ops.resize(1);
  problem.successors = {{}};
  problem.persistent_bytes = 1024;
  problem.persistent_sizes = {1024};
  problem.state_writes = {{0, 0}};
  const Plan plan{{0}, true, {}};
  // Room for one: the value is the variable, which has nowhere to go.
  for (uint32_t seed : {0u, 24u, 25u, kFastCopies}) {
    EXPECT_TRUE(ReplayBfc(problem, plan, 1024, 3, seed).fits) << seed;
  }
  for (uint32_t seed : {26u, 27u}) {
    const BfcReplayResult result = ReplayBfc(problem, plan, 1024, 3, seed);
    EXPECT_EQ(result.failed_position, 0) << seed;
    EXPECT_EQ(result.failed_bytes, 1024) << seed;
    EXPECT_TRUE(ReplayBfc(problem, plan, 2048, 3, seed).fits) << seed;
  }
}

}  // namespace
}  // namespace tflms
