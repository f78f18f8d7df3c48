// SPDX-License-Identifier: Apache-2.0
//
// Rules fuse-swap-outs and fuse-swap-ins.

#include <gtest/gtest.h>

#include "tests/core/rule_helpers.h"

namespace tflms {
namespace {

// u is read by v1 (level 4), v2 (level 6) and v3 (level 9) on a chain that starts at u (level 1).
struct Ladder {
  Ladder() {
    const NodeId x = b.Source("x");
    u = b.Op("u", {x});
    const std::vector<NodeId> m = b.Chain("m", u, 7);
    v1 = b.Op("v1", {m[2], u});
    v2 = b.Op("v2", {m[4], u});
    v3 = b.Op("v3", {m[7], u});
  }
  GraphBuilder b;
  NodeId u, v1, v2, v3;
};

struct LadderRun : Ladder, RuleRun {
  LadderRun() : RuleRun(b.graph()) {
    request.edges = {
        {.reader = v1, .slot = 1}, {.reader = v2, .slot = 1}, {.reader = v3, .slot = 1}};
  }
};

TEST(FuseSwapOutsRule, OneCopyOutForAnOutput) {
  LadderRun run;
  run.Apply("swap");
  ASSERT_EQ(run.Added(), 6);
  const RuleEffect effect = run.Apply("fuse-swap-outs");
  EXPECT_EQ(effect.changes, 4);  // two nodes removed, two edges redirected
  EXPECT_EQ(effect.refused, 0);
  ASSERT_EQ(run.Added(), 4);
  for (NodeId v : {run.v1, run.v2, run.v3}) {
    const NodeId in = run.graph.node(v).inputs[1].node;
    EXPECT_EQ(run.InputName(in), "tflms/swap_out/u");
  }
  // The ids and the other inputs of the graph as it came are as they were.
  EXPECT_EQ(run.InputName(run.v2, 0), "m4");
  for (NodeId id = 0; id < run.before.size(); ++id) {
    EXPECT_EQ(run.graph.node(id).name, run.before.node(id).name);
  }
}

TEST(FuseSwapOutsRule, OutputsOfOneNodeStayApart) {
  Ladder g;
  g.b.node(g.u).outputs.resize(2, g.b.node(g.u).outputs[0]);
  g.b.node(g.v2).inputs[1].port = 1;
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.v1, .slot = 1}, {.reader = g.v2, .slot = 1}};
  run.Apply("swap");
  EXPECT_EQ(run.Apply("fuse-swap-outs").changes, 0);
  EXPECT_EQ(run.Added(), 4);
}

TEST(FuseSwapOutsRule, NothingSwappedNoChange) {
  LadderRun run;
  EXPECT_EQ(run.Apply("fuse-swap-outs").changes, 0);
  EXPECT_EQ(run.Added(), 0);
}

TEST(FuseSwapOutsRule, OnceIsEnough) {
  LadderRun run;
  run.Apply("swap");
  run.Apply("fuse-swap-outs");
  EXPECT_EQ(run.Apply("fuse-swap-outs").changes, 0);
  EXPECT_EQ(run.Added(), 4);
}

TEST(FuseSwapOutsRule, LeavesASyncedSwapOutAlone) {
  LadderRun run;
  run.request.edges[1].sync = run.Find("m5");
  run.Apply("swap");
  run.Apply("sync");
  EXPECT_EQ(run.Apply("fuse-swap-outs").changes, 2);  // v1's and v3's, not v2's
  EXPECT_EQ(run.Added(), 5);
}

TEST(FuseSwapOutsRule, TheKeptOrderStaysTrue) {
  LadderRun run;
  run.Apply("swap");
  run.Apply("fuse-swap-outs");
  const NodeId out = run.Find("tflms/swap_out/u");
  EXPECT_TRUE(run.state.order->Reaches(out, run.v3));
  EXPECT_TRUE(run.state.order->Reaches(run.u, run.v1));
  EXPECT_FALSE(run.state.order->AddControlEdge(&run.graph, run.v3, out));
  EXPECT_TRUE(TopologicalOrder(run.graph).ok());
}

class FuseSwapIns : public testing::Test {
 protected:
  void Swap(int32_t gap) {
    run.request.fuse_gap = gap;
    run.Apply("swap");
    run.Apply("fuse-swap-outs");
  }
  NodeId In(NodeId reader) const { return run.graph.node(reader).inputs[1].node; }

  LadderRun run;
};

TEST_F(FuseSwapIns, NearReadersShareACopyIn) {
  Swap(2);
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 2);
  EXPECT_EQ(run.Added(), 3);
  EXPECT_EQ(In(run.v1), In(run.v2));
  EXPECT_NE(In(run.v1), In(run.v3));
}

TEST_F(FuseSwapIns, GapOfOneLevelLessSeparates) {
  Swap(1);
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 0);
  EXPECT_EQ(run.Added(), 4);
}

TEST_F(FuseSwapIns, TheGapIsCountedFromTheFirstReader) {
  // v1 at 4, v2 at 6, v3 at 9: steps of 2 and 3, but 5 from first to last.
  Swap(3);
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 2);
  EXPECT_EQ(In(run.v1), In(run.v2));
  EXPECT_NE(In(run.v2), In(run.v3));
}

TEST_F(FuseSwapIns, NoLimitJoinsTheWholeGroup) {
  Swap(-1);
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 4);
  EXPECT_EQ(run.Added(), 2);
  EXPECT_EQ(run.InputName(In(run.v3)), "tflms/swap_out/u");
}

TEST_F(FuseSwapIns, GroupsStayApart) {
  run.request.edges[2].group = 1;
  Swap(-1);
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 2);
  EXPECT_EQ(In(run.v1), In(run.v2));
  EXPECT_NE(In(run.v1), In(run.v3));
}

TEST_F(FuseSwapIns, ADoubleReaderGetsOneSwapIn) {
  Ladder g;
  const NodeId twice = g.b.Op("twice", {g.v3, g.u, g.u});
  RuleRun other(g.b.graph());
  other.request.edges = {{.reader = twice, .slot = 1}, {.reader = twice, .slot = 2}};
  other.request.fuse_gap = 0;
  other.ApplyAll();
  EXPECT_EQ(other.Added(), 2);
  EXPECT_EQ(other.InputName(twice, 1), other.InputName(twice, 2));
}

TEST_F(FuseSwapIns, NeedsOneSwapOut) {
  run.request.fuse_gap = -1;
  run.Apply("swap");  // and no fuse-swap-outs: three swap-outs
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 0);
}

TEST_F(FuseSwapIns, LeavesATriggeredSwapInAlone) {
  Swap(-1);
  run.request.edges[0].trigger = run.Find("m1");
  run.request.edges[1].trigger = run.Find("m3");
  run.request.edges[2].trigger = run.Find("m6");
  EXPECT_EQ(run.Apply("trigger").changes, 3);
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 0);
}

TEST_F(FuseSwapIns, NothingSwappedNoChange) {
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 0);
  EXPECT_EQ(run.Added(), 0);
}

TEST_F(FuseSwapIns, OnceIsEnough) {
  Swap(2);
  run.Apply("fuse-swap-ins");
  EXPECT_EQ(run.Apply("fuse-swap-ins").changes, 0);
  EXPECT_EQ(run.Added(), 3);
}

}  // namespace
}  // namespace tflms
