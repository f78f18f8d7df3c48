// SPDX-License-Identifier: Apache-2.0
//
// Measured profiles: reading them, what is found in them, and costs for a whole graph.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "src/cost/apply.h"
#include "src/cost/op_cost.h"
#include "src/cost/profile.h"
#include "src/graph/laws.h"
#include "src/rewrite/pricing.h"
#include "tests/core/rule_helpers.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

constexpr const char* kKey = "Op|f32[1024]->f32[1024]";
const std::string kProfile = R"({"format": 1, "device": "GPU:0",
  "ops": {"a1": {"op": "Op", "time_us": 40, "n": 3, "key": "Op|f32[1024]->f32[1024]"},
          "a2": {"op": "Other", "time_us": 7, "n": 3}},
  "shapes": {"Op|f32[1024]->f32[1024]": 20.6},
  "link": {"out_bytes_per_us": 400, "in_bytes_per_us": 300.5}})";

std::string Fault(const std::string& json) {
  const Result<CostProfile> profile = ParseProfile(json);
  return profile.ok() ? "ok" : profile.status().message();
}

MachineProfile SmallMachine() {
  MachineProfile machine;
  machine.name = "small";
  machine.flops_per_us = machine.half_flops_per_us = machine.memory_bytes_per_us = 1024;
  machine.launch_us = 2;
  return machine;
}

TEST(CostProfile, ReadsWhatIsThere) {
  const Result<CostProfile> profile = ParseProfile(kProfile);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->device, "GPU:0");
  EXPECT_EQ(profile->ops.at("a1").time_us, 40);
  EXPECT_EQ(profile->ops.at("a1").n, 3);
  EXPECT_EQ(profile->ops.at("a2").key, "");
  EXPECT_EQ(profile->shapes.at(kKey), 20.6);
  EXPECT_EQ(profile->link.in_bytes_per_us, 300.5);
  EXPECT_EQ(Fault(R"({"format": 1})"), "ok");
}

TEST(CostProfile, EveryFaultNamesItsKeyAndWhatIsExpected) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "expected a JSON object; it is not JSON from byte"},
      {"3", "expected a JSON object, found number"},
      {"{}", "key `format` is missing: this is no profile of tflms"},
      {R"({"format": 2})", "key `format`: expected 1, the only version there is, found `2`"},
      {R"({"format": 1, "opps": {}})", "key `opps` is not known; expected format, device, ops"},
      {R"({"format": 1, "device": 1})", "key `device`: expected a text"},
      {R"({"format": 1, "ops": []})", "key `ops`: expected an object, found `[]`"},
      {R"({"format": 1, "ops": {"a": 1}})", "key `ops.a`: expected an object, found `1`"},
      {R"({"format": 1, "ops": {"a": {"time_us": 1}}})", "key `ops.a.op` is missing or empty"},
      {R"({"format": 1, "ops": {"a": {"op": "A"}}})", "key `ops.a.time_us` is missing"},
      {R"({"format": 1, "ops": {"a": {"op": "A", "time_us": -1}}})",
       "key `ops.a.time_us`: expected a number from 0 to 1e+12, found `-1`"},
      {R"({"format": 1, "ops": {"a": {"op": "A", "time_us": "1"}}})", "key `ops.a.time_us`: expec"},
      {R"({"format": 1, "ops": {"a": {"op": "A", "time_us": 1, "n": 0}}})", "key `ops.a.n`: expec"},
      {R"({"format": 1, "ops": {"a": {"op": "A", "time_us": 1, "key": 1}}})", "key `ops.a.key`: e"},
      {R"({"format": 1, "ops": {"a": {"op": "A", "time_us": 1, "us": 1}}})",
       "key `ops.a.us` is not known; expected op, time_us, n, key"},
      {R"({"format": 1, "shapes": {"k": "1"}})", "key `shapes.k`: expected a number from 0 to 1e+"},
      {R"({"format": 1, "shapes": {"k": 1e13}})", "key `shapes.k`: expected a number from 0 to 1e"},
      {R"({"format": 1, "link": 1})", "key `link`: expected an object, found `1`"},
      {R"({"format": 1, "link": {"out": 1}})", "key `link.out` is not known; expected out_bytes_p"},
      {R"({"format": 1, "link": {"in_bytes_per_us": -1}})", "key `link.in_bytes_per_us`: expected"},
  };
  for (const auto& [json, message] : kCases) {
    EXPECT_TRUE(Fault(json).starts_with(message)) << json << ": " << Fault(json);
  }
}

TEST(CostProfile, AFileCutShortAnywhereIsAnError) {
  for (size_t size = 0; size < kProfile.size(); ++size) {
    EXPECT_FALSE(ParseProfile(kProfile.substr(0, size)).ok()) << size;
  }
}

TEST(CostProfile, ADamagedByteNeverCrashes) {
  for (size_t at = 0; at < kProfile.size(); ++at) {
    for (char byte : {'\0', '"', '{', '}', '9', '-', '\xff'}) {
      std::string text = kProfile;
      text[at] = byte;
      const Result<CostProfile> profile = ParseProfile(text);
      EXPECT_NE(profile.ok(), !profile.status().message().empty());
    }
  }
}

TEST(CostProfile, TheNodeItselfGoesBeforeItsShapes) {
  const CostProfile profile = *ParseProfile(kProfile);
  Node node;
  node.op = "Op";
  node.name = "a1";
  const auto find = [&](const std::string& key) { return FindTime(profile, node, key); };
  EXPECT_EQ(find(kKey)->time_us, 40);
  EXPECT_TRUE(find(kKey)->by_name);
  EXPECT_EQ(find("")->time_us, 40);                     // no shapes to compare
  EXPECT_FALSE(find("Op|f32[7]->f32[7]").has_value());  // another batch size
  node.name = "a2";                                     // measured as another operation
  EXPECT_EQ(find(kKey)->time_us, 20.6);
  EXPECT_FALSE(find(kKey)->by_name);
  EXPECT_FALSE(find("").has_value());
  node.op = "Other";  // recorded without shapes
  EXPECT_EQ(find("Other|f32[7]->f32[7]")->time_us, 7);
}

// x -> a1 -> a2 -> a3 -> a4, every tensor 4,096 bytes: 2 + 8192 / 1024 = 10 us each by formula.
TEST(ApplyCosts, EachOperationTakesTheBestSourceThereIs) {
  GraphBuilder b;
  const std::vector<NodeId> a = b.Chain("a", b.Source("x"), 4);
  b.node(a[3]).outputs[0].type.shape = Shape::Known({2048});
  b.node(a[4]).time_us = 99;
  Graph graph = b.graph();
  const CostProfile profile = *ParseProfile(kProfile);
  const CostSummary summary = ApplyCosts(SmallMachine(), &profile, 0, &graph);
  EXPECT_EQ(graph.node(a[1]).time_us, 40);
  EXPECT_EQ(graph.node(a[2]).time_us, 21);  // by shape, rounded
  // By formula: 2 + 12288 / 1024 = 14, times the median ratio of {40 / 10, 20.6 / 10}: the upper.
  EXPECT_EQ(graph.node(a[3]).time_us, 56);
  EXPECT_EQ(graph.node(a[4]).time_us, 99);
  EXPECT_EQ(graph.node(a[0]).time_us, 0);
  EXPECT_EQ(summary.measured, 1);
  EXPECT_EQ(summary.by_shape, 1);
  EXPECT_EQ(summary.given, 1);
  EXPECT_EQ(summary.free, 1);
  EXPECT_EQ(summary.unknown_operations, 1);
  EXPECT_EQ(summary.scale, 4);
  EXPECT_EQ(summary.by_default, (std::vector<std::pair<std::string, int64_t>>{{"Op", 1}}));
}

TEST(ApplyCosts, WorkspaceIsForConvolutionsOnMachinesThatTakeSome) {
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId conv = b.Op("conv", {x, x});
  b.node(conv).op = "Conv2D";
  const NodeId relu = b.Op("relu", {conv});
  b.node(relu).op = "Relu";
  MachineProfile machine = SmallMachine();
  Graph graph = b.graph();
  ApplyCosts(machine, nullptr, 1000, &graph);
  EXPECT_EQ(graph.node(conv).workspace_bytes, 1000);
  EXPECT_EQ(graph.node(relu).workspace_bytes, 0);
  machine.library_workspace = false;
  graph = b.graph();
  ApplyCosts(machine, nullptr, 1000, &graph);
  EXPECT_EQ(graph.node(conv).workspace_bytes, 0);
}

TEST(Pricing, TheLinkIsTheOptionsElseTheProfilesElseTheMachines) {
  const std::string path = testing::TempDir() + "link_profile.json";
  std::ofstream(path) << kProfile;
  GraphBuilder b;
  b.Source("x");
  Graph graph = b.graph();
  Options options;
  Result<Pricing> pricing = PriceGraph(options, &graph);
  EXPECT_EQ(pricing->link.out_bytes_per_us, 0);
  EXPECT_EQ(pricing->machine, "");
  options.machine = "v100-pcie3";
  EXPECT_EQ(PriceGraph(options, &graph)->link.out_bytes_per_us, 12000);
  options.profile = path;
  options.link_in_bytes_per_s = 5'000'000;
  pricing = PriceGraph(options, &graph);
  EXPECT_EQ(pricing->link.out_bytes_per_us, 400);
  EXPECT_EQ(pricing->link.in_bytes_per_us, 5);
  options.machine = "auto";
  EXPECT_EQ(PriceGraph(options, &graph)->machine, "neutral");
  std::remove(path.c_str());
}

TEST(Pricing, AutoLeavesTheGraphAlone) {
  GraphBuilder b;
  b.Chain("a", b.Source("x"), 3);
  Graph graph = b.graph();
  ASSERT_TRUE(PriceGraph(Options(), &graph).ok());
  EXPECT_EQ(graph.nodes, b.graph().nodes);
}

TEST(Pricing, CostsAreTakenBackAfterRewriting) {
  GraphBuilder b;
  const std::vector<NodeId> a = b.Chain("a", b.Source("x"), 30);
  b.Op("later", {a[2], b.Op("late", {a[1], a[30]})});
  const Graph before = b.graph();
  Options options;
  options.machine = "t4";
  options.min_swap_bytes = 0;
  options.budget_bytes = 3 * 4096 + 100;
  options.safety = 1;
  Graph graph = before;
  const auto reports = Rewrite(options, "g", &graph);
  ASSERT_TRUE(reports.ok()) << reports.status().message();
  ASSERT_EQ(reports->front().outcome, Outcome::kRewritten) << reports->front().reason;
  EXPECT_GT(graph.size(), before.size());
  EXPECT_TRUE(VerifyRewrite(before, graph).ok());
  for (NodeId id = 0; id < before.size(); ++id) EXPECT_EQ(graph.node(id).time_us, 1);
  EXPECT_EQ(reports->front().machine, "t4");
  EXPECT_EQ(reports->front().costs.by_default, 32);
  EXPECT_EQ(reports->front().costs.defaulted, "Op (32)");
  EXPECT_EQ(reports->front().compute_us, 32 * 5);  // 8,192 bytes take 0.03 us beside the launch
  EXPECT_GE(reports->front().step_us, 32 * 5);
  EXPECT_EQ(reports->front().step_us - reports->front().stall_us, 32 * 5);
  EXPECT_NE(FormatReport(reports->front()).find("t4: 160 us a run; 0 operations measured"),
            std::string::npos)
      << FormatReport(reports->front());
}

TEST(Pricing, AnUnreadableFileChangesNothing) {
  GraphBuilder b;
  b.Chain("a", b.Source("x"), 3);
  Graph graph = b.graph();
  Options options;
  options.machine = "t4";
  options.profile = "/no/such/profile.json";
  const auto reports = Rewrite(options, "g", &graph);
  ASSERT_FALSE(reports.ok());
  EXPECT_EQ(reports.status().message(), "/no/such/profile.json: there is no such file");
  EXPECT_EQ(graph.nodes, b.graph().nodes);
  EXPECT_NE(SetOption("machine", "t5", &options).message().find("option machine: machine `t5`"),
            std::string::npos);
  EXPECT_FALSE(SetOption("profile", "/no/such/profile.json", &options).ok());
}

TEST(Pricing, TheCostTableListsTheAcceleratorsNodes) {
  GraphBuilder b;
  const NodeId x = b.Source("x");
  b.Op("on host", {x}, 0, GraphBuilder::kCpu);
  b.Op("v\"", {x});
  EXPECT_EQ(CostTableJson(b.graph()),
            R"({"x":{"op":"Op","key":"Op|->f32[1024]","time_us":1},)"
            R"("v\"":{"op":"Op","key":"Op|f32[1024]->f32[1024]","time_us":1}})");
}

}  // namespace
}  // namespace tflms
