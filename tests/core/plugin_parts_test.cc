// SPDX-License-Identifier: Apache-2.0
//
// The plugin's small parts: reading of TensorFlow's item, reports kept, log lines, dumps, C
// surface.

#ifdef TFLMS_HAS_PLUGIN

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "src/tensorflow/plugin/dump.h"
#include "src/tensorflow/plugin/grappler_item.h"
#include "src/tensorflow/plugin/report_log.h"
#include "src/tensorflow/plugin/state.h"
#include "src/tensorflow/plugin/summary.h"
#include "src/tensorflow/plugin/tf_api.h"
#include "tests/core/plugin_fakes.h"
#include "tflms/c_api.h"

namespace tflms {
namespace {

TEST(PluginItem, NamesOfNodesInOrder) {
  const std::string graph = fake::GraphDef({{"b", "Neg", "", {}}, {"a", "Neg", "", {"b"}}});
  const auto names = NodeNames(graph);
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::vector<std::string>{"b", "a"}));
}

TEST(PluginItem, AMalformedGraphNamesThePlace) {
  const std::string graph = fake::GraphDef({{"a", "Neg", "", {}}, {"b", "Neg", "", {}}});
  const auto names = NodeNames(graph.substr(0, graph.size() - 2));
  ASSERT_FALSE(names.ok());
  EXPECT_NE(names.status().message().find("behind node 1"), std::string::npos)
      << names.status().message();
}

TEST(PluginItem, FetchesAndKeptNodesCountByNodeName) {
  fake::Item item;
  item.preserve = {"keep", "^barrier"};
  item.fetch = {"loss:0", "split:1", "split:2"};
  const auto names = PreservedNodes(fake::Api(), item.get());
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::unordered_set<std::string>{"keep", "barrier", "loss", "split"}));
}

TEST(PluginItem, OutputTypesByNode) {
  fake::Item item;
  item.outputs["split"] = {fake::FloatProperties({2, 3}), fake::FloatProperties({-1, 4})};
  const auto types = InferOutputTypes(fake::Api(), item.get(), {"split", "stranger"});
  ASSERT_TRUE(types.ok()) << types.status().message();
  ASSERT_EQ(types->size(), 1u);
  const std::vector<TensorType>& split = types->at("split");
  ASSERT_EQ(split.size(), 2u);
  EXPECT_EQ(SizeBytes(split[0]), 24);
  EXPECT_EQ(SizeBytes(split[1]), std::nullopt);
  EXPECT_EQ(fake::live_objects(), 0);
}

TEST(PluginReportLog, KeepsTheLastThousand) {
  ReportLog log;
  Report report;
  for (int i = 0; i < 1500; ++i) {
    report.graph = std::to_string(i);
    log.CountGraph();
    log.Add(report);
  }
  const auto json = nlohmann::json::parse(log.ToJson());
  EXPECT_EQ(json.at("graphs_seen"), 1500);
  ASSERT_EQ(json.at("reports").size(), kMaxReports);
  EXPECT_EQ(json.at("reports").front().at("graph"), "500");
  EXPECT_EQ(json.at("reports").back().at("graph"), "1499");
}

TEST(PluginReportLog, ASecondVisitHidesNothing) {
  ReportLog log;
  Report report;
  report.outcome = Outcome::kAlreadyDone;
  log.Add(report);
  EXPECT_TRUE(nlohmann::json::parse(log.ToJson()).at("reports").empty());
}

TEST(PluginSummary, OneLineSaysWhatWasDone) {
  Report report;
  report.graph = "graph 7";
  report.device = "/device:GPU:0";
  report.outcome = Outcome::kRewritten;
  report.swapped_tensors = 3;
  report.swap_out_bytes = int64_t{3} << 30;
  report.peak_bytes_before = int64_t{6} << 30;
  report.peak_bytes_after = int64_t{4} << 30;
  report.budget_bytes = int64_t{5} << 30;
  const std::string line = SummaryLine(report);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  for (const char* part : {"graph 7", "/device:GPU:0", "3 tensors", "3.0 GiB", "6.0 GiB -> 4.0 GiB",
                           "of 5.0 GiB budget"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  }
}

TEST(PluginSummary, SmallGraphsWithNothingToDoAreQuiet) {
  Report report;
  report.outcome = Outcome::kNothingToSwap;
  report.nodes = 20;
  EXPECT_EQ(SummaryLevel(report), LogLevel::kDebug);
  report.nodes = 2000;
  EXPECT_EQ(SummaryLevel(report), LogLevel::kInfo);
  report.outcome = Outcome::kDeclined;
  EXPECT_EQ(SummaryLevel(report), LogLevel::kWarning);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PluginDump, WritesGraphsAndReports) {
  const std::string dir = ::testing::TempDir() + "/tflms-dump-" + std::to_string(getpid());
  Report report;
  report.graph = "graph 3";
  ASSERT_TRUE(DumpInput(dir + "/deep", 3, "before").ok());
  ASSERT_TRUE(DumpResult(dir + "/deep", 3, {true, "after", "text", {report}}).ok());
  const std::string stem = dir + "/deep/tflms-" + std::to_string(getpid()) + "-3";
  EXPECT_EQ(ReadFile(stem + ".before.pb"), "before");
  EXPECT_EQ(ReadFile(stem + ".after.pb"), "after");
  EXPECT_EQ(ReadFile(stem + ".before.txt"), "text");
  EXPECT_EQ(nlohmann::json::parse(ReadFile(stem + ".report.json"))[0].at("graph"), "graph 3");
  std::filesystem::remove_all(dir);
}

TEST(PluginDump, AFolderThatCannotBeMadeIsAnError) {
  EXPECT_FALSE(DumpInput("/dev/null/dumps", 1, "a").ok());
}

TEST(PluginTfApi, WithoutTensorFlowTheErrorSaysSo) {
  TfApi api{};
  const Status status = FindTfApi(&api);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("import tensorflow"), std::string::npos) << status.message();
}

// The C surface's texts, taken and given back.
nlohmann::json Take(char* text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  TflmsGetApi()->free_string(text);
  return json;
}

TEST(PluginCApi, TablesHaveWhatTheHeaderPromises) {
  const TflmsApi* api = TflmsGetApi();
  EXPECT_EQ(api->struct_size, sizeof(TflmsApi));
  const nlohmann::json options = Take(api->option_table());
  EXPECT_EQ(options.size(), OptionTable().size());
  for (const nlohmann::json& row : options) {
    for (const char* key : {"name", "type", "unit", "default", "range", "help"}) {
      EXPECT_TRUE(row.contains(key)) << row;
    }
  }
  EXPECT_EQ(Take(api->rule_table())[0].at("name"), "recompute");
  EXPECT_FALSE(Take(api->planner_table()).empty());
}

TEST(PluginCApi, ConfigureIsSeenInSettingsAndRefusesWhatIsWrong) {
  const TflmsApi* api = TflmsGetApi();
  ASSERT_EQ(api->configure(1, R"({"lb": 5})"), nullptr);
  EXPECT_EQ(Take(api->settings()).at("on"), true);
  EXPECT_EQ(Take(api->settings()).at("options").at("lb"), 5);
  char* error = api->configure(1, R"({"lb": "x"})");
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error).find("lb"), std::string::npos) << error;
  api->free_string(error);
  EXPECT_EQ(Take(api->settings()).at("options").at("lb"), 5) << "a refused change changes nothing";
  ASSERT_EQ(api->configure(0, nullptr), nullptr);
  EXPECT_EQ(Take(api->settings()).at("on"), false);
}

TEST(PluginCApi, ReportsCanBeCleared) {
  const TflmsApi* api = TflmsGetApi();
  GetState().AddReport(Report());
  EXPECT_FALSE(Take(api->reports()).at("reports").empty());
  api->clear_reports();
  EXPECT_TRUE(Take(api->reports()).at("reports").empty());
  EXPECT_EQ(Take(api->reports()).at("graphs_seen"), 0);
}

TEST(ReportLog, KeepsTheLastCostTablesAndNotTooManyBytesOfThem) {
  ReportLog log;
  log.AddCostTable("none", "");
  log.AddCostTable("empty", "{}");
  EXPECT_EQ(log.CostTablesToJson(), "[]");
  for (int i = 0; i < 20; ++i) log.AddCostTable("g" + std::to_string(i), R"({"a": {"op": "A"}})");
  nlohmann::json tables = nlohmann::json::parse(log.CostTablesToJson());
  ASSERT_EQ(tables.size(), kMaxCostTables);
  EXPECT_EQ(tables[0].at("graph"), "g4");
  EXPECT_EQ(tables[15].at("ops").at("a").at("op"), "A");
  const std::string large = R"({"a": ")" + std::string(kMaxCostTableBytes / 2, 'x') + "\"}";
  log.AddCostTable("large", large);
  log.AddCostTable("last", large);
  tables = nlohmann::json::parse(log.CostTablesToJson());
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].at("graph"), "last");
  log.Clear();
  EXPECT_EQ(log.CostTablesToJson(), "[]");
}

TEST(PluginState, LentBytesStayUntilGivenBack) {
  PluginState state;
  const std::string bytes(100000, 'x');
  const void* first = state.Lend(bytes);
  const void* second = state.Lend("short");
  EXPECT_EQ(std::string_view(static_cast<const char*>(first), bytes.size()), bytes);
  EXPECT_EQ(std::string_view(static_cast<const char*>(second), 5), "short");
  state.GiveBack(first);
  state.GiveBack(second);
}

}  // namespace
}  // namespace tflms

#endif  // TFLMS_HAS_PLUGIN
