// SPDX-License-Identifier: Apache-2.0
//
// GraphDef -> Graph: names, devices, inputs, types, and our own nodes recognised.

#include <gtest/gtest.h>

#include "src/graph/verifier.h"
#include "wire_builder.h"

namespace tflms {
namespace {

TEST(WireImport, InputsKeepOrderPortsAndDuplicates) {
  const GraphDefImport import = MustImport(GraphBytes({
      NodeBytes("s", "Split").Int("num_split", 3).Type("T", kFloat),
      NodeBytes("c", "NoOp"),
      NodeBytes("n", "AddN").Input("s:2").Input("s").Input("s:2").Input("^c").Input("^s"),
  }));
  const Node& n = Find(import.graph, "n");
  EXPECT_EQ(n.inputs,
            (std::vector<Input>{
                {0, 2, EdgeAction::kRead}, {0, 0, EdgeAction::kRead}, {0, 2, EdgeAction::kRead}}));
  EXPECT_EQ(n.control_inputs, (std::vector<NodeId>{1, 0}));
  EXPECT_EQ(n.added_controls, 0);
  EXPECT_EQ(import.graph.node(0).outputs.size(), 3U);
}

TEST(WireImport, ReadersMayStandBeforeProducers) {
  const GraphDefImport import = MustImport(
      GraphBytes({NodeBytes("b", "Identity").Input("a"), NodeBytes("a", "Placeholder")}));
  EXPECT_EQ(import.graph.node(0).inputs[0].node, 1);
}

TEST(WireImport, FieldsOfANodeMayComeInAnyOrder) {
  NodeBytes node("", "");
  const std::string in_order = NodeBytes("b", "Identity").Input("a").Type("T", kFloat).bytes();
  const std::string name = in_order.substr(0, 3);
  NodeBytes shuffled("", "");
  shuffled.Raw(in_order.substr(3)).Raw(name);
  const GraphDefImport import =
      MustImport(GraphBytes({shuffled, NodeBytes("a", "Placeholder").Type("dtype", kFloat)}));
  EXPECT_EQ(import.graph.node(0).name, "b");
  EXPECT_EQ(import.graph.node(0).op, "Identity");
}

TEST(WireImport, RepeatedControlInputCountsOnce) {
  const std::string bytes = GraphBytes(
      {NodeBytes("a", "NoOp"), NodeBytes("b", "NoOp").Input("^a").Input("^a").Input("^a")});
  const GraphDefImport import = MustImport(bytes);
  EXPECT_EQ(import.graph.node(1).control_inputs, (std::vector<NodeId>{0}));
  EXPECT_EQ(MustExport(import.graph, import), bytes);
}

TEST(WireImport, DevicesByTypeWhateverTheSpelling) {
  const GraphDefImport import = MustImport(GraphBytes({
      NodeBytes("full", "NoOp").Device(kGpu0),
      NodeBytes("other", "NoOp").Device(kGpu1),
      NodeBytes("partial", "NoOp").Device("/device:GPU:0"),
      NodeBytes("old", "NoOp").Device("/gpu:0"),
      NodeBytes("host", "NoOp").Device(kCpu0),
      NodeBytes("none", "NoOp"),
      NodeBytes("any", "NoOp").Device("/device:GPU:*"),
      NodeBytes("tpu", "NoOp").Device("/device:TPU:0"),
      NodeBytes("odd", "NoOp").Device("not a device"),
  }));
  const Graph& graph = import.graph;
  const auto kind = [&](const char* name) { return graph.kind_of(FindId(graph, name)); };
  EXPECT_EQ(kind("full"), DeviceKind::kAccelerator);
  EXPECT_EQ(kind("other"), DeviceKind::kAccelerator);
  EXPECT_EQ(kind("partial"), DeviceKind::kAccelerator);
  EXPECT_EQ(kind("old"), DeviceKind::kAccelerator);
  EXPECT_EQ(kind("host"), DeviceKind::kHost);
  EXPECT_EQ(kind("none"), DeviceKind::kOther);
  EXPECT_EQ(kind("any"), DeviceKind::kOther);
  EXPECT_EQ(kind("tpu"), DeviceKind::kOther);
  EXPECT_EQ(kind("odd"), DeviceKind::kOther);
  EXPECT_EQ(Find(graph, "partial").device, Find(graph, "old").device);
  EXPECT_NE(Find(graph, "full").device, Find(graph, "other").device);
  EXPECT_EQ(Find(graph, "none").device, kNoDevice);
  const Device& gpu0 = graph.devices[static_cast<size_t>(Find(graph, "full").device)];
  EXPECT_EQ(graph.devices[static_cast<size_t>(gpu0.host)].name, kCpu0);
  EXPECT_EQ(gpu0.host, Find(graph, "host").device);
}

TEST(WireImport, TwoLogicalCpusPlayAcceleratorAndHost) {
  ImportContext context;
  context.device_type = "CPU";
  context.host_device = "CPU:1";
  const GraphDefImport import =
      MustImport(GraphBytes({NodeBytes("a", "NoOp").Device("/device:CPU:0"),
                             NodeBytes("b", "NoOp").Device("/device:CPU:1")}),
                 context);
  EXPECT_EQ(import.graph.kind_of(0), DeviceKind::kAccelerator);
  EXPECT_EQ(import.graph.kind_of(1), DeviceKind::kHost);
  EXPECT_EQ(import.graph.devices[0].host, import.graph.node(1).device);
}

TEST(WireImport, HostDeviceKeepsJobReplicaAndTask) {
  EXPECT_EQ(HostDeviceFor("/job:worker/replica:0/task:3/device:GPU:1", "CPU:0"),
            "/job:worker/replica:0/task:3/device:CPU:0");
  EXPECT_EQ(HostDeviceFor("/gpu:1", "CPU:0"), "/device:CPU:0");
  EXPECT_EQ(HostDeviceFor("", "CPU:0"), "");
  EXPECT_EQ(HostDeviceFor("/device:GPU:0", ""), "");
  EXPECT_EQ(HostDeviceFor("nonsense", "CPU:0"), "");
}

TEST(WireImport, InferredTypesComeFirstAndFixTheNumberOfOutputs) {
  ImportContext context;
  context.inferred["a"] = {{DataType::kFloat16, false, Shape::Known({2, 3})},
                           {DataType::kInt64, false, Shape::Unknown()}};
  const GraphDefImport import = MustImport(GraphBytes({NodeBytes("a", "SomeUserOp")}), context);
  ASSERT_EQ(import.graph.node(0).outputs.size(), 2U);
  EXPECT_EQ(SizeBytes(import.graph.node(0).outputs[0].type), 12);
  EXPECT_EQ(import.graph.node(0).outputs[1].type.dtype, DataType::kInt64);
}

TEST(WireImport, WithoutInferenceTypesComeFromSignatureAndAttributes) {
  const GraphDefImport import = MustImport(GraphBytes({
      NodeBytes("c", "Const").Type("dtype", kFloat).Tensor("value", kFloat, {7, 2}),
      NodeBytes("p", "Placeholder").Type("dtype", kInt64).ShapeOf("shape", {-1, 4}),
      NodeBytes("s", "Shape").Input("c").Type("T", kFloat),
      NodeBytes("e", "Greater").Input("c").Input("c").Type("T", kFloat),
      NodeBytes("u", "SomeUserOp").Input("c"),
      NodeBytes("r", "Identity").Input("u:3"),
      NodeBytes("v", "VariableV2").Type("dtype", kFloat).ShapeOf("shape", {5}),
      NodeBytes("l", "IdentityN").Input("c").Input("p").TypeList("T", {kFloat, kInt64}),
  }));
  const auto type = [&](const char* name) { return Find(import.graph, name).outputs[0].type; };
  EXPECT_EQ(type("c"), (TensorType{DataType::kFloat32, false, Shape::Known({7, 2})}));
  EXPECT_EQ(type("p"), (TensorType{DataType::kInt64, false, Shape::Known({-1, 4})}));
  EXPECT_EQ(type("s").dtype, DataType::kInt32) << "the default of out_type";
  EXPECT_EQ(type("e").dtype, DataType::kBool);
  EXPECT_EQ(type("v"), (TensorType{DataType::kFloat32, true, Shape::Known({5})}));
  EXPECT_EQ(Find(import.graph, "l").outputs[1].type.dtype, DataType::kInt64);
  EXPECT_EQ(Find(import.graph, "u").outputs.size(), 4U) << "ports known only by their readers";
  EXPECT_EQ(Find(import.graph, "u").outputs[3].type.dtype, DataType::kInvalid);
  EXPECT_EQ(type("r").dtype, DataType::kInvalid) << "no attribute T";
}

TEST(WireImport, OutputShapesAttributeFillsWhatInferenceLeavesOpen) {
  const GraphDefImport import = MustImport(ReadData("mlp_adam.pb"));
  int64_t known = 0;
  for (const Node& node : import.graph.nodes) {
    for (const OutputInfo& output : node.outputs) known += SizeBytes(output.type).has_value();
  }
  EXPECT_GT(known, import.graph.size() / 2);
  const Node& relu = Find(import.graph, "Relu");
  EXPECT_EQ(relu.outputs[0].type, (TensorType{DataType::kFloat32, false, Shape::Known({32, 64})}));
}

TEST(WireImport, EveryFileGivesALawfulGraph) {
  for (const std::string& file : DataFiles()) {
    const Status status = VerifyGraph(MustImport(ReadData(file)).graph);
    EXPECT_TRUE(status.ok()) << file << ": " << status.ToString();
  }
}

TEST(WireImport, PreservedNodesAreMarked) {
  ImportContext context;
  context.preserve = {"a"};
  const GraphDefImport import =
      MustImport(GraphBytes({NodeBytes("a", "NoOp"), NodeBytes("b", "NoOp")}), context);
  EXPECT_TRUE(import.graph.node(0).Has(kPreserved));
  EXPECT_FALSE(import.graph.node(1).Has(kPreserved));
}

TEST(WireImport, FunctionsAreListedAndKept) {
  const GraphDefImport import = MustImport(ReadData("function_library.pb"));
  ASSERT_FALSE(import.functions.empty());
  int64_t compiled = 0;
  for (const LibraryFunction& function : import.functions) {
    EXPECT_FALSE(function.name.empty());
    compiled += function.must_compile;
  }
  EXPECT_GT(compiled, 0);
}

TEST(WireImport, TensorPropertiesAsShapeInferenceGivesThem) {
  // dtype float; shape [32, -7, 5]: -7 is a symbol for an unknown extent.
  const std::string bytes(
      "\x08\x01\x12\x15\x12\x02\x08\x20\x12\x0b\x08\xf9\xff\xff\xff\xff\xff"
      "\xff\xff\xff\x01\x12\x02\x08\x05",
      25);
  const Result<TensorType> type = ParseTensorProperties(bytes);
  ASSERT_TRUE(type.ok()) << type.status().ToString();
  EXPECT_EQ(*type, (TensorType{DataType::kFloat32, false, Shape::Known({32, -7, 5})}));
  EXPECT_FALSE(ParseTensorProperties(bytes.substr(0, 24)).ok());
  EXPECT_EQ(ParseTensorProperties("")->dtype, DataType::kInvalid);
  EXPECT_FALSE(ParseTensorProperties("")->shape.rank_known);
  // A scalar has a type and no word of a shape; an unknown rank says so.
  EXPECT_EQ(*ParseTensorProperties("\x08\x01"),
            (TensorType{DataType::kFloat32, false, Shape::Known({})}));
  EXPECT_FALSE(ParseTensorProperties("\x08\x01\x12\x02\x18\x01")->shape.rank_known);
}

}  // namespace
}  // namespace tflms
