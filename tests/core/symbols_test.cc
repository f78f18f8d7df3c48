// SPDX-License-Identifier: Apache-2.0
//
// Symbolic extents: what follows from the batch size and from reshapes, and what stays unknown.

#include "src/tensorflow/symbols.h"

#include <gtest/gtest.h>

#include "tests/core/wire_builder.h"

namespace tflms {
namespace {

TensorType Floats(std::vector<int64_t> extents) {
  return {DataType::kFloat32, false, Shape::Known(std::move(extents))};
}

// Fed images of -5 rows; a reshape to -6 rows of 4; a product with -6 rows; an op that inference
// could not follow.
Graph Imported(int64_t batch_size) {
  ImportContext context;
  context.batch_size = batch_size;
  context.inferred = {{"fed", {Floats({-5, 8, 4})}}, {"relu", {Floats({-5, 8, 4})}},
                      {"rows", {Floats({-6, 4})}},   {"product", {Floats({-6, 10})}},
                      {"wild", {Floats({-1, 4})}},   {"other", {Floats({-9, 4})}}};
  const std::string bytes = GraphBytes(
      {NodeBytes("fed", "Placeholder").Type("dtype", kFloat),
       NodeBytes("relu", "Relu").Type("T", kFloat).Input("fed"),
       NodeBytes("shape", "Const").Type("dtype", kInt32),
       NodeBytes("rows", "Reshape")
           .Type("T", kFloat)
           .Type("Tshape", kInt32)
           .Input("relu")
           .Input("shape"),
       NodeBytes("product", "Softmax").Type("T", kFloat).Input("rows"),
       NodeBytes("wild", "Unique9").Input("rows"), NodeBytes("other", "Unique9").Input("rows")});
  const Result<GraphDefImport> import = ImportGraphDef(bytes, context);
  EXPECT_TRUE(import.ok()) << import.status().ToString();
  return import.ok() ? import->graph : Graph();
}

std::vector<int64_t> Extents(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return node.outputs[0].type.shape.extents;
  }
  return {};
}

using Shape3 = std::vector<int64_t>;

TEST(Symbols, TheBatchSizeReachesAllThatHasItsSymbol) {
  const Graph graph = Imported(16);
  EXPECT_EQ(Extents(graph, "fed"), (Shape3{16, 8, 4}));
  EXPECT_EQ(Extents(graph, "relu"), (Shape3{16, 8, 4}));
}

TEST(Symbols, AReshapeKeepsTheNumberOfElements) {
  const Graph graph = Imported(16);
  EXPECT_EQ(Extents(graph, "rows"), (Shape3{128, 4}));
  EXPECT_EQ(Extents(graph, "product"), (Shape3{128, 10}));
}

TEST(Symbols, WhatDoesNotFollowStaysUnknown) {
  const Graph graph = Imported(16);
  EXPECT_EQ(Extents(graph, "wild"), (Shape3{-1, 4}));
  EXPECT_EQ(Extents(graph, "other"), (Shape3{-1, 4}));
  const Graph untold = Imported(0);
  EXPECT_EQ(Extents(untold, "fed"), (Shape3{-1, 8, 4}));
  EXPECT_EQ(Extents(untold, "rows"), (Shape3{-1, 4}));
}

TEST(Symbols, TheOtherWayRoundToo) {
  ImportContext context;
  context.inferred = {{"x", {Floats({-5, 6})}}, {"y", {Floats({2, 3, 6})}}, {"z", {Floats({-5})}}};
  const std::string bytes = GraphBytes(
      {NodeBytes("x", "Softmax").Type("T", kFloat), NodeBytes("s", "Const").Type("dtype", kInt32),
       NodeBytes("y", "Reshape").Type("T", kFloat).Type("Tshape", kInt32).Input("x").Input("s"),
       NodeBytes("z", "Softmax").Type("T", kFloat).Input("x")});
  const Result<GraphDefImport> import = ImportGraphDef(bytes, context);
  ASSERT_TRUE(import.ok()) << import.status().ToString();
  EXPECT_EQ(Extents(import->graph, "x"), (Shape3{6, 6}));
  EXPECT_EQ(Extents(import->graph, "z"), (Shape3{6}));
}

TEST(Symbols, ASumThatDoesNotDivideIsLeftOpen) {
  ImportContext context;
  context.inferred = {{"x", {Floats({5, 3})}}, {"y", {Floats({-5, 4})}}, {"z", {Floats({-5, -6})}}};
  const std::string bytes = GraphBytes(
      {NodeBytes("x", "Softmax").Type("T", kFloat), NodeBytes("s", "Const").Type("dtype", kInt32),
       NodeBytes("y", "Reshape").Type("T", kFloat).Type("Tshape", kInt32).Input("x").Input("s"),
       NodeBytes("z", "Reshape").Type("T", kFloat).Type("Tshape", kInt32).Input("x").Input("s")});
  const Result<GraphDefImport> import = ImportGraphDef(bytes, context);
  ASSERT_TRUE(import.ok()) << import.status().ToString();
  EXPECT_EQ(Extents(import->graph, "y"), (Shape3{-1, 4}));
  EXPECT_EQ(Extents(import->graph, "z"), (Shape3{-1, -1}));
}

}  // namespace
}  // namespace tflms
