// SPDX-License-Identifier: Apache-2.0
//
// What one operation takes, by formula, from the shapes of its inputs and outputs:
//
//   time = launch + max(flops / rate, bytes / memory rate)
//
//   convolutions    flops = 2 |Y| |W| / Cout, for the gradients too: with Y the larger side (the
//                   output or its gradient) and W the filter or its gradient, [.., Cin / groups,
//                   Cout]: each element of Y takes kernel x Cin / groups multiply-adds
//   depthwise       flops = 2 |Y| |W| / (Cin multiplier)
//   MatMul          flops = 2 b m k n = 2 sqrt(|A| |B| |C| / b), b = extents all three share
//   everything else no flops: it waits for memory
//
//   bytes = inputs + outputs in device memory, unless the table of op_kinds.h knows better
//
// Rates are those of 16-bit floats when the operation computes in them. Free (0): what only hands
// on a buffer, sources, control flow, operations whose results are in host memory.

#ifndef TFLMS_COST_OP_COST_H_
#define TFLMS_COST_OP_COST_H_

#include <cstdint>
#include <string>

#include "src/cost/machine.h"
#include "src/graph/graph.h"

namespace tflms {

enum class PricedBy : uint8_t {
  kFree,
  kFormula,
  kUnknownOperation,  // by the bytes it moves, though nothing is known of it
  kUnknownShape,      // kUnknownShapeLaunches times launch_us
};

// What an operation is taken to need whose shapes are not known: ten launches.
inline constexpr double kUnknownShapeLaunches = 10;

struct OpCost {
  PricedBy by = PricedBy::kFree;
  double flops = 0;
  double bytes = 0;    // moved to and from device memory
  double time_us = 0;  // on the machine
};

// The cost of one node, which is taken to run on the accelerator. O(inputs + outputs).
OpCost PriceOperation(const Graph& graph, NodeId id, const MachineProfile& machine);

// True for convolutions and their gradients: what cuDNN takes scratch for.
bool IsConvolution(const Node& node);

// "Conv2D|f32[32,64,64,3],f32[7,7,3,64]->f32[32,32,32,64]": the operation and all its types; ""
// when a shape is not known. Operations of one key are taken to cost the same.
std::string ShapesKey(const Graph& graph, NodeId id);

}  // namespace tflms

#endif  // TFLMS_COST_OP_COST_H_
