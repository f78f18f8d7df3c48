// SPDX-License-Identifier: Apache-2.0
//
// Rule swap: what it makes, and every part of its side condition.

#include <gtest/gtest.h>

#include "tests/core/rule_helpers.h"

namespace tflms {
namespace {

using Names = std::vector<std::string>;

// x -> u -> m1 -> m2 -> v, and u -> v: the edge u -> v is the one to swap.
struct Bridge {
  Bridge() {
    x = b.Source("x");
    u = b.Op("u", {x});
    m = b.Chain("m", u, 2).back();
    v = b.Op("v", {m, u});
  }
  GraphBuilder b;
  NodeId x, u, m, v;
};

RuleEffect SwapEdgeOf(RuleRun* run, NodeId reader, int32_t slot) {
  run->request.edges = {{.reader = reader, .slot = slot}};
  return run->Apply("swap");
}

TEST(SwapRule, PutsAPairOnTheEdge) {
  Bridge g;
  RuleRun run(g.b.graph());
  const RuleEffect effect = SwapEdgeOf(&run, g.v, 1);
  EXPECT_EQ(effect.changes, 3);
  EXPECT_EQ(effect.refused, 0);
  ASSERT_EQ(run.Added(), 2);
  EXPECT_EQ(run.InputName(g.v, 1), "tflms/swap_in/u");
  EXPECT_EQ(run.InputName(g.v, 0), "m2");  // the other input is untouched
  const Node& in = run.graph.node(run.Find("tflms/swap_in/u"));
  const Node& out = run.graph.node(run.Find("tflms/swap_out/u"));
  EXPECT_EQ(in.role, NodeRole::kSwapIn);
  EXPECT_EQ(out.role, NodeRole::kSwapOut);
  for (const Node* node : {&in, &out}) {
    EXPECT_EQ(node->op, "Identity");
    EXPECT_EQ(node->device, GraphBuilder::kCpu);
    ASSERT_EQ(node->outputs.size(), 1u);
    EXPECT_EQ(node->outputs[0].type, g.b.node(g.u).outputs[0].type);
    EXPECT_FALSE(node->outputs[0].host_memory);
  }
  EXPECT_EQ(in.inputs, (std::vector<Input>{{run.Find("tflms/swap_out/u"), 0}}));
  EXPECT_EQ(out.inputs, (std::vector<Input>{{g.u, 0}}));
}

TEST(SwapRule, KeepsThePortOfALaterOutput) {
  Bridge g;
  g.b.node(g.u).outputs.resize(3, g.b.node(g.u).outputs[0]);
  g.b.node(g.v).inputs[1].port = 2;
  RuleRun run(g.b.graph());
  EXPECT_EQ(SwapEdgeOf(&run, g.v, 1).changes, 3);
  EXPECT_EQ(run.InputName(g.v, 1), "tflms/swap_in/u_2");
  EXPECT_EQ(run.InputName(run.Find("tflms/swap_out/u_2")), "u:2");
}

TEST(SwapRule, TakesOnlyTheAskedSlotOfADoubleReader) {
  Bridge g;
  const NodeId twice = g.b.Op("twice", {g.u, g.u});
  RuleRun run(g.b.graph());
  EXPECT_EQ(SwapEdgeOf(&run, twice, 1).changes, 3);
  EXPECT_EQ(run.InputName(twice, 0), "u");
  EXPECT_EQ(run.InputName(twice, 1), "tflms/swap_in/u");
}

TEST(SwapRule, NamesAreUnique) {
  Bridge g;
  // "u:2" and the tensor of a node "u_2" ask for the same name.
  g.b.node(g.u).outputs.resize(3, g.b.node(g.u).outputs[0]);
  const NodeId u2 = g.b.Op("u_2", {g.x});
  const NodeId w = g.b.Reading("w", {{g.u, 2}, {u2, 0}, {u2, 0}});
  RuleRun run(g.b.graph());
  run.request.edges = {
      {.reader = w, .slot = 2}, {.reader = w, .slot = 0}, {.reader = w, .slot = 1}};
  EXPECT_EQ(run.Apply("swap").changes, 9);
  EXPECT_EQ(run.InputName(w, 0), "tflms/swap_in/u_2");
  EXPECT_EQ(run.InputName(w, 1), "tflms/swap_in/u_2_1");
  EXPECT_EQ(run.InputName(w, 2), "tflms/swap_in/u_2_2");
}

TEST(SwapRule, ResultDoesNotDependOnTheOrderOfTheRequest) {
  Bridge g;
  const NodeId w = g.b.Op("w", {g.u, g.m});
  RuleRun one(g.b.graph()), two(g.b.graph());
  one.request.edges = {
      {.reader = g.v, .slot = 1}, {.reader = w, .slot = 0}, {.reader = w, .slot = 1}};
  two.request.edges = {one.request.edges[2], one.request.edges[0], one.request.edges[1]};
  one.Apply("swap");
  two.Apply("swap");
  ASSERT_EQ(one.graph.size(), two.graph.size());
  for (NodeId id = 0; id < one.graph.size(); ++id) {
    EXPECT_EQ(one.graph.node(id).name, two.graph.node(id).name);
    EXPECT_EQ(one.graph.node(id).inputs, two.graph.node(id).inputs);
  }
}

TEST(SwapRule, OnceIsEnough) {
  Bridge g;
  RuleRun run(g.b.graph());
  SwapEdgeOf(&run, g.v, 1);
  const RuleEffect again = SwapEdgeOf(&run, g.v, 1);
  EXPECT_EQ(again.changes, 0);
  EXPECT_EQ(again.refused, 0);
  EXPECT_EQ(run.Added(), 2);
}

TEST(SwapRule, AnEdgeNamedTwiceIsSwappedOnce) {
  Bridge g;
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.v, .slot = 1}, {.reader = g.v, .slot = 1}};
  EXPECT_EQ(run.Apply("swap").changes, 3);
  EXPECT_EQ(run.Added(), 2);
}

TEST(SwapRule, APreservedProducerMayBeSwapped) {
  Bridge g;
  g.b.node(g.u).flags |= kPreserved;
  RuleRun run(g.b.graph());
  EXPECT_EQ(SwapEdgeOf(&run, g.v, 1).changes, 3);
}

TEST(SwapRule, NoEdgesNoChange) {
  Bridge g;
  RuleRun run(g.b.graph());
  const RuleEffect effect = run.Apply("swap");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 0);
  EXPECT_EQ(run.Added(), 0);
}

TEST(SwapRule, RefusesARequestWithoutAHost) {
  Bridge g;
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.v, .slot = 1}};
  for (DeviceId host : {kNoDevice, DeviceId{7}, GraphBuilder::kGpu}) {
    run.request.host = host;
    const Result<RuleEffect> effect = FindRule("swap")->apply(run.request, &run.state);
    ASSERT_FALSE(effect.ok());
    EXPECT_EQ(effect.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(run.Added(), 0);
  }
}

// One part of the side condition broken at a time: the edge is refused and nothing changes.
struct Refusal {
  const char* name;
  void (*break_it)(Bridge* g);
};

class SwapRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(SwapRefusal, ChangesNothing) {
  Bridge g;
  GetParam().break_it(&g);
  RuleRun run(g.b.graph());
  const RuleEffect effect = SwapEdgeOf(&run, g.v, 1);
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 1);
  EXPECT_EQ(run.Added(), 0);
  EXPECT_EQ(run.InputName(g.v, 1), TensorName(g.b.graph(), g.b.node(g.v).inputs[1].node, 0));
}

OutputInfo& OutputOfU(Bridge* g) { return g->b.node(g->u).outputs[0]; }

const Refusal kRefusals[] = {
    {"UpdateEdge", [](Bridge* g) { g->b.node(g->v).inputs[1].action = EdgeAction::kUpdate; }},
    {"AnotherReaderWritesTheBuffer",
     [](Bridge* g) {
       g->b.node(g->m).inputs.push_back({g->u, 0, EdgeAction::kUpdate});
     }},
    {"ProducerOnTheHost", [](Bridge* g) { g->b.node(g->u).device = GraphBuilder::kCpu; }},
    {"ReaderOnTheHost", [](Bridge* g) { g->b.node(g->v).device = GraphBuilder::kCpu; }},
    {"ReaderOnAnotherAccelerator", [](Bridge* g) { g->b.node(g->v).device = GraphBuilder::kGpu2; }},
    {"NoDevice", [](Bridge* g) { g->b.node(g->u).device = g->b.node(g->v).device = kNoDevice; }},
    {"Persistent", [](Bridge* g) { OutputOfU(g).persistent = true; }},
    {"AliasOfPersistent",
     [](Bridge* g) {
       OutputOfU(g).alias_of = 0;
       g->b.node(g->x).outputs[0].persistent = true;
     }},
    {"HostMemory", [](Bridge* g) { OutputOfU(g).host_memory = true; }},
    {"Reference", [](Bridge* g) { OutputOfU(g).type.is_ref = true; }},
    {"Resource", [](Bridge* g) { OutputOfU(g).type.dtype = DataType::kResource; }},
    {"Variant", [](Bridge* g) { OutputOfU(g).type.dtype = DataType::kVariant; }},
    {"String", [](Bridge* g) { OutputOfU(g).type.dtype = DataType::kString; }},
    {"NoType", [](Bridge* g) { OutputOfU(g).type.dtype = DataType::kInvalid; }},
    {"ReaderOpensALoop",
     [](Bridge* g) {
       g->b.node(g->v).flags |= kEnter;
       g->b.node(g->v).frame_name = "loop";
     }},
    {"BothInALoop",
     [](Bridge* g) {
       g->b.node(g->u).flags |= kEnter;
       g->b.node(g->u).frame_name = "loop";
     }},
    {"OnABranch", [](Bridge* g) { g->b.node(g->m).flags |= kSwitch; }},
    {"PredicateOfASwitch", [](Bridge* g) { g->b.node(g->v).flags |= kSwitch; }},
    {"OutOfASwitch",
     [](Bridge* g) {
       g->b.node(g->u).flags |= kSwitch;
       g->b.node(g->v).flags |= kMerge;  // so that both ends are outside the branch
     }},
    {"IntoAMerge", [](Bridge* g) { g->b.node(g->v).flags |= kMerge; }},
    {"ReaderIsASwapNode", [](Bridge* g) { g->b.node(g->v).role = NodeRole::kSwapOut; }},
    {"ProducerIsASwapNode", [](Bridge* g) { g->b.node(g->u).role = NodeRole::kSwapOut; }},
};

INSTANTIATE_TEST_SUITE_P(All, SwapRefusal, testing::ValuesIn(kRefusals),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SwapRule, RefusesEdgesThatDoNotExist) {
  Bridge g;
  RuleRun run(g.b.graph());
  run.request.edges = {{.reader = g.v, .slot = 2},
                       {.reader = g.v, .slot = -1},
                       {.reader = 99, .slot = 0},
                       {.reader = kNoNode, .slot = 0}};
  const RuleEffect effect = run.Apply("swap");
  EXPECT_EQ(effect.changes, 0);
  EXPECT_EQ(effect.refused, 4);
}

}  // namespace
}  // namespace tflms
