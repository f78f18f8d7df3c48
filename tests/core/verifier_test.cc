// SPDX-License-Identifier: Apache-2.0
//
// The verifier on graphs that the text form cannot write: wrong ids, counts and flags. The rest is
// in tests/text/verify.

#include "src/graph/verifier.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "src/graph/text.h"
#include "tests/core/random_graph.h"

namespace tflms {
namespace {

// x -> y, changed by `change`; the verdict's message.
std::string VerdictAfter(const std::function<void(Graph*)>& change) {
  Graph graph = ParseGraph("x = Op : f32[4]\ny = Op(x, ^x) : f32[4]\n").value();
  EXPECT_TRUE(VerifyGraph(graph).ok());
  change(&graph);
  const Status status = VerifyGraph(graph);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  return status.message();
}

TEST(Verifier, EmptyGraphIsLegal) { EXPECT_TRUE(VerifyGraph(Graph()).ok()); }

TEST(Verifier, RefusesWrongIds) {
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).inputs[0].node = 2; }),
            "L0 node `y`: input 0: names no node (number 2)");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).inputs[0].node = kNoNode; }),
            "L0 node `y`: input 0: names no node (number -1)");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).control_inputs[0] = -7; }),
            "L0 node `y`: a control input names no node (number -7)");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).device = 2; }),
            "L0 node `y`: expected one of 2 devices, found number 2");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).device = -2; }),
            "L0 node `y`: expected one of 2 devices, found number -2");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->devices[0].host = 9; }),
            "L0 device `gpu`: expected a host device as its host, found device number 9");
}

TEST(Verifier, RefusesTwoNodesOfOneName) {
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).name = "x"; }),
            "L0 node `x`: there are two nodes of this name");
}

TEST(Verifier, RefusesWrongCounts) {
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).added_controls = 2; }),
            "L3 node `y`: counts 2 added among 1 control inputs");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).added_controls = -1; }),
            "L3 node `y`: counts -1 added among 1 control inputs");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).flags = kBatchwise << 1; }),
            "L0 node `y`: has unknown flags");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).outputs[0].may_reuse = -3; }),
            "L0 node `y`: output 0: may reuse the buffer of input -3, which is not there");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(1).outputs[0].type.shape.rank_known = false; }),
            "L0 node `y`: output 0: has extents though its rank is unknown");
}

TEST(Verifier, FindsTheCycleInALongChain) {
  Graph graph;
  constexpr NodeId kNodes = 50000;
  for (NodeId id = 0; id < kNodes; ++id) {
    Node& node = graph.nodes.emplace_back();
    node.name = "n" + std::to_string(id);
    node.op = "Op";
    node.outputs.resize(1);
    if (id > 0) node.inputs = {{id - 1, 0, EdgeAction::kRead}};
  }
  EXPECT_TRUE(VerifyGraph(graph).ok());
  graph.node(10).control_inputs = {kNodes - 10};
  const std::string message = VerifyGraph(graph).message();
  EXPECT_EQ(message.find("L4 node `n"), 0u) << message;
}

// Ids changed at random: a verdict, and never a crash.
TEST(Verifier, JudgesAnyIds) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Graph graph = RandomGraph(seed % 50);
    Random random(seed);
    for (uint64_t edits = 0; edits <= seed % 3; ++edits) {
      Node& node = graph.node(random.Below(graph.size()));
      const int32_t number = random.Below(80) - 20;
      switch (random.Below(6)) {
        case 0:
          for (Input& in : node.inputs) in.node = number;
          break;
        case 1:
          for (Input& in : node.inputs) in.port = number;
          break;
        case 2:
          node.control_inputs.push_back(number);
          break;
        case 3:
          for (OutputInfo& output : node.outputs) output.alias_of = static_cast<int16_t>(number);
          break;
        case 4:
          node.device = static_cast<DeviceId>(number);
          break;
        default:
          node.flags = static_cast<uint32_t>(random.Next());
          break;
      }
    }
    if (!VerifyGraph(graph).ok()) ++refused;
  }
  EXPECT_GT(refused, 250);
  EXPECT_LT(refused, 500);
}

}  // namespace
}  // namespace tflms
