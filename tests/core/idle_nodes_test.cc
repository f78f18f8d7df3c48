// SPDX-License-Identifier: Apache-2.0
//
// What order edges must keep away from: results of functions, nodes that a run leaves out,
// operations that meet in queues, collectives whose instance is an argument; and writes in place.

#include "src/tensorflow/idle_nodes.h"

#include <gtest/gtest.h>

#include "tests/core/wire_builder.h"

namespace tflms {
namespace {

NodeBytes Unary(std::string_view name, std::string_view op, std::string_view input) {
  return NodeBytes(name, op).Type("T", kFloat).Input(input).Device(kGpu0);
}

NodeBytes Fed(std::string_view name) {
  return NodeBytes(name, "Placeholder").Type("dtype", kFloat).Device(kGpu0);
}

GraphDefImport Import(const std::string& bytes, const ImportContext& context = {}) {
  Result<GraphDefImport> import = ImportGraphDef(bytes, context);
  EXPECT_TRUE(import.ok()) << import.status().ToString();
  return import.ok() ? std::move(*import) : GraphDefImport();
}

TEST(IdleNodes, WhatStandsOnlyBeforeAFedNodeTakesNoOrderEdges) {
  // x -> a -> b -> c, with b fed and c fetched.
  const std::string bytes = GraphBytes(
      {Fed("x"), Unary("a", "Sin", "x"), Unary("b", "Sin", "a"), Unary("c", "Sin", "b")});
  ImportContext context;
  context.preserve = {"b", "c"};
  context.fetched = {"c"};
  const GraphDefImport import = Import(bytes, context);
  for (const char* idle : {"x", "a", "b"}) {
    EXPECT_TRUE(Find(import.graph, idle).Has(kPinnedOutside)) << idle;
  }
  EXPECT_FALSE(Find(import.graph, "c").Has(kPinnedOutside));
  context.fetched = {};
  const GraphDefImport untold = Import(bytes, context);
  EXPECT_FALSE(Find(untold.graph, "a").Has(kPinnedOutside));
}

TEST(IdleNodes, AnotherWayToAFetchIsAWay) {
  // a is read behind the fed node too.
  const std::string bytes =
      GraphBytes({Fed("x"), Unary("a", "Sin", "x"), Unary("b", "Sin", "a"),
                  NodeBytes("c", "Add").Type("T", kFloat).Input("b").Input("a").Device(kGpu0)});
  ImportContext context;
  context.preserve = {"b", "c"};
  context.fetched = {"c"};
  const GraphDefImport import = Import(bytes, context);
  EXPECT_FALSE(Find(import.graph, "a").Has(kPinnedOutside));
  EXPECT_TRUE(Find(import.graph, "b").Has(kPinnedOutside));
}

TEST(IdleNodes, AFunctionsBodyRunsAsAWhole) {
  const std::string bytes =
      GraphBytes({NodeBytes("x", "_Arg").Type("T", kFloat).Int("index", 0).Device(kGpu0),
                  Unary("a", "Sin", "x"), Unary("r", "_Retval", "a")});
  ImportContext context;
  context.preserve = {"r"};
  context.fetched = {"nothing", "r"};
  const GraphDefImport import = Import(bytes, context);
  EXPECT_FALSE(Find(import.graph, "a").Has(kPinnedOutside));
  // A result is a place, not an operation: control edges out of it do not load.
  EXPECT_TRUE(Find(import.graph, "r").Has(kPinnedOutside));
}

TEST(IdleNodes, OperationsThatMeetInAQueueAreFound) {
  const NodeBytes queue = NodeBytes("q", "FIFOQueueV2");
  const NodeBytes put = NodeBytes("put", "QueueEnqueueV2").Input("q");
  const NodeBytes take = NodeBytes("take", "QueueDequeueV2").Input("q");
  EXPECT_FALSE(FindMeeting(Import(GraphBytes({queue, put}))).has_value());
  EXPECT_FALSE(FindMeeting(Import(GraphBytes({queue, take}))).has_value());
  const auto meeting = FindMeeting(Import(GraphBytes({queue, put, take})));
  ASSERT_TRUE(meeting.has_value());
  EXPECT_NE(meeting->find("`take`"), std::string::npos);
  EXPECT_NE(meeting->find("`put`"), std::string::npos);
}

TEST(IdleNodes, SizesOfStagingAreasMeetNobody) {
  EXPECT_FALSE(
      FindMeeting(Import(GraphBytes({NodeBytes("s", "StageSize"), NodeBytes("u", "Unstage")})))
          .has_value());
  EXPECT_TRUE(FindMeeting(Import(GraphBytes({NodeBytes("s", "Stage"), NodeBytes("u", "Unstage")})))
                  .has_value());
}

TEST(InPlace, WritesIntoAnInputAreUpdatesOfOneBuffer) {
  const Graph graph =
      Import(GraphBytes({Fed("x"), Fed("v"), NodeBytes("i", "Const").Type("dtype", kInt32),
                         NodeBytes("u", "InplaceUpdate")
                             .Type("T", kFloat)
                             .Input("x")
                             .Input("i")
                             .Input("v")
                             .Device(kGpu0)}))
          .graph;
  const Node& update = Find(graph, "u");
  EXPECT_EQ(update.inputs[0].action, EdgeAction::kUpdate);
  EXPECT_EQ(update.inputs[2].action, EdgeAction::kRead);
  EXPECT_EQ(update.outputs[0].alias_of, 0);
}

NodeBytes Reduce(std::string_view name, std::string_view input, std::string_view instance) {
  return NodeBytes(name, "CollectiveReduceV2")
      .Type("T", kFloat)
      .Input(input)
      .Input("size")
      .Input("group")
      .Input(instance)
      .Device(kGpu0);
}

std::string Collectives(const NodeBytes& first, const NodeBytes& second) {
  return GraphBytes({NodeBytes("size", "Const").Type("dtype", kInt32).Int32Scalar("value", 2),
                     NodeBytes("group", "Const").Type("dtype", kInt32).Int32Scalar("value", 1),
                     NodeBytes("k0", "_Arg").Type("T", kInt32).Int("index", 0),
                     NodeBytes("k1", "_Arg").Type("T", kInt32).Int("index", 1), Fed("x"), first,
                     second});
}

TEST(Collectives, InstancesThatAreArgumentsMakeOneGroupWhenIndependent) {
  const Graph graph = Import(Collectives(Reduce("c0", "x", "k0"), Reduce("c1", "x", "k1"))).graph;
  EXPECT_GT(Find(graph, "c0").sync_group, 0);
  EXPECT_EQ(Find(graph, "c0").sync_group, Find(graph, "c1").sync_group);
}

TEST(Collectives, OneBehindAnotherStaysUnknown) {
  const Graph graph = Import(Collectives(Reduce("c0", "x", "k0"), Reduce("c1", "c0", "k1"))).graph;
  EXPECT_EQ(Find(graph, "c0").sync_group, -1);
  EXPECT_EQ(Find(graph, "c1").sync_group, -1);
}

}  // namespace
}  // namespace tflms
