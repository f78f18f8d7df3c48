// SPDX-License-Identifier: Apache-2.0
//
// What the op table says of operations, one fact a test.

#include "src/tensorflow/op_table.h"

#include <gtest/gtest.h>

#include "wire_builder.h"

namespace tflms {
namespace {

TEST(OpTable, Flags) {
  EXPECT_EQ(FindFacts("MatMul").flags, 0U);
  EXPECT_EQ(FindFacts("VarHandleOp").flags, uint32_t{kParameterised});
  EXPECT_EQ(FindFacts("ReadVariableOp").flags, uint32_t{kParameterised});
  EXPECT_EQ(FindFacts("AssignSubVariableOp").flags, kParameterised | kSideEffect);
  EXPECT_EQ(FindFacts("ResourceApplyAdam").flags, kParameterised | kSideEffect);
  EXPECT_EQ(FindFacts("Assign").flags, kParameterised | kSideEffect);
  EXPECT_EQ(FindFacts("ApplyMomentum").flags, kParameterised | kSideEffect);
  EXPECT_EQ(FindFacts("RandomUniform").flags, uint32_t{kRandom});
  EXPECT_EQ(FindFacts("StatelessRandomUniformV2").flags, 0U) << "its seed is an input";
  EXPECT_EQ(FindFacts("Const").flags, uint32_t{kSource});
  EXPECT_EQ(FindFacts("PrintV2").flags & kSideEffect, uint32_t{kSideEffect});
  EXPECT_EQ(FindFacts("Assert").flags & kSideEffect, uint32_t{kSideEffect});
  EXPECT_EQ(FindFacts("QueueDequeueV2").flags & kPinnedOutside, uint32_t{kPinnedOutside});
  EXPECT_EQ(FindFacts("CollectiveReduceV2").flags & kCollective, uint32_t{kCollective});
  EXPECT_EQ(FindFacts("StatefulPartitionedCall").flags & kCall, uint32_t{kCall});
  EXPECT_EQ(FindFacts("TensorListPushBack").flags, 0U);
  EXPECT_EQ(FindFacts("NobodyKnowsThisOp").flags, uint32_t{kSideEffect});
}

TEST(OpTable, SignaturesGiveOutputs) {
  const auto count = [](std::string_view op) {
    const auto outputs = SignatureOutputs(op, {}, 100);
    return outputs ? static_cast<int>(outputs->size()) : -1;
  };
  EXPECT_EQ(count("NoOp"), 0);
  EXPECT_EQ(count("Greater"), 1);
  EXPECT_EQ(count("Split"), -1) << "num_split is needed";
  EXPECT_EQ(count("NobodyKnowsThisOp"), -1);
}

GraphDefImport MlpStep() { return MustImport(ReadData("mlp_adam.pb")); }

TEST(OpTable, UpdateEdgesOfResourceVariables) {
  const GraphDefImport import = MlpStep();
  const Node& adam = Find(import.graph, "train/update_w1/ResourceApplyAdam");
  for (int slot : {0, 1, 2}) {
    EXPECT_EQ(adam.inputs[static_cast<size_t>(slot)].action, EdgeAction::kUpdate) << slot;
  }
  EXPECT_EQ(adam.inputs.back().action, EdgeAction::kRead) << "the gradient";
  EXPECT_EQ(Find(import.graph, "w1/Read/ReadVariableOp").inputs[0].action, EdgeAction::kRead);
}

TEST(OpTable, UpdateEdgesOfReferenceVariables) {
  const GraphDefImport import = MustImport(ReadData("conv_net.pb"));
  const Node& momentum = Find(import.graph, "train/update_kernel/ApplyMomentum");
  EXPECT_EQ(momentum.inputs[0].action, EdgeAction::kUpdate);
  EXPECT_EQ(momentum.inputs[1].action, EdgeAction::kUpdate);
  EXPECT_EQ(momentum.inputs[3].action, EdgeAction::kRead);
  const Node& read = Find(import.graph, "kernel/read");
  EXPECT_EQ(read.inputs[0].action, EdgeAction::kRead);
  EXPECT_EQ(read.outputs[0].alias_of, 0);
  EXPECT_TRUE(Find(import.graph, "kernel").outputs[0].persistent);
}

TEST(OpTable, StateOfVariablesIsCountedOnce) {
  const GraphDefImport import = MlpStep();
  EXPECT_EQ(Find(import.graph, "w1").state_bytes, 20 * 64 * 4);
  EXPECT_EQ(Find(import.graph, "b1").state_bytes, 64 * 4);
  const Graph refs = MustImport(ReadData("conv_net.pb")).graph;
  EXPECT_EQ(Find(refs, "kernel").state_bytes, 3 * 3 * 3 * 4 * 4);
  // Two handles of one variable.
  const auto handle = [](std::string_view name) {
    return NodeBytes(name, "VarHandleOp")
        .Type("dtype", kFloat)
        .ShapeOf("shape", {10})
        .String("shared_name", "v");
  };
  const Graph twice = MustImport(GraphBytes({handle("a"), handle("b")})).graph;
  EXPECT_EQ(twice.node(0).state_bytes + twice.node(1).state_bytes, 40);
}

TEST(OpTable, StateOfResourceArgumentsComesFromTheirUse) {
  const auto arg = [](std::string_view name) {
    return NodeBytes(name, "_Arg").Type("T", kResource).Device(kGpu0);
  };
  const Graph graph =
      MustImport(
          GraphBytes({
              arg("read"),
              arg("applied"),
              arg("unused"),
              NodeBytes("i", "Identity").Input("read").Type("T", kResource),
              NodeBytes("r", "ReadVariableOp").Input("i").Type("dtype", kFloat).Device(kGpu0),
              Big("grad", "Placeholder", {}),
              NodeBytes("lr", "Const").Type("dtype", kFloat).Tensor("value", kFloat, {}),
              NodeBytes("sgd", "ResourceApplyGradientDescent")
                  .Input("applied")
                  .Input("lr")
                  .Input("grad"),
          }),
          [] {
            ImportContext context;
            context.inferred["r"] = {{DataType::kFloat32, false, Shape::Known({25})}};
            return context;
          }())
          .graph;
  EXPECT_EQ(Find(graph, "read").state_bytes, 100);
  EXPECT_EQ(Find(graph, "applied").state_bytes, 4 << 20);
  EXPECT_EQ(Find(graph, "unused").state_bytes, 0);
}

TEST(OpTable, ConstantsAndArgumentsPersist) {
  const Graph graph =
      MustImport(GraphBytes({
                     NodeBytes("c", "Const")
                         .Type("dtype", kFloat)
                         .Device(kGpu0)
                         .Tensor("value", kFloat, {256}),
                     NodeBytes("i", "Const")
                         .Type("dtype", kInt32)
                         .Device(kGpu0)
                         .Tensor("value", kInt32, {256}),
                     NodeBytes("a", "_Arg").Type("T", kFloat).Device(kGpu0).ShapeOf("shape", {8}),
                 }))
          .graph;
  EXPECT_EQ(graph.node(0).state_bytes, 1024);
  EXPECT_TRUE(graph.node(0).outputs[0].persistent);
  EXPECT_EQ(graph.node(1).state_bytes, 0) << "int32 constants stay on the host";
  EXPECT_TRUE(graph.node(1).outputs[0].host_memory);
  EXPECT_EQ(graph.node(2).state_bytes, 32);
}

TEST(OpTable, HostMemoryOfAcceleratorNodes) {
  const auto on = [](std::string_view device) {
    return MustImport(
               GraphBytes({
                   NodeBytes("x", "Placeholder").Type("dtype", kFloat).Device(device),
                   NodeBytes("s", "Shape")
                       .Input("x")
                       .Type("T", kFloat)
                       .Type("out_type", kInt64)
                       .Device(device),
                   NodeBytes("g", "Greater").Input("s").Input("s").Type("T", kInt32).Device(device),
                   NodeBytes("f", "Greater").Input("x").Input("x").Type("T", kFloat).Device(device),
                   NodeBytes("m", "AddV2").Input("s").Input("s").Type("T", kInt32).Device(device),
               }))
        .graph;
  };
  const Graph gpu = on(kGpu0);
  EXPECT_FALSE(Find(gpu, "x").outputs[0].host_memory);
  EXPECT_TRUE(Find(gpu, "s").outputs[0].host_memory);
  EXPECT_TRUE(Find(gpu, "g").outputs[0].host_memory);
  EXPECT_FALSE(Find(gpu, "f").outputs[0].host_memory);
  EXPECT_TRUE(Find(gpu, "m").outputs[0].host_memory);
  EXPECT_FALSE(Find(on(kCpu0), "s").outputs[0].host_memory) << "everything there is host memory";
}

TEST(OpTable, SharedBuffers) {
  EXPECT_EQ(FindFacts("Reshape").sharing, Sharing::kAliasFirst);
  EXPECT_EQ(FindFacts("IdentityN").sharing, Sharing::kAliasEach);
  EXPECT_EQ(FindFacts("Relu").sharing, Sharing::kReuseFirst);
  EXPECT_EQ(FindFacts("AddV2").sharing, Sharing::kReuseEqual);
  EXPECT_EQ(FindFacts("MatMul").sharing, Sharing::kOwn);
  EXPECT_EQ(FindFacts("Cast").sharing, Sharing::kOwn);
  const Graph graph = MustImport(GraphBytes({
                                     Big("a", "Placeholder", {}),
                                     NodeBytes("n", "IdentityN")
                                         .Input("a")
                                         .Input("a")
                                         .Device(kGpu0)
                                         .TypeList("T", {kFloat, kFloat}),
                                 }))
                          .graph;
  EXPECT_EQ(graph.node(1).outputs[0].alias_of, 0);
  EXPECT_EQ(graph.node(1).outputs[1].alias_of, 1);
}

TEST(OpTable, ACopyBetweenDevicesSharesNothing) {
  const Graph graph =
      MustImport(GraphBytes({
                     Big("a", "Placeholder", {}),
                     NodeBytes("host", "Identity").Input("a").Device(kCpu0).Type("T", kFloat),
                     NodeBytes("back", "Tanh").Input("host").Device(kGpu0).Type("T", kFloat),
                     NodeBytes("here", "Identity").Input("a").Device(kGpu0).Type("T", kFloat),
                 }))
          .graph;
  EXPECT_EQ(Find(graph, "host").outputs[0].alias_of, -1);
  EXPECT_EQ(Find(graph, "back").outputs[0].may_reuse, -1);
  EXPECT_EQ(Find(graph, "here").outputs[0].alias_of, 0);
}

TEST(OpTable, LoopsOfTheFirstControlFlow) {
  const Graph graph = MustImport(ReadData("while_v1.pb")).graph;
  int enters = 0, merges = 0, exits = 0;
  for (const Node& node : graph.nodes) {
    enters += node.Has(kEnter);
    merges += node.Has(kMerge);
    exits += node.Has(kExit);
    EXPECT_EQ(node.Has(kEnter), !node.frame_name.empty()) << node.name;
    EXPECT_EQ(node.op == "NextIteration", node.Has(kNextIteration)) << node.name;
  }
  EXPECT_GT(enters, 0);
  EXPECT_GT(merges, 0);
  EXPECT_GT(exits, 0);
}

TEST(OpTable, PartsForACompilerAreMarked) {
  const Graph graph = MustImport(ReadData("function_library.pb")).graph;
  int calls = 0;
  for (const Node& node : graph.nodes) calls += node.Has(kCall);
  EXPECT_GT(calls, 0);
  const std::string bytes = LibraryBytes("jitted", true) + LibraryBytes("plain", false) +
                            GraphBytes({NodeBytes("a", "PartitionedCall").Function("f", "jitted"),
                                        NodeBytes("b", "PartitionedCall").Function("f", "plain"),
                                        NodeBytes("c", "jitted"), NodeBytes("d", "plain"),
                                        NodeBytes("e", "Relu").Bool("_XlaCompile", true)});
  const Graph made = MustImport(bytes).graph;
  EXPECT_TRUE(Find(made, "a").Has(kCompiled));
  EXPECT_FALSE(Find(made, "b").Has(kCompiled));
  EXPECT_TRUE(Find(made, "c").Has(kCompiled) && Find(made, "c").Has(kCall));
  EXPECT_TRUE(Find(made, "d").Has(kCall));
  EXPECT_TRUE(Find(made, "e").Has(kCompiled));
}

TEST(OpTable, SumsOfThreeOrMorePickAnInput) {
  const auto flags = [](int inputs) {
    NodeBytes sum("s", "AddN");
    sum.Type("T", kFloat).Int("N", inputs);
    std::vector<NodeBytes> nodes;
    for (int i = 0; i < inputs; ++i) {
      const std::string name = "x" + std::to_string(i);
      nodes.push_back(NodeBytes(name, "Placeholder").Type("dtype", kFloat));
      sum.Input(name);
    }
    nodes.push_back(sum);
    return Find(MustImport(GraphBytes(nodes)).graph, "s").flags;
  };
  EXPECT_EQ(flags(2) & kPicksInput, 0u);
  EXPECT_EQ(flags(3) & kPicksInput, uint32_t{kPicksInput});
}

// Bytes of reserve_space_3 of a batch normalisation of `dtype` whose output 0 has `shape`.
std::optional<int64_t> ReserveBytes(DataType dtype, const Shape& shape,
                                    const Shape& reserve = Shape::Unknown()) {
  const TensorType y = {dtype, false, shape}, each = {DataType::kFloat32, false, Shape::Known({8})};
  ImportContext context;
  context.inferred["n"] = {y, each, each, each, each, {DataType::kFloat32, false, reserve}};
  const Graph graph =
      MustImport(GraphBytes({NodeBytes("n", "FusedBatchNormV3").Type("T", kFloat)}), context).graph;
  return SizeBytes(graph.node(0).outputs[5].type);
}

TEST(OpTable, ReserveSpaceOfANormalisationHasASize) {
  const Shape images = Shape::Known({2, 5, 5, 8});  // 400 elements: 13 floats hold as many bits
  EXPECT_EQ(ReserveBytes(DataType::kFloat32, images), 4);
  EXPECT_EQ(ReserveBytes(DataType::kFloat32, Shape::Unknown()), 4);
  EXPECT_EQ(ReserveBytes(DataType::kFloat16, images), 52);
  EXPECT_EQ(ReserveBytes(DataType::kBFloat16, images), 52);
  EXPECT_EQ(ReserveBytes(DataType::kFloat16, Shape::Known({64})), 8);
  EXPECT_EQ(ReserveBytes(DataType::kFloat16, Shape::Known({0, 8})), 4);
  EXPECT_EQ(ReserveBytes(DataType::kFloat16, Shape::Known({kUnknownExtent, 8})), std::nullopt);
  EXPECT_EQ(ReserveBytes(DataType::kFloat32, images, Shape::Known({0})), 0) << "it is known";
}

NodeBytes Key(std::string_view name, int value) {
  return NodeBytes(name, "Const").Type("dtype", kInt32).Int32Scalar("value", value);
}

NodeBytes Reduce(std::string_view name, const std::string& group, const std::string& instance) {
  return NodeBytes(name, "CollectiveReduceV2")
      .Input("x")
      .Input("size")
      .Input(group)
      .Input(instance)
      .Type("T", kFloat);
}

TEST(OpTable, SyncGroupsOfCollectives) {
  const Graph graph = MustImport(GraphBytes({
                                     Big("x", "Placeholder", {}),
                                     Key("size", 2),
                                     Key("g", 1),
                                     Key("i1", 7),
                                     Key("i2", 8),
                                     Key("i3", 9),
                                     Reduce("a0", "g", "i1"),
                                     Reduce("a1", "g", "i1"),
                                     Reduce("b0", "g", "i2"),
                                     Reduce("b1", "g", "i2"),
                                     Reduce("alone", "g", "i3"),  // its peer is in another graph
                                     NodeBytes("n0", "NcclAllReduce")
                                         .Input("x")
                                         .String("shared_name", "s")
                                         .Int("num_devices", 2),
                                     NodeBytes("n1", "NcclAllReduce")
                                         .Input("x")
                                         .String("shared_name", "s")
                                         .Int("num_devices", 2),
                                     NodeBytes("v3", "CollectiveReduceV3").Input("x"),
                                 }))
                          .graph;
  const auto group = [&](const char* name) { return Find(graph, name).sync_group; };
  EXPECT_GT(group("a0"), 0);
  EXPECT_EQ(group("a0"), group("a1"));
  EXPECT_GT(group("b0"), 0);
  EXPECT_NE(group("a0"), group("b0"));
  EXPECT_EQ(group("alone"), -1);
  EXPECT_GT(group("n0"), 0);
  EXPECT_EQ(group("n0"), group("n1"));
  EXPECT_EQ(group("v3"), -1);
  EXPECT_EQ(group("x"), 0);
}

}  // namespace
}  // namespace tflms
