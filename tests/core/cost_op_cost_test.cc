// SPDX-License-Identifier: Apache-2.0
//
// Formulas of single operations against figures computed by hand.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "src/cost/op_cost.h"
#include "src/cost/op_kinds.h"

namespace tflms {
namespace {

using Extents = std::vector<int64_t>;

constexpr int64_t kNone = kUnknownExtent;

OutputInfo Tensor(const Extents& extents, DataType dtype = DataType::kFloat32) {
  OutputInfo output;
  output.type = {dtype, false, Shape::Known(extents)};
  return output;
}

// One operation on an accelerator, each input made by a node of its own.
struct OneOp {
  Graph graph;
  NodeId id = kNoNode;

  OneOp(const std::string& op, const std::vector<OutputInfo>& inputs,
        const std::vector<OutputInfo>& outputs) {
    graph.devices = {{"/device:GPU:0", DeviceKind::kAccelerator, kNoDevice}};
    Node node;
    for (const OutputInfo& input : inputs) {
      Node source;
      source.name = "in" + std::to_string(graph.size());
      source.op = "Source";
      source.device = 0;
      source.flags = kSource;
      source.outputs = {input};
      node.inputs.push_back({graph.size(), 0, EdgeAction::kRead});
      graph.nodes.push_back(source);
    }
    node.name = "v";
    node.op = op;
    node.device = 0;
    node.outputs = outputs;
    id = graph.size();
    graph.nodes.push_back(node);
  }
  Node& node() { return graph.node(id); }
  OpCost Price() const { return PriceOperation(graph, id, Machine()); }
  // A launch of 2 us, 1,000 flops, 500 half flops and 100 bytes a microsecond.
  static MachineProfile Machine() {
    MachineProfile machine;
    machine.flops_per_us = 1000;
    machine.half_flops_per_us = 500;
    machine.memory_bytes_per_us = 100;
    machine.launch_us = 2;
    return machine;
  }
};

double FlopsOf(const std::string& op, const std::vector<Extents>& inputs, const Extents& output) {
  std::vector<OutputInfo> in;
  for (const Extents& extents : inputs) in.push_back(Tensor(extents));
  const OpCost cost = OneOp(op, in, {Tensor(output)}).Price();
  EXPECT_EQ(cost.by, PricedBy::kFormula) << op;
  return cost.flops;
}

// ResNet-50's first convolution, 7x7x3 to 64 channels at stride 2, one image of 224x224 pixels:
// 112 * 112 * 64 outputs, 7 * 7 * 3 multiply-adds each = 118,013,952 multiply-adds.
TEST(OpCost, TheFirstConvolutionOfResNet50) {
  const double flops = 2 * 118013952.0;
  EXPECT_EQ(FlopsOf("Conv2D", {{1, 224, 224, 3}, {7, 7, 3, 64}}, {1, 112, 112, 64}), flops);
  EXPECT_EQ(FlopsOf("Conv2D", {{1, 3, 224, 224}, {7, 7, 3, 64}}, {1, 64, 112, 112}), flops);
  EXPECT_EQ(FlopsOf("_FusedConv2D", {{1, 224, 224, 3}, {7, 7, 3, 64}, {64}}, {1, 112, 112, 64}),
            flops);
  // Its gradients do the same multiply-adds.
  EXPECT_EQ(
      FlopsOf("Conv2DBackpropInput", {{4}, {7, 7, 3, 64}, {1, 112, 112, 64}}, {1, 224, 224, 3}),
      flops);
  EXPECT_EQ(
      FlopsOf("Conv2DBackpropFilter", {{1, 224, 224, 3}, {4}, {1, 112, 112, 64}}, {7, 7, 3, 64}),
      flops);
}

TEST(OpCost, GroupedDepthwiseAndVolumes) {
  // 32 channels in 4 groups of 8: the filter holds 8 input channels.
  EXPECT_EQ(FlopsOf("Conv2D", {{2, 10, 10, 32}, {3, 3, 8, 16}}, {2, 10, 10, 16}),
            2.0 * (2 * 10 * 10 * 16) * (3 * 3 * 8));
  const double depthwise = 2.0 * (2 * 10 * 10 * 64) * (3 * 3);
  EXPECT_EQ(FlopsOf("DepthwiseConv2dNative", {{2, 10, 10, 32}, {3, 3, 32, 2}}, {2, 10, 10, 64}),
            depthwise);
  EXPECT_EQ(FlopsOf("DepthwiseConv2dNativeBackpropInput", {{4}, {3, 3, 32, 2}, {2, 10, 10, 64}},
                    {2, 10, 10, 32}),
            depthwise);
  EXPECT_EQ(FlopsOf("DepthwiseConv2dNativeBackpropFilter", {{2, 10, 10, 32}, {4}, {2, 10, 10, 64}},
                    {3, 3, 32, 2}),
            depthwise);
  const double volume = 2.0 * (8 * 8 * 8 * 5) * (3 * 3 * 3 * 4);
  EXPECT_EQ(FlopsOf("Conv3D", {{1, 8, 8, 8, 4}, {3, 3, 3, 4, 5}}, {1, 8, 8, 8, 5}), volume);
  EXPECT_EQ(
      FlopsOf("Conv3DBackpropInputV2", {{5}, {3, 3, 3, 4, 5}, {1, 8, 8, 8, 5}}, {1, 8, 8, 8, 4}),
      volume);
  EXPECT_EQ(
      FlopsOf("Conv3DBackpropFilterV2", {{1, 8, 8, 8, 4}, {5}, {1, 8, 8, 8, 5}}, {3, 3, 3, 4, 5}),
      volume);
}

TEST(OpCost, MatrixProducts) {
  EXPECT_EQ(FlopsOf("MatMul", {{20, 30}, {30, 50}}, {20, 50}), 2.0 * 20 * 30 * 50);
  EXPECT_EQ(FlopsOf("MatMul", {{30, 20}, {50, 30}}, {20, 50}), 2.0 * 20 * 30 * 50);
  EXPECT_EQ(FlopsOf("BatchMatMulV2", {{4, 8, 20, 30}, {4, 8, 30, 50}}, {4, 8, 20, 50}),
            2.0 * 32 * 20 * 30 * 50);
  EXPECT_EQ(FlopsOf("BatchMatMulV2", {{4, 8, 20, 30}, {30, 50}}, {4, 8, 20, 50}),
            2.0 * 32 * 20 * 30 * 50);
  EXPECT_EQ(FlopsOf("BatchMatMulV2", {{4, 0, 20, 30}, {4, 0, 30, 50}}, {4, 0, 20, 50}), 0);
}

TEST(OpCost, EinsumsAreToldFromTheirExtents) {
  struct Case {
    const char* equation;
    Extents a, b, c;
    double flops;
  };
  const Case kCases[] = {
      {"ab,bc->ac", {20, 30}, {30, 50}, {20, 50}, 2.0 * 20 * 30 * 50},
      {"ab,bc->ac", {20, 20}, {20, 20}, {20, 20}, 2.0 * 20 * 20 * 20},
      {"abc,cde->abde", {6, 7, 24}, {24, 3, 8}, {6, 7, 3, 8}, 2.0 * 6 * 7 * 24 * 3 * 8},
      // Attention: scores, then values; queries and keys of one length.
      {"aecd,abcd->acbe", {5, 9, 4, 16}, {5, 9, 4, 16}, {5, 4, 9, 9}, 2.0 * 5 * 4 * 9 * 9 * 16},
      {"acbe,aecd->abcd", {5, 4, 9, 9}, {5, 9, 4, 16}, {5, 9, 4, 16}, 2.0 * 5 * 4 * 9 * 9 * 16},
      {"abc,abc->", {2, 3, 4}, {2, 3, 4}, {}, 2.0 * 2 * 3 * 4},
      {"a,b->ab", {20}, {30}, {20, 30}, 2.0 * 20 * 30},
      {"ab,bc->ac", {0, 30}, {30, 50}, {0, 50}, 0},
  };
  for (const Case& c : kCases) {
    EXPECT_NEAR(FlopsOf("Einsum", {c.a, c.b}, c.c), c.flops, 1e-6 * c.flops) << c.equation;
  }
  EXPECT_EQ(FlopsOf("Einsum", {{20, 30}}, {30, 20}), 0);
}

TEST(OpCost, TimeIsALaunchAndTheSlowerOfComputeAndMemory) {
  // 12,000 flops take 12 us; 4 * (200 + 300 + 600) = 4,400 bytes take 44.
  EXPECT_EQ(
      OneOp("MatMul", {Tensor({20, 10}), Tensor({10, 30})}, {Tensor({20, 30})}).Price().time_us,
      2 + 44);
  // 2 * 50^3 = 250,000 flops take 250 us; 4 * 7,500 bytes take 300; 16-bit floats 500 and 150.
  const OpCost full =
      OneOp("MatMul", {Tensor({50, 50}), Tensor({50, 50})}, {Tensor({50, 50})}).Price();
  EXPECT_EQ(full.time_us, 2 + 300);
  for (DataType dtype : {DataType::kFloat16, DataType::kBFloat16}) {
    const OutputInfo half = Tensor({50, 50}, dtype);
    const OpCost cost = OneOp("MatMul", {half, half}, {half}).Price();
    EXPECT_EQ(cost.flops, full.flops);
    EXPECT_EQ(cost.bytes, full.bytes / 2);
    EXPECT_EQ(cost.time_us, 2 + 500);
  }
}

TEST(OpCost, WhatIsNotComputedIsMoved) {
  const OpCost relu = OneOp("Relu", {Tensor({10, 10})}, {Tensor({10, 10})}).Price();
  EXPECT_EQ(relu.by, PricedBy::kFormula);
  EXPECT_EQ(relu.bytes, 800);
  EXPECT_EQ(relu.time_us, 2 + 8);
  // Statistics, values, result: three passes; a variable's update: read, write, gradient.
  EXPECT_EQ(
      OneOp("FusedBatchNormV3", {Tensor({10, 10}), Tensor({10})}, {Tensor({10, 10})}).Price().bytes,
      3 * 400);
  EXPECT_EQ(OneOp("ResourceApplyGradientDescent",
                  {Tensor({}, DataType::kResource), Tensor({}), Tensor({10, 10})}, {})
                .Price()
                .bytes,
            3 * 400);
}

TEST(OpCost, AliasesSourcesAndHostResultsAreFree) {
  OneOp alias("Reshape", {Tensor({10, 10}), Tensor({2}, DataType::kInt32)}, {Tensor({100})});
  alias.node().outputs[0].alias_of = 0;
  EXPECT_EQ(alias.Price().by, PricedBy::kFree);
  EXPECT_EQ(alias.Price().time_us, 0);
  OneOp host("Anything", {Tensor({10, 10})}, {Tensor({2})});
  host.node().outputs[0].host_memory = true;
  EXPECT_EQ(host.Price().time_us, 0);
  EXPECT_EQ(PriceOperation(host.graph, 0, OneOp::Machine()).time_us, 0);  // the source
  EXPECT_EQ(OneOp("Shape", {Tensor({kNone})}, {Tensor({1})}).Price().time_us, 0);
}

TEST(OpCost, WhatIsNotKnownIsSaid) {
  const OpCost unknown = OneOp("Frobnicate", {Tensor({10, 10})}, {Tensor({10, 10})}).Price();
  EXPECT_EQ(unknown.by, PricedBy::kUnknownOperation);
  EXPECT_EQ(unknown.time_us, 2 + 8);
  OneOp in_place("Frobnicate", {Tensor({10, 10})}, {Tensor({10, 10})});
  in_place.node().outputs[0].may_reuse = 0;  // element by element, then
  EXPECT_EQ(in_place.Price().by, PricedBy::kFormula);
  for (const char* op : {"Relu", "Frobnicate", "Conv2D"}) {
    const OpCost cost =
        OneOp(op, {Tensor({kNone, 10}), Tensor({3, 3, 1, 1})}, {Tensor({4})}).Price();
    EXPECT_EQ(cost.by, PricedBy::kUnknownShape) << op;
    EXPECT_EQ(cost.time_us, 10 * 2);
  }
  EXPECT_EQ(OneOp("Conv2D", {Tensor({4})}, {Tensor({4})}).Price().by, PricedBy::kUnknownShape);
  EXPECT_EQ(OneOp("Conv2D", {Tensor({4}), Tensor({})}, {Tensor({4})}).Price().by,
            PricedBy::kUnknownShape);
}

TEST(OpCost, KeysHoldTheOperationAndAllItsTypes) {
  const OneOp conv("Conv2D", {Tensor({32, 64, 64, 3}), Tensor({7, 7, 3, 64})},
                   {Tensor({32, 32, 32, 64})});
  EXPECT_EQ(ShapesKey(conv.graph, conv.id),
            "Conv2D|f32[32,64,64,3],f32[7,7,3,64]->f32[32,32,32,64]");
  const OneOp update("Assign", {Tensor({}, DataType::kResource), Tensor({})}, {});
  EXPECT_EQ(ShapesKey(update.graph, update.id), "Assign|resource,f32[]->");
  const OneOp unknown("Relu", {Tensor({kNone, 3})}, {Tensor({kNone, 3})});
  EXPECT_EQ(ShapesKey(unknown.graph, unknown.id), "");
}

}  // namespace
}  // namespace tflms
