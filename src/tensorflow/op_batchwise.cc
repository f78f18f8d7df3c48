// SPDX-License-Identifier: Apache-2.0
//
// The operations that may run on some rows at a time: an allow list.
//
// Row i of the result is a function of row i of the inputs, and its bits do not depend on how many
// other rows there are. The second half leaves out much that is independent of the batch in real
// numbers: convolutions and products (libraries choose algorithm and blocking by size), and
// functions such as exp and tanh, whose vector code may differ in the last bit from the scalar code
// that works on the rest of an array. What is left moves or selects elements, or computes each by
// one correctly rounded operation. An operation that is not here is never split.
//
// Sorted by name. O(log n) to ask.

#include <algorithm>
#include <iterator>
#include <string_view>

#include "src/tensorflow/op_table.h"

namespace tflms {
namespace {

constexpr std::string_view kBatchwiseOps[] = {
    "Abs",           "Add",
    "AddV2",         "BiasAdd",
    "BiasAddV1",     "Cast",
    "Ceil",          "ClipByValue",
    "ConcatV2",      "DepthToSpace",
    "Div",           "DivNoNan",
    "Equal",         "Floor",
    "Greater",       "GreaterEqual",
    "IsFinite",      "IsInf",
    "IsNan",         "LeakyRelu",
    "LeakyReluGrad", "Less",
    "LessEqual",     "LogicalAnd",
    "LogicalNot",    "LogicalOr",
    "MaxPool",       "MaxPool3D",
    "Maximum",       "Minimum",
    "Mul",           "MulNoNan",
    "Neg",           "NotEqual",
    "RealDiv",       "Relu",
    "Relu6",         "Relu6Grad",
    "ReluGrad",      "ResizeNearestNeighbor",
    "SelectV2",      "Sign",
    "SpaceToDepth",  "Sqrt",
    "Square",        "SquaredDifference",
    "Sub",
};
static_assert(std::ranges::is_sorted(kBatchwiseOps));

}  // namespace

bool IsBatchwiseOp(std::string_view op) {
  return std::binary_search(std::begin(kBatchwiseOps), std::end(kBatchwiseOps), op);
}

}  // namespace tflms
