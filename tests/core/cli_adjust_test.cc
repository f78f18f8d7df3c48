// SPDX-License-Identifier: Apache-2.0
//
// Batch extents: filled where they are the batch, left unknown where they may not be.

#include <gtest/gtest.h>

#include "src/cli/adjust.h"
#include "src/graph/text.h"

namespace tflms::cli {
namespace {

std::string Filled(int64_t batch_size, const std::string& text) {
  Result<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return "";
  FillBatch(batch_size, &*graph);
  return PrintGraph(*graph);
}

TEST(CliAdjust, TheBatchIsPassedOn) {
  EXPECT_EQ(Filled(4,
                   "x = Placeholder : f32[?,8] source\n"
                   "w = Const : f32[8,2] source\n"
                   "y = MatMul(x, w) : f32[?,2]\n"),
            "x = Placeholder : f32[4,8] source\n"
            "w = Const : f32[8,2] source\n"
            "y = MatMul(x, w) : f32[4,2]\n");
}

// [4,6,8] in rows of 8 has 24 rows, not 4.
TEST(CliAdjust, AReshapeKeepsTheNumberOfElements) {
  EXPECT_EQ(Filled(4,
                   "x = Placeholder : f32[?,6,8] source\n"
                   "r = Reshape(x) : f32[?,8]\n"
                   "y = Relu(r) : f32[?,8]\n"
                   "z = Reshape(y) : f32[?,6,8]\n"),
            "x = Placeholder : f32[4,6,8] source\n"
            "r = Reshape(x) : f32[24,8]\n"
            "y = Relu(r) : f32[24,8]\n"
            "z = Reshape(y) : f32[4,6,8]\n");
}

TEST(CliAdjust, WhatMayBeAnotherExtentStaysUnknownAndAllBehindIt) {
  const std::string text =
      "x = Placeholder : f32[4,8] source\n"
      "u = Where(x) : i64[?,2]\n"
      "y = Relu(u) : i64[?,2]\n"
      "i = Slice(x) : f32[?,8]\n";
  EXPECT_EQ(Filled(4, text), text);
  EXPECT_EQ(Filled(0, "x = Placeholder : f32[?] source\n"), "x = Placeholder : f32[?] source\n");
}

}  // namespace
}  // namespace tflms::cli
