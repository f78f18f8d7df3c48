// SPDX-License-Identifier: Apache-2.0
//
// Rule trigger: the three ways to find a trigger, and every part of the side condition.

#include <gtest/gtest.h>

#include "tests/core/rule_helpers.h"

namespace tflms {
namespace {

using Names = std::vector<std::string>;

// A small training step: f1 .. f4 forward, g4 .. g1 backward; g<i> reads g<i+1> and f<i>.
//   levels: x 0, f1 1, ... f4 4, g4 5, g3 6, g2 7, g1 8
struct Step {
  Step() {
    x = b.Source("x");
    f = b.Chain("f", x, 4);
    NodeId up = b.Op("g4", {f[4]});
    for (int i = 3; i >= 1; --i) {
      up = b.Op("g" + std::to_string(i), {up, f[static_cast<size_t>(i)]});
    }
    g1 = up;
  }
  GraphBuilder b;
  NodeId x, g1;
  std::vector<NodeId> f;
};

// f1's tensor swapped on its way to g1.
struct StepRun : Step, RuleRun {
  explicit StepRun(TriggerStrategy strategy, NodeId trigger = kNoNode) : RuleRun(b.graph()) {
    request.strategy = strategy;
    request.edges = {{.reader = g1, .slot = 1, .trigger = trigger}};
    Apply("swap");
  }
  Names Trigger() const { return ControlNames(graph.node(g1).inputs[1].node); }
};

TEST(TriggerRule, PlannedTriggerIsTaken) {
  StepRun run(TriggerStrategy::kPlanned);
  run.request.edges[0].trigger = run.Find("g3");
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 1);
  EXPECT_EQ(effect.refused, 0);
  EXPECT_EQ(run.Trigger(), Names{"g3"});
  EXPECT_EQ(run.graph.node(run.Find("tflms/swap_in/f1")).added_controls, 1);
}

TEST(TriggerRule, ThePlanMayNameTheProducerItself) {
  StepRun run(TriggerStrategy::kPlanned);
  run.request.edges[0].trigger = run.Find("f1");
  EXPECT_EQ(run.Apply("trigger").changes, 1);
  EXPECT_EQ(run.Trigger(), Names{"f1"});
}

TEST(TriggerRule, WithoutAPlannedTriggerOneIsSearched) {
  StepRun run(TriggerStrategy::kPlanned);
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 1);
  EXPECT_EQ(effect.refused, 0);
  EXPECT_EQ(run.Trigger(), Names{"g2"});
}

TEST(TriggerRule, AnIllegalPlannedTriggerIsReplacedAndCounted) {
  StepRun run(TriggerStrategy::kPlanned);
  run.request.edges[0].trigger = run.g1;  // the reader itself: a path in ~> w
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 1);
  EXPECT_EQ(effect.refused, 1);
  EXPECT_EQ(run.Trigger(), Names{"g2"});
}

TEST(TriggerRule, BothSearchesKeepLbAndUb) {
  for (TriggerStrategy strategy : {TriggerStrategy::kDirectOrder, TriggerStrategy::kChainRule}) {
    StepRun two(strategy);
    two.request.lb = 2;
    EXPECT_EQ(two.Apply("trigger").changes, 1);
    EXPECT_EQ(two.Trigger(), Names{"g3"});
    StepRun exact(strategy);
    exact.request.lb = exact.request.ub = 3;
    EXPECT_EQ(exact.Apply("trigger").changes, 1);
    EXPECT_EQ(exact.Trigger(), Names{"g4"});
  }
}

TEST(TriggerRule, SearchGoesNoFurtherThanTheSwapOut) {
  // Level 1 and below hold only what leads to the swap-out: waiting for it holds nothing back.
  StepRun run(TriggerStrategy::kDirectOrder);
  run.request.lb = 7;
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 1);
  EXPECT_EQ(run.Trigger(), Names{});
}

TEST(TriggerRule, UnknownWindowIsAnError) {
  StepRun run(TriggerStrategy::kDirectOrder);
  for (auto [lb, ub] : {std::pair{0, 5}, {4, 3}}) {
    run.request.lb = lb;
    run.request.ub = ub;
    const Result<RuleEffect> effect = FindRule("trigger")->apply(run.request, &run.state);
    ASSERT_FALSE(effect.ok());
    EXPECT_EQ(effect.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(TriggerRule, TheChainFollowsTheGradientNotWhatIsSwapped) {
  // v (level 4) reads u and r3 by way of the host, and the gradient g (level 2). The direct order
  // takes r3, on level 3; the chain knows only g.
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId u = b.Op("u", {x});
  const NodeId r3 = b.Chain("r", x, 3).back();
  const NodeId g = b.Op("g", {b.Op("h", {x})});
  const NodeId v = b.Op("v", {u, r3, g});
  for (auto [strategy, want] :
       {std::pair{TriggerStrategy::kChainRule, "g"}, {TriggerStrategy::kDirectOrder, "r3"}}) {
    RuleRun run(b.graph());
    run.request.strategy = strategy;
    run.request.edges = {{.reader = v, .slot = 0}, {.reader = v, .slot = 1}};
    run.Apply("swap");
    run.Apply("trigger");
    EXPECT_EQ(run.ControlNames(run.Find("tflms/swap_in/u")), Names{want});
  }
}

TEST(TriggerRule, DirectOrderTakesTheHighestLevelOfAnyPath) {
  // The chain goes v, g4, g3, g2, of which g3 may not be a trigger. At lb = 2 the direct order
  // finds s3, as high as g3, by another input of g4.
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId u = b.Op("u", {x});
  const NodeId g2 = b.Chain("g", x, 2).back();
  const NodeId g3 = b.Op("g3", {g2}, kPinnedOutside);
  const NodeId s3 = b.Chain("s", x, 3).back();
  const NodeId g4 = b.Op("g4", {g3, s3});
  const NodeId v = b.Op("v", {u, g4});
  for (auto [strategy, want] :
       {std::pair{TriggerStrategy::kChainRule, "g2"}, {TriggerStrategy::kDirectOrder, "s3"}}) {
    RuleRun run(b.graph());
    run.request.strategy = strategy;
    run.request.edges = {{.reader = v, .slot = 0}};
    run.request.lb = 2;
    run.Apply("swap");
    run.Apply("trigger");
    EXPECT_EQ(run.ControlNames(run.graph.node(v).inputs[0].node), Names{want});
  }
}

TEST(TriggerRule, TheEarliestReaderDecides) {
  // One swap-in for g2 (level 7, planned trigger g4) and g1 (level 8, planned trigger g3).
  Step g;
  g.b.node(g.g1).inputs.push_back({g.f[2], 0});
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.g1, .slot = 2, .trigger = run.Find("g3")},
                       {.reader = run.Find("g2"), .slot = 1, .trigger = run.Find("g4")}};
  run.ApplyAll();
  EXPECT_EQ(run.Added(), 2);
  EXPECT_EQ(run.ControlNames(run.Find("tflms/swap_in/f2")), Names{"g4"});
}

TEST(TriggerRule, TheSerialOrderOverrulesLevels) {
  // p (level 2) and q (level 3) share u; the serial order runs q first, so q's trigger counts.
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId u = b.Op("u", {x});
  const NodeId t1 = b.Op("t1", {x});
  const NodeId t2 = b.Op("t2", {t1});
  const NodeId p = b.Op("p", {u});
  const NodeId q = b.Op("q", {u, t2});
  const std::vector<NodeId> order = {x, u, t1, t2, q, p};
  RuleRun run(b.graph(), order);
  run.request.serial_order = {u, t1, t2, q, p};
  run.request.edges = {{.reader = p, .slot = 0, .trigger = q},
                       {.reader = q, .slot = 0, .trigger = t1}};
  const RuleEffect effect = run.ApplyAll();
  EXPECT_EQ(effect.refused, 0);
  EXPECT_EQ(run.ControlNames(run.Find("tflms/swap_in/u")), Names{"t1"});
  EXPECT_EQ(run.ControlNames(p), Names{"q"});  // and the serial order holds to the end
}

TEST(TriggerRule, SearchDoesNotFightTheSerialOrder) {
  // The serial order puts w behind v, so w may not be its trigger, though no path says so yet.
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId u = b.Op("u", {x});
  const NodeId v = b.Op("v", {u});
  const NodeId w = b.Op("w", {x});
  RuleRun run(b.graph());
  run.request.serial_order = {u, v, w};
  run.request.edges = {{.reader = v, .slot = 0, .trigger = w}};
  run.Apply("swap");
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 1);
  EXPECT_EQ(run.Apply("serialise").refused, 0);
}

TEST(TriggerRule, NothingSwappedNoChange) {
  Step g;
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.g1, .slot = 1, .trigger = run.Find("g3")}};
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(run.Added(), 0);
}

TEST(TriggerRule, OnceIsEnough) {
  StepRun run(TriggerStrategy::kPlanned);
  run.request.edges[0].trigger = run.Find("g3");
  run.Apply("trigger");
  const RuleEffect again = run.Apply("trigger");
  EXPECT_EQ(again.changes, 0);
  EXPECT_EQ(again.refused, 0);
  EXPECT_EQ(run.Trigger(), Names{"g3"});
}

// One part of the side condition broken at a time for the planned trigger w = g3.
struct Refusal {
  const char* name;
  void (*break_it)(Node* w);
};

class TriggerRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(TriggerRefusal, AnotherIsFound) {
  Step g;
  RuleRun find(g.b.graph());
  const NodeId w = find.Find("g3");
  GetParam().break_it(&g.b.node(w));
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.g1, .slot = 1, .trigger = w}};
  run.Apply("swap");
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 1);
  EXPECT_EQ(effect.refused, 1);
  EXPECT_EQ(run.ControlNames(run.Find("tflms/swap_in/f1")), Names{"g2"});
}

const Refusal kRefusals[] = {
    {"OnTheHost", [](Node* w) { w->device = GraphBuilder::kCpu; }},
    {"OnAnotherAccelerator", [](Node* w) { w->device = GraphBuilder::kGpu2; }},
    {"Source", [](Node* w) { w->flags |= kSource; }},
    {"Blocking", [](Node* w) { w->flags |= kPinnedOutside; }},
    {"Compiled", [](Node* w) { w->flags |= kCompiled; }},
    {"Merge", [](Node* w) { w->flags |= kMerge; }},
    {"PeersNotKnown", [](Node* w) { w->sync_group = -1; }},
    {"OurOwn", [](Node* w) { w->role = NodeRole::kSwapOut; }},
};

INSTANTIATE_TEST_SUITE_P(All, TriggerRefusal, testing::ValuesIn(kRefusals),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(TriggerRule, RefusesANodeThatDoesNotExist) {
  StepRun run(TriggerStrategy::kPlanned, /*trigger=*/99);
  EXPECT_EQ(run.Apply("trigger").refused, 1);
}

// r reads a variable: it runs at the start of the step, unless the serial order holds it.
struct VariableRead {
  VariableRead() {
    const NodeId x = b.Source("x");
    u = b.Op("u", {x});
    const NodeId handle = b.Op("handle", {}, kParameterised);
    r = b.Op("r", {handle}, kParameterised);
    v = b.Op("v", {u, r});
  }
  GraphBuilder b;
  NodeId u, r, v;
};

TEST(TriggerRule, AReadAtTheStartHoldsNothingBack) {
  VariableRead g;
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.v, .slot = 0, .trigger = g.r}};
  run.Apply("swap");
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 1);
}

TEST(TriggerRule, AReadHeldByTheSerialOrderIsATrigger) {
  VariableRead g;
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.v, .slot = 0, .trigger = g.r}};
  run.request.serial_order = {g.u, g.r, g.v};
  const RuleEffect effect = run.ApplyAll();
  EXPECT_EQ(effect.refused, 0);
  EXPECT_EQ(run.ControlNames(run.Find("tflms/swap_in/u")), Names{"r"});
  EXPECT_EQ(run.ControlNames(g.r), Names{"u"});
}

TEST(TriggerRule, NodesOnABranchOrInALoopAreNoTriggers) {
  for (uint32_t flag : {kSwitch, kEnter}) {
    GraphBuilder b;
    const NodeId x = b.Source("x");
    const NodeId u = b.Op("u", {x});
    const NodeId s = b.Op("s", {x, x}, flag);
    if (flag == kEnter) b.node(s).frame_name = "loop";
    const NodeId w = b.Op("w", {s});
    const NodeId v = b.Op("v", {u});
    RuleRun run(b.graph());
    run.request.edges = {{.reader = v, .slot = 0, .trigger = w}};
    run.Apply("swap");
    EXPECT_EQ(run.Apply("trigger").refused, 1);
    EXPECT_EQ(run.ControlNames(run.Find("tflms/swap_in/u")), Names{});
  }
}

TEST(TriggerRule, TheChainGoesOnWhereTheDirectOrderGivesUp) {
  // 40 nodes on each of 30 levels, each reading two of the level before: the direct order looks at
  // 80 edges a level and gives up before it is 20 levels back; the chain needs 2 a level.
  constexpr size_t kWidth = 40;
  GraphBuilder b;
  const NodeId u = b.Op("u", {b.Source("x")});
  std::vector<NodeId> level(kWidth, u);
  for (int l = 1; l <= 30; ++l) {
    std::vector<NodeId> next;
    for (size_t i = 0; i < kWidth; ++i) {
      next.push_back(b.Op("n" + std::to_string(l) + "_" + std::to_string(i),
                          {level[i], level[(i + 1) % kWidth]}));
    }
    level = next;
  }
  const NodeId v = b.Op("v", {level[0], u});
  RuleRun run(b.graph());
  run.request.strategy = TriggerStrategy::kDirectOrder;
  run.request.lb = 20;
  run.request.edges = {{.reader = v, .slot = 1}};
  run.Apply("swap");
  const RuleEffect effect = run.Apply("trigger");
  EXPECT_EQ(effect.changes, 1);
  EXPECT_EQ(effect.refused, 0);
  const Names found = run.ControlNames(run.graph.node(v).inputs[1].node);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].starts_with("n11_")) << found[0];  // v is on level 32, n11_* on level 12
}

TEST(TriggerRule, FiveThousandReadersOfOneTensor) {
  // Every reader hangs on its own place of a long chain; nothing here is timed, but a search
  // without bounds would not end.
  constexpr int kReaders = 5000;
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId u = b.Op("u", {x});
  const std::vector<NodeId> m = b.Chain("m", u, kReaders);
  std::vector<NodeId> readers;
  for (size_t i = 1; i <= kReaders; ++i)
    readers.push_back(b.Op("v" + std::to_string(i), {m[i], u}));
  for (TriggerStrategy strategy : {TriggerStrategy::kDirectOrder, TriggerStrategy::kChainRule}) {
    RuleRun run(b.graph());
    run.request.strategy = strategy;
    run.request.fuse_gap = 0;
    run.request.lb = 10;
    for (NodeId reader : readers) run.request.edges.push_back({.reader = reader, .slot = 1});
    const RuleEffect effect = run.ApplyAll();
    EXPECT_EQ(run.Added(), 1 + kReaders);
    // Ten levels before the first nine readers there is nothing that runs behind u.
    EXPECT_EQ(effect.refused, 9);
    EXPECT_EQ(run.ControlNames(run.graph.node(readers.back()).inputs[1].node), Names{"m4991"});
  }
}

}  // namespace
}  // namespace tflms
