// SPDX-License-Identifier: Apache-2.0
//
// One graph through the optimizer object, pass by pass, with TensorFlow played by the test.

#ifdef TFLMS_HAS_PLUGIN

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "src/tensorflow/plugin/instance.h"
#include "src/tensorflow/plugin/state.h"
#include "tests/core/plugin_fakes.h"

namespace tflms {
namespace {

constexpr int kDepth = 12;
constexpr int64_t kFloats = 262144;  // 1 MiB a tensor

// What came back from one pass.
struct Pass {
  int code = -1;
  std::string bytes;
};

class PluginInstance : public ::testing::Test {
 protected:
  PluginInstance() {
    // Buffers go back to the process's state, so the tests use that one.
    state().SetTfApi(fake::Api());
    state().ClearReports();
    Settings settings;
    settings.on = true;
    settings.options.budget_bytes = 7 << 20;
    settings.options.log_level = "silent";
    state().SetSettings(settings);
    graph_ = fake::Step(kDepth, kFloats, &item_);
  }
  ~PluginInstance() override { EXPECT_EQ(fake::live_objects(), 0); }

  static PluginState& state() { return GetState(); }

  Pass Optimize(GraphOptimizer* optimizer, const std::string& graph) const {
    const abi::Buffer in{graph.data(), graph.size(), nullptr};
    abi::Buffer out{};
    fake::TfStatus status;
    optimizer->Optimize(&in, item_.get(), &out, status.get());
    Pass pass{status.code, std::string(static_cast<const char*>(out.data), out.length)};
    if (out.data_deallocator != nullptr) {
      out.data_deallocator(const_cast<void*>(out.data), out.length);
    }
    return pass;
  }

  // The graph after two passes, as Grappler makes them; "" when it stayed as it was.
  std::string OptimizeTwice(const std::string& graph) const {
    GraphOptimizer optimizer(&GetState());
    Optimize(&optimizer, graph);
    const Pass second = Optimize(&optimizer, graph);
    optimizer.Finish();
    return second.code == abi::kOk ? second.bytes : "";
  }

  static nlohmann::json Reports() {
    return nlohmann::json::parse(GetState().ReportsJson()).at("reports");
  }

  fake::Item item_;
  std::string graph_;
};

TEST_F(PluginInstance, RewritesInTheSecondPass) {
  GraphOptimizer optimizer(&state());
  EXPECT_EQ(Optimize(&optimizer, graph_).code, abi::kAborted);
  EXPECT_TRUE(Reports().empty());
  const Pass second = Optimize(&optimizer, graph_);
  ASSERT_EQ(second.code, abi::kOk);
  EXPECT_NE(second.bytes, graph_);
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].at("outcome"), "rewritten");
  EXPECT_GT(Reports()[0].at("swapped_tensors"), 0);
  optimizer.Finish();
  EXPECT_FALSE(state().single_pass_seen());
}

TEST_F(PluginInstance, ARewrittenGraphStaysAsItIsAndKeepsItsReport) {
  const std::string rewritten = OptimizeTwice(graph_);
  ASSERT_NE(rewritten, "");
  EXPECT_EQ(OptimizeTwice(rewritten), "");
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].at("outcome"), "rewritten");
}

TEST_F(PluginInstance, SameGraphSameBytes) {
  EXPECT_EQ(OptimizeTwice(graph_), OptimizeTwice(graph_));
}

TEST_F(PluginInstance, OffLeavesEverythingAlone) {
  state().SetSettings(Settings());
  EXPECT_EQ(OptimizeTwice(graph_), "");
  EXPECT_TRUE(Reports().empty());
}

TEST_F(PluginInstance, AGraphThatFitsGetsNothing) {
  Settings settings;
  settings.on = true;
  settings.options.budget_bytes = int64_t{1} << 40;
  settings.options.log_level = "silent";
  state().SetSettings(settings);
  EXPECT_EQ(OptimizeTwice(graph_), "");
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].at("outcome"), "not-needed");
  EXPECT_EQ(Reports()[0].at("nodes_added"), 0);
}

TEST_F(PluginInstance, TruncatedGraphsAreDeclinedWhereverTheyAreCut) {
  for (size_t length = 1; length < graph_.size(); length += 7) {
    OptimizeTwice(graph_.substr(0, length));  // a cut between two nodes may still be a graph
  }
  state().ClearReports();
  EXPECT_EQ(OptimizeTwice(graph_.substr(0, graph_.size() - 1)), "");
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].at("outcome"), "declined");
  EXPECT_NE(Reports()[0].at("reason"), "");
}

TEST_F(PluginInstance, AnEmptyGraphIsNoFault) { EXPECT_EQ(OptimizeTwice(""), ""); }

TEST_F(PluginInstance, AnExceptionEndsAsADeclinedReport) {
  item_.throws = true;
  EXPECT_EQ(OptimizeTwice(graph_), "");
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].at("outcome"), "declined");
  item_.throws = false;
}

TEST_F(PluginInstance, WithoutShapesNothingIsSwapped) {
  item_.infer_code = abi::kInvalidArgument;
  EXPECT_EQ(OptimizeTwice(graph_), "");
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_GT(Reports()[0].at("unknown_size_tensors"), 0);
}

TEST_F(PluginInstance, ThreadsDoNotDisturbOneAnother) {
  const std::string expected = OptimizeTwice(graph_);
  std::vector<std::string> results(8);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([this, &result] { result = OptimizeTwice(graph_); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, expected);
}

TEST_F(PluginInstance, FiveHundredGraphsLeaveNothingBehind) {
  item_ = fake::Item();
  const std::string graph = fake::Step(6, kFloats, &item_);
  // Reports are kept up to a bound: clearing them takes them out of the count.
  const auto bytes_in_use = [&] {
    state().ClearReports();
    return static_cast<int64_t>(mallinfo2().uordblks);
  };
  for (int i = 0; i < 20; ++i) OptimizeTwice(graph);
  const int64_t before = bytes_in_use();
  for (int i = 0; i < 500; ++i) OptimizeTwice(graph);
  EXPECT_LT(bytes_in_use() - before, 65536);
}

// Last: what it makes the state remember cannot be undone.
TEST_F(PluginInstance, ZASinglePassIsReportedOnceAndThenRewrittenAtOnce) {
  {
    GraphOptimizer optimizer(&state());
    EXPECT_EQ(Optimize(&optimizer, graph_).code, abi::kAborted);
    optimizer.Finish();
  }
  EXPECT_TRUE(state().single_pass_seen());
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].at("outcome"), "declined");
  GraphOptimizer optimizer(&state());
  const Pass first = Optimize(&optimizer, graph_);
  EXPECT_EQ(first.code, abi::kOk);
  EXPECT_EQ(Optimize(&optimizer, first.bytes).code, abi::kAborted);
  optimizer.Finish();
}

TEST_F(PluginInstance, TheCostTableTellsOperationsShapesAndTimes) {
  Settings settings = *state().GetSettings();
  settings.options.machine = "t4";
  state().SetSettings(settings);
  ASSERT_NE(OptimizeTwice(graph_), "");
  const auto tables = nlohmann::json::parse(state().CostTablesJson());
  ASSERT_FALSE(tables.empty());
  EXPECT_TRUE(tables[0].at("graph").get<std::string>().starts_with("graph "));
  int with_time = 0;
  for (const auto& [name, row] : tables[0].at("ops").items()) {
    EXPECT_FALSE(name.starts_with("tflms/")) << name;
    EXPECT_TRUE(
        row.at("key").get<std::string>().starts_with(row.at("op").get<std::string>() + "|"));
    with_time += row.at("time_us").get<int>() > 1;
  }
  EXPECT_GT(with_time, kDepth);
  EXPECT_EQ(Reports()[0].at("machine"), "t4");
}

TEST_F(PluginInstance, CostsOfGraphsThatPassAreKeptOnlyWhenAskedFor) {
  Settings settings = *state().GetSettings();
  settings.on = false;
  state().SetSettings(settings);
  EXPECT_EQ(OptimizeTwice(graph_), "");
  EXPECT_EQ(state().CostTablesJson(), "[]");
  state().WatchCosts(true);
  EXPECT_EQ(OptimizeTwice(graph_), "");
  state().WatchCosts(false);
  const auto tables = nlohmann::json::parse(state().CostTablesJson());
  ASSERT_FALSE(tables.empty());
  EXPECT_GT(tables[0].at("ops").size(), static_cast<size_t>(kDepth));
  EXPECT_TRUE(Reports().empty());
}

// The cache of one process serves the next one, which is another optimizer here.
TEST_F(PluginInstance, PlansComeFromTheCacheTheSecondTime) {
  Settings settings = *state().GetSettings();
  settings.options.cache_dir = ::testing::TempDir() + "/tflms-instance-" + std::to_string(getpid());
  state().SetSettings(settings);
  const std::string planned = OptimizeTwice(graph_);
  ASSERT_NE(planned, "");
  const nlohmann::json first = Reports().at(0);
  EXPECT_EQ(first.at("plan_source"), "planner");
  state().ClearReports();
  EXPECT_EQ(OptimizeTwice(graph_), planned);
  const nlohmann::json second = Reports().at(0);
  EXPECT_EQ(second.at("plan_source"), "cache");
  EXPECT_EQ(second.at("peak_bytes_after"), first.at("peak_bytes_after"));
  const auto files = nlohmann::json::parse(state().PlanFilesJson());
  ASSERT_FALSE(files.empty());
  EXPECT_EQ(files.at(0).at("plan").at("fingerprint").get<std::string>().size(), 32u);
  settings.options.cache_dir = "off";
  state().SetSettings(settings);
  state().ClearReports();
  EXPECT_EQ(OptimizeTwice(graph_), planned);
  EXPECT_EQ(Reports().at(0).at("plan_source"), "planner");
  std::filesystem::remove_all(::testing::TempDir() + "/tflms-instance-" + std::to_string(getpid()));
}

}  // namespace
}  // namespace tflms

#endif  // TFLMS_HAS_PLUGIN
