// SPDX-License-Identifier: Apache-2.0
//
// The laws between a graph and its rewriting: every way to break one is found and named. What legal
// rewritings look like is in tests/text/laws and tests/text/rules.

#include "src/graph/laws.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "src/graph/text.h"

namespace tflms {
namespace {

constexpr std::string_view kBefore =
    "x = Op : f32[4]\n"
    "u = Op(x) : f32[4]\n"
    "w = Op(u, ^x) : f32[4]\n"
    "v = Op(w, x) : f32[4]\n";
constexpr std::string_view kAfter =
    "x = Op : f32[4]\n"
    "u = Op(x, +^tflms/out) : f32[4]\n"
    "w = Op(u, ^x) : f32[4]\n"
    "v = Op(w, tflms/in) : f32[4]\n"
    "tflms/out = Identity(x) : f32[4] @cpu role=swap-out\n"
    "tflms/in = Identity(tflms/out, +^u) : f32[4]{alias=0} @cpu role=swap-in\n";

Graph Parse(std::string_view text) {
  const Result<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *graph : Graph();
}

// The verdict on the legal rewriting above with `change` made to it.
std::string VerdictAfter(const std::function<void(Graph*)>& change) {
  const Graph before = Parse(kBefore);
  Graph after = Parse(kAfter);
  EXPECT_TRUE(VerifyRewrite(before, after).ok()) << VerifyRewrite(before, after).message();
  change(&after);
  const Status status = VerifyRewrite(before, after);
  EXPECT_EQ(status.code(), StatusCode::kLawBroken);
  return status.message();
}

TEST(Laws, ErasingGivesTheGraphBack) {
  EXPECT_EQ(PrintGraph(EraseRewrite(Parse(kAfter))), PrintGraph(Parse(kBefore)));
  EXPECT_EQ(EraseRewrite(Parse(kBefore)).nodes, Parse(kBefore).nodes);
}

TEST(Laws, ErasingClosesUpIdsWhereverAddedNodesStand) {
  const Graph mixed = Parse(
      "tflms/in = Identity(tflms/out) : f32[4]{alias=0} @cpu role=swap-in\n"
      "x = Op : f32[4]\n"
      "tflms/out = Identity(x) : f32[4] @cpu role=swap-out\n"
      "v = Op(tflms/in, ^x) : f32[4]\n");
  EXPECT_EQ(PrintGraph(EraseRewrite(mixed)), "x = Op : f32[4]\nv = Op(x, ^x) : f32[4]\n");
}

TEST(Laws, ErasingEndsOnACircleOfAddedNodes) {
  const Graph circle = Parse(
      "tflms/a = Identity(tflms/b) : f32[4] @cpu role=swap-in\n"
      "tflms/b = Identity(tflms/a) : f32[4] @cpu role=swap-in\n"
      "tflms/c = Identity : f32[4] @cpu role=swap-in\n"
      "v = Op(tflms/a, tflms/c) : f32[4]\n");
  const Graph erased = EraseRewrite(circle);
  ASSERT_EQ(erased.size(), 1);
  EXPECT_EQ(erased.node(0).inputs[0].node, kNoNode);
  EXPECT_EQ(erased.node(0).inputs[1].node, kNoNode);
}

TEST(Laws, NoChangeIsLegal) {
  EXPECT_TRUE(VerifyRewrite(Parse(kBefore), Parse(kBefore)).ok());
  EXPECT_TRUE(VerifyRewrite(Graph(), Graph()).ok());
}

TEST(Laws, L3NamesWhatWasTouched) {
  const auto touched = [](const char* what) {
    return std::string("L3 node `w`: its ") + what + " was changed";
  };
  constexpr NodeId kW = 2;
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(kW).op = "Other"; }), touched("operation"));
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(kW).device = 1; }), touched("device"));
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(kW).flags = kRandom; }), touched("flags"));
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(kW).sync_group = 1; }), touched("sync group"));
  EXPECT_EQ(VerdictAfter([](Graph* g) {
              g->node(kW).outputs.pop_back();
              g->node(3).inputs[0].node = 1;
            }),
            touched("outputs"));
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(kW).state_bytes = 1; }), touched("state size"));
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(kW).workspace_bytes = 1; }), touched("workspace"));
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(kW).time_us = 9; }), touched("run time"));
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(kW).cookie = 9; }), touched("cookie"));
  EXPECT_EQ(VerdictAfter([](Graph* g) {
              g->node(kW).inputs.push_back({0, 0});
            }),
            touched("number of data inputs"));
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->devices[0].name = "tpu"; }),
            "L3 the devices of the graph were changed");
}

TEST(Laws, L3FindsLostAndForeignNodes) {
  const Graph before = Parse(kBefore);
  Graph after = before;
  after.nodes.pop_back();
  EXPECT_EQ(VerifyRewrite(before, after).message(), "L3 node `v`: the node is gone");
  after = before;
  after.nodes.emplace_back().name = "new";
  after.nodes.back().op = "Op";
  EXPECT_EQ(VerifyRewrite(before, after).message(),
            "L3 node `new`: the node is new, but no added one");
  after = Parse("y = Op : f32[4]\n");
  EXPECT_EQ(VerifyRewrite(Parse("x = Op : f32[4]\n"), after).message(),
            "L6 node `x`: after erasing, `y` stands in its place");
}

TEST(Laws, L4FindsACycleThroughAddedNodes) {
  EXPECT_EQ(VerdictAfter([](Graph* g) {
              g->node(5).control_inputs.push_back(3);  // the swap-in waits for its own reader
              ++g->node(5).added_controls;
            }).find("L4 node `"),
            0u);
}

TEST(Laws, L5LeavesARewrittenGraphAlone) {
  const Graph done = Parse(kAfter);
  EXPECT_TRUE(VerifyRewrite(done, done).ok());
  Graph again = done;
  again.node(3).control_inputs.push_back(1);
  again.node(3).added_controls = 1;
  EXPECT_EQ(VerifyRewrite(done, again).message(),
            "L5 the graph had been rewritten already and was changed again");
}

TEST(Laws, L6FindsEdgesThatErasingDoesNotBringBack) {
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(3).inputs[1].node = 2; }),
            "L6 node `v`: after erasing, its input 1 is no longer `x`");
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(4).inputs[0].node = 1; }).substr(0, 2), "L4");
  const std::string controls =
      ": after erasing, its control inputs are not the old ones: an added control input is not "
      "counted as added, or an old one is gone";
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(2).control_inputs.clear(); }),
            "L6 node `w`" + controls);
  EXPECT_EQ(VerdictAfter([](Graph* g) { g->node(3).control_inputs = {1}; }),
            "L6 node `v`" + controls);
}

TEST(Laws, L6NeedsTheSwappedTensorBack) {
  // `u` reads by way of the host what another node made.
  const Graph before = Parse("a = Op : f32[4]\nb = Op : f32[4]\nc = Op(a) : f32[4]\n");
  const Graph after = Parse(
      "a = Op : f32[4]\nb = Op : f32[4]\nc = Op(tflms/in) : f32[4]\n"
      "tflms/out = Identity(b) : f32[4] @cpu role=swap-out\n"
      "tflms/in = Identity(tflms/out) : f32[4]{alias=0} @cpu role=swap-in\n");
  EXPECT_EQ(VerifyRewrite(before, after).message(),
            "L6 node `c`: after erasing, its input 0 is no longer `a`");
}

TEST(Laws, DevicesMayBeAddedBehindTheOldOnes) {
  Graph before = Parse(kBefore);
  Graph after = before;
  after.devices.push_back({"disk", DeviceKind::kOther, kNoDevice});
  EXPECT_TRUE(VerifyRewrite(before, after).ok());
  EXPECT_EQ(VerifyRewrite(after, before).message(), "L3 the devices of the graph were changed");
}

}  // namespace
}  // namespace tflms
