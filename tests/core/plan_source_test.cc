// SPDX-License-Identifier: Apache-2.0
//
// Where the pipeline takes its plans from: a file, a store, a planner.

#include "src/rewrite/plan_source.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <optional>

#include "tests/core/plan_file_helpers.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

TEST(PlanSource, APlanOfAFileIsUsedAndAnotherIsRefusedWithAReason) {
  const std::string path = ::testing::TempDir() + "/tflms-plan-file-test.json";
  const Options options = Budget();
  Graph planned = Network();
  const Result<std::vector<Report>> first = Rewrite(options, "g", &planned);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->front().plan_source, "planner");
  std::ofstream(path) << PlanFileOf({first->front().plan_file});
  Options with_file = options;
  with_file.plan = path;
  with_file.n_tensors = 0;  // a planner could do nothing with this
  Graph again = Network();
  const Result<std::vector<Report>> second = Rewrite(with_file, "g", &again);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->front().plan_source, "file");
  EXPECT_EQ(PrintGraph(again), PrintGraph(planned));
  // Another edge: the plan says nothing against it, and holds.
  Graph other = Network("Layer(f2)", "Layer(f2, ^f0)");
  const Result<std::vector<Report>> near = Rewrite(with_file, "g", &other);
  ASSERT_TRUE(near.ok());
  EXPECT_EQ(near->front().plan_source, "file");
  EXPECT_NE(near->front().notes.at(0).find("holds here too"), std::string::npos);
  // Another size: it is planned anew, and the report says why.
  with_file.n_tensors = -1;
  Graph larger = Network("f3 = Layer(f2) : f32[262144]", "f3 = Layer(f2) : f32[262145]");
  const Result<std::vector<Report>> refused = Rewrite(with_file, "g", &larger);
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->front().plan_source, "planner");
  EXPECT_NE(refused->front().plan_refused.find("tensor `f3:0`"), std::string::npos);
  with_file.plan = path + ".not-there";
  Graph third = Network();
  const Result<std::vector<Report>> missing = Rewrite(with_file, "g", &third);
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(missing->front().plan_source, "planner");
  EXPECT_EQ(missing->front().plan_refused, with_file.plan + ": cannot be read");
  EXPECT_EQ(PrintGraph(third), PrintGraph(planned));
}

// A store in memory that counts.
class MemoryStore : public PlanStore {
 public:
  std::optional<std::string> Lookup(const std::string& key) override {
    ++lookups;
    const auto found = plans.find(key);
    if (found == plans.end()) return std::nullopt;
    return found->second;
  }
  void Store(const std::string& key, const std::string& plan) override { plans[key] = plan; }
  std::map<std::string, std::string> plans;
  int lookups = 0;
};

TEST(PlanSource, TheStoreIsAskedFirstAndGivesTheSameGraph) {
  MemoryStore store;
  Graph planned = Network(), found = Network();
  const auto first = Rewrite(Budget(), "g", &planned, &store);
  const auto second = Rewrite(Budget(), "g", &found, &store);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->front().plan_source, "planner");
  EXPECT_EQ(second->front().plan_source, "cache");
  EXPECT_EQ(store.plans.size(), 1u);
  EXPECT_EQ(PrintGraph(found), PrintGraph(planned));
  EXPECT_EQ(second->front().peak_bytes_after, first->front().peak_bytes_after);
  Options other = Budget();
  other.budget_bytes -= 1 << 19;
  Graph third = Network();
  ASSERT_TRUE(Rewrite(other, "g", &third, &store).ok());
  EXPECT_EQ(store.plans.size(), 2u) << "another budget, another plan";
}

TEST(PlanSource, WhatAStoreDamagesIsPlannedAnew) {
  MemoryStore store;
  Graph planned = Network();
  ASSERT_TRUE(Rewrite(Budget(), "g", &planned, &store).ok());
  const std::string good = store.plans.begin()->second;
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() / 2),
        std::string("{\"format\": 1, \"plans\": []}"),
        PlanFileOf({PlanToFileJson(NetworkPlan()), PlanToFileJson(NetworkPlan())})}) {
    store.plans.begin()->second = bad;
    Graph graph = Network();
    const auto reports = Rewrite(Budget(), "g", &graph, &store);
    ASSERT_TRUE(reports.ok());
    EXPECT_EQ(reports->front().plan_source, "planner");
    EXPECT_EQ(PrintGraph(graph), PrintGraph(planned));
    EXPECT_EQ(store.plans.begin()->second, good) << "and put right";
  }
}

TEST(PlanSource, PlansThatDoNothingAreNotStored) {
  MemoryStore store;
  Options large = Budget();
  large.budget_bytes = 1 << 30;
  Graph graph = Network();
  ASSERT_TRUE(Rewrite(large, "g", &graph, &store).ok());
  EXPECT_EQ(store.lookups, 1);
  EXPECT_TRUE(store.plans.empty());
}

TEST(PlanSource, APlanFoundBehindTheDeadlineIsNotStored) {
  MemoryStore store;
  const PlanCase c = CaseOf(Network());
  PlannerOptions late = PlannerOptionsOf(Budget(), Machine());
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  Report report;
  ASSERT_TRUE(FindPlan(c.subject(), Budget(), late, &store, &report).ok());
  EXPECT_TRUE(store.plans.empty());
  late.deadline = std::chrono::steady_clock::time_point::max();
  ASSERT_TRUE(FindPlan(c.subject(), Budget(), late, &store, &report).ok());
  EXPECT_EQ(store.plans.size(), 1u);
}

}  // namespace
}  // namespace tflms
