// SPDX-License-Identifier: Apache-2.0
//
// Plans under a limit on host memory.

#include "src/planners/host_room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "src/planners/order.h"
#include "src/planners/planner.h"
#include "src/sim/clones.h"
#include "src/sim/simulator.h"
#include "tests/core/plan_file_helpers.h"
#include "tests/core/random_problem.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

MemoryView MemoryOf(const Problem& problem, const Plan& plan) {
  return PlannedMemory(Expand(problem, plan).problem, plan);
}

// Everything that can be swapped is.
Plan SwapAll(const Problem& problem) {
  PlannerOptions options;
  options.swapout_threshold = 0;
  const Result<Plan> plan = FindPlanner("level-distance")->plan(problem, options);
  EXPECT_TRUE(plan.ok());
  return plan.ok() ? *plan : Plan();
}

TEST(HostRoom, KeepsToTheLimitAndDropsNothingThatHasRoom) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Problem problem = RandomProblem(seed, 24);
    const Plan all = SwapAll(problem);
    const int64_t most = MemoryOf(problem, all).host_peak_bytes;
    for (int64_t limit = 1; limit <= most + 1; limit += 3) {
      Plan plan = all;
      const bool dropped = KeepToHostRoom(problem, limit, &plan);
      EXPECT_EQ(dropped, plan.swaps != all.swaps);
      EXPECT_EQ(dropped, limit < most) << "seed " << seed << " limit " << limit;
      EXPECT_LE(MemoryOf(problem, plan).host_peak_bytes, limit);
      EXPECT_EQ(CheckPlan(problem, plan), "");
      // None of the dropped buffers has room beside those that are left.
      for (const SwapGap& gap : all.swaps) {
        Plan more = plan;
        for (const SwapGap& other : all.swaps) {
          if (other.buffer == gap.buffer) more.swaps.push_back(other);
        }
        const bool kept = std::any_of(plan.swaps.begin(), plan.swaps.end(), [&](const auto& other) {
          return other.buffer == gap.buffer;
        });
        if (!kept) {
          EXPECT_GT(MemoryOf(problem, more).host_peak_bytes, limit);
        }
      }
    }
  }
}

TEST(HostRoom, WithoutALimitNothingIsDropped) {
  const Problem problem = TrainingProblem(12, 4096, 4096);
  Plan plan = SwapAll(problem);
  const Plan before = plan;
  ASSERT_FALSE(plan.swaps.empty());
  EXPECT_FALSE(KeepToHostRoom(problem, 0, &plan));
  EXPECT_EQ(plan, before);
}

// Limits far below, near and above what each planner would take.
TEST(HostRoom, EveryPlannerKeepsToTheLimit) {
  for (const PlannerEntry& planner : PlannerCatalog()) {
    const Problem problem = TrainingProblem(24, 4096, 4096);
    const int64_t plain =
        MemoryOf(problem, {MakeOrder(problem, OrderPolicy::kReadyFirst), false, {}}).peak_bytes;
    for (int64_t budget : {int64_t{0}, int64_t{10 * 4096}, int64_t{16 * 4096}}) {
      for (int64_t host : {int64_t{1}, int64_t{4096}, int64_t{9000}, int64_t{10 * 4096}}) {
        PlannerOptions options;
        options.budget_bytes = budget;
        options.host_bytes = host;
        options.machine = {512, 512};
        const Result<Plan> plan = planner.plan(problem, options);
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(CheckPlan(problem, *plan), "");
        const MemoryView memory = MemoryOf(problem, *plan);
        EXPECT_LE(memory.host_peak_bytes, host) << planner.name << " budget " << budget;
        EXPECT_LE(memory.peak_bytes, plain);
      }
    }
  }
}

TEST(HostRoom, APlanOfAFileThatNeedsMoreIsRefused) {
  const std::string path = ::testing::TempDir() + "/tflms-host-room-test.json";
  Options options = Budget();
  options.recompute = "never";
  Graph graph = Network();
  const Result<std::vector<Report>> first = Rewrite(options, "g", &graph);
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first->front().outcome, Outcome::kRewritten);
  const int64_t needed = first->front().host_peak_bytes;
  ASSERT_GT(needed, 0);
  std::ofstream(path) << PlanFileOf({first->front().plan_file});
  options.plan = path;
  for (const int64_t host : {needed, needed - 1}) {
    options.host_budget_bytes = host;
    Graph again = Network();
    const Result<std::vector<Report>> reports = Rewrite(options, "g", &again);
    ASSERT_TRUE(reports.ok());
    const Report& report = reports->front();
    if (host == needed) {
      EXPECT_EQ(report.plan_source, "file");
      continue;
    }
    EXPECT_EQ(report.plan_source, "planner");
    EXPECT_NE(report.plan_refused.find("host_budget_bytes"), std::string::npos)
        << report.plan_refused;
    EXPECT_LE(report.host_peak_bytes, host);
  }
}

TEST(HostRoom, AcceleratorsShareTheHost) {
  std::string text =
      "device gpu0 accelerator host=cpu\ndevice gpu1 accelerator host=cpu\ndevice cpu host\n";
  for (const std::string device : {"0", "1"}) {
    const auto layer = [&](const std::string& name, const std::string& reads) {
      text += name + device + " = Layer" + (reads.empty() ? "" : "(" + reads + ")") +
              " : f32[262144] t=5 @gpu" + device + "\n";
      return name + device;
    };
    std::vector<std::string> forward = {layer("f0", "")};
    for (const char* name : {"f1", "f2", "f3", "f4", "f5"}) {
      forward.push_back(layer(name, forward.back()));
    }
    std::string last = forward.back();
    for (size_t i = forward.size(); i-- > 0;) {
      last = layer("b" + std::to_string(i), last + ", " + forward[i]);
    }
  }
  Result<Graph> graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  Options options = Budget();
  options.recompute = "never";
  options.host_budget_bytes = 5 << 20;
  const Result<std::vector<Report>> reports = Rewrite(options, "g", &*graph);
  ASSERT_TRUE(reports.ok()) << reports.status().message();
  ASSERT_EQ(reports->size(), 2u);
  for (const Report& report : *reports) {
    EXPECT_EQ(report.host_budget_bytes, (5 << 20) / 2);
    EXPECT_LE(report.host_peak_bytes, (5 << 20) / 2);
  }
}

}  // namespace
}  // namespace tflms
