// SPDX-License-Identifier: Apache-2.0
//
// Rules sync and serialise, and the catalog.

#include <gtest/gtest.h>

#include "tests/core/rule_helpers.h"

namespace tflms {
namespace {

using Names = std::vector<std::string>;

// x -> u -> m1 -> m2 -> m3 -> v, u -> v swapped; s1 -> s2 beside it, from x.
struct SyncRun : RuleRun {
  explicit SyncRun(const GraphBuilder& b) : RuleRun(b.graph()) {
    request.edges = {{.reader = Find("v"), .slot = 1}};
    Apply("swap");
  }
  RuleEffect Sync(std::string_view node) {
    request.edges[0].sync = Find(node);
    return Apply("sync");
  }
};

GraphBuilder SyncGraph() {
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId u = b.Op("u", {x});
  const NodeId m3 = b.Chain("m", u, 3).back();
  b.Op("v", {m3, u});
  b.Chain("s", x, 2);
  return b;
}

TEST(SyncRule, AnOperationWaitsForTheSwapOut) {
  SyncRun run(SyncGraph());
  const RuleEffect effect = run.Sync("m3");
  EXPECT_EQ(effect.changes, 1);
  EXPECT_EQ(effect.refused, 0);
  EXPECT_EQ(run.ControlNames(run.Find("m3")), Names{"tflms/swap_out/u"});
  EXPECT_EQ(run.graph.node(run.Find("m3")).added_controls, 1);
}

TEST(SyncRule, NodesBesideTheTensorMayWaitToo) {
  SyncRun run(SyncGraph());
  EXPECT_EQ(run.Sync("s2").changes, 1);
}

TEST(SyncRule, NoSyncNoChange) {
  SyncRun run(SyncGraph());
  const RuleEffect effect = run.Apply("sync");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 0);
}

TEST(SyncRule, ARefusedSwapIsNotCountedTwice) {
  GraphBuilder b = SyncGraph();
  for (NodeId id = 0; id < b.graph().size(); ++id) {
    if (b.node(id).name == "u") b.node(id).outputs[0].host_memory = true;
  }
  SyncRun run(b);
  const RuleEffect effect = run.Sync("m3");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 0);
}

TEST(SyncRule, OnceIsEnoughAndTwoEdgesShareOneWait) {
  GraphBuilder b = SyncGraph();
  RuleRun find(b.graph());
  const NodeId twice = b.Op("twice", {find.Find("v"), find.Find("u")});
  SyncRun run(b);
  run.request.edges.push_back({.reader = twice, .slot = 1});
  run.Apply("swap");
  run.Apply("fuse-swap-outs");
  for (SwapEdge& edge : run.request.edges) edge.sync = run.Find("m3");
  EXPECT_EQ(run.Apply("sync").changes, 1);
  const RuleEffect again = run.Apply("sync");
  EXPECT_EQ(again.changes, 0);
  EXPECT_EQ(again.refused, 0);
}

TEST(SyncRule, RefusesWhatLeadsToTheSwapOut) {
  SyncRun run(SyncGraph());
  EXPECT_EQ(run.Sync("u").refused, 1);
  EXPECT_EQ(run.ControlNames(run.Find("u")), Names{});
}

TEST(SyncRule, RefusesWhatTheSerialOrderRunsFirst) {
  SyncRun run(SyncGraph());
  run.request.serial_order = {run.Find("s1"), run.Find("s2"), run.Find("u")};
  EXPECT_EQ(run.Sync("s2").refused, 1);
  EXPECT_EQ(run.Apply("serialise").refused, 0);
}

struct Refusal {
  const char* name;
  void (*break_it)(Node* node);
};

// For sync: node m3; for serialise: node `b` of a chain a, b, c without edges.
const Refusal kRefusals[] = {
    {"Source", [](Node* node) { node->flags |= kSource; }},
    {"Blocking", [](Node* node) { node->flags |= kPinnedOutside; }},
    {"Compiled", [](Node* node) { node->flags |= kCompiled; }},
    {"ControlFlow", [](Node* node) { node->flags |= kExit; }},
    {"PeersNotKnown", [](Node* node) { node->sync_group = -1; }},
    {"OurOwn", [](Node* node) { node->role = NodeRole::kSwapIn; }},
    {"InALoop",
     [](Node* node) {
       node->flags |= kEnter;
       node->frame_name = "loop";
     }},
};

class OrderRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(OrderRefusal, SyncChangesNothing) {
  GraphBuilder b = SyncGraph();
  RuleRun find(b.graph());
  GetParam().break_it(&b.node(find.Find("m3")));
  b.node(find.Find("v")).inputs[0].node = find.Find("s2");  // v stays outside the loop
  SyncRun run(b);
  EXPECT_EQ(run.Sync("m3").refused, 1);
  EXPECT_EQ(run.ControlNames(run.Find("m3")), Names{});
}

GraphBuilder ThreeAlone() {
  GraphBuilder b;
  for (const char* name : {"a", "b", "c"}) b.Op(name, {b.Source(std::string("x") + name)});
  return b;
}

TEST_P(OrderRefusal, SerialisePassesOver) {
  GraphBuilder b = ThreeAlone();
  RuleRun find(b.graph());
  GetParam().break_it(&b.node(find.Find("b")));
  RuleRun run(b.graph());
  run.request.serial_order = {run.Find("a"), run.Find("b"), run.Find("c")};
  const RuleEffect effect = run.Apply("serialise");
  EXPECT_EQ(effect.changes, 1);
  EXPECT_EQ(effect.refused, 1);
  EXPECT_EQ(run.ControlNames(run.Find("b")), Names{});
  EXPECT_EQ(run.ControlNames(run.Find("c")), Names{"a"});
}

INSTANTIATE_TEST_SUITE_P(All, OrderRefusal, testing::ValuesIn(kRefusals),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SyncRule, RefusesTheHostAndOtherAccelerators) {
  for (DeviceId device : {GraphBuilder::kCpu, GraphBuilder::kGpu2}) {
    GraphBuilder b = SyncGraph();
    RuleRun find(b.graph());
    b.node(find.Find("m3")).device = device;
    SyncRun run(b);
    EXPECT_EQ(run.Sync("m3").refused, 1);
  }
}

TEST(SyncRule, RefusesANodeThatDoesNotExist) {
  SyncRun run(SyncGraph());
  run.request.edges[0].sync = 99;
  EXPECT_EQ(run.Apply("sync").refused, 1);
}

TEST(SerialiseRule, NeighboursGetAnOrderEdge) {
  RuleRun run(ThreeAlone().graph());
  run.request.serial_order = {run.Find("c"), run.Find("a"), run.Find("b")};
  const RuleEffect effect = run.Apply("serialise");
  EXPECT_EQ(effect.changes, 2);
  EXPECT_EQ(effect.refused, 0);
  EXPECT_EQ(run.ControlNames(run.Find("a")), Names{"c"});
  EXPECT_EQ(run.ControlNames(run.Find("b")), Names{"a"});
  EXPECT_EQ(run.ControlNames(run.Find("c")), Names{});
}

TEST(SerialiseRule, AddsNoEdgeBesideAnother) {
  GraphBuilder b;
  const NodeId a = b.Op("a", {b.Source("x")});
  const NodeId data = b.Op("data", {a});
  const NodeId control = b.Op("control", {b.Source("y")});
  b.node(control).control_inputs = {data};
  RuleRun run(b.graph());
  run.request.serial_order = {a, data, control};
  const RuleEffect effect = run.Apply("serialise");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 0);
}

TEST(SerialiseRule, RefusesAPairThatRunsTheOtherWay) {
  GraphBuilder b;
  const NodeId a = b.Op("a", {b.Source("x")});
  const NodeId h = b.Op("h", {a}, 0, GraphBuilder::kCpu);
  const NodeId c = b.Op("c", {h});
  RuleRun run(b.graph());
  run.request.serial_order = {c, a};
  const RuleEffect effect = run.Apply("serialise");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 1);
}

TEST(SerialiseRule, MembersOfASyncGroupStayUnordered) {
  GraphBuilder b = ThreeAlone();
  RuleRun find(b.graph());
  b.node(find.Find("a")).sync_group = b.node(find.Find("b")).sync_group = 1;
  RuleRun run(b.graph());
  run.request.serial_order = {run.Find("a"), run.Find("b"), run.Find("c")};
  const RuleEffect effect = run.Apply("serialise");
  EXPECT_EQ(effect.changes, 1);
  EXPECT_EQ(effect.refused, 0);
  EXPECT_EQ(run.ControlNames(run.Find("b")), Names{});
  EXPECT_EQ(run.ControlNames(run.Find("c")), Names{"b"});
}

TEST(SerialiseRule, NoOrderNoChange) {
  RuleRun run(ThreeAlone().graph());
  EXPECT_EQ(run.Apply("serialise").changes, 0);
}

TEST(SerialiseRule, OnceIsEnough) {
  RuleRun run(ThreeAlone().graph());
  run.request.serial_order = {run.Find("c"), run.Find("a"), run.Find("b")};
  run.Apply("serialise");
  const RuleEffect again = run.Apply("serialise");
  EXPECT_EQ(again.changes, 0);
  EXPECT_EQ(again.refused, 0);
}

TEST(RuleCatalog, RunsInTheOrderOfTheFormalStatement) {
  Names names;
  for (const RuleEntry& entry : RuleCatalog()) names.emplace_back(entry.name);
  EXPECT_EQ(names,
            (Names{"recompute", "swap", "fuse-swap-outs", "fuse-swap-ins", "trigger", "sync", "serialise"}));
}

TEST(RuleCatalog, EveryRuleSaysWhatItDoes) {
  for (const RuleEntry& entry : RuleCatalog()) {
    EXPECT_EQ(FindRule(entry.name), &entry);
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_NE(entry.formula.find("=>"), std::string_view::npos) << entry.name;
    EXPECT_EQ(entry.formula.find('\n'), std::string_view::npos) << entry.name;
  }
  EXPECT_EQ(FindRule("swap-everything"), nullptr);
}

}  // namespace
}  // namespace tflms
