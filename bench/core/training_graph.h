// SPDX-License-Identifier: Apache-2.0
//
// A training step of any size, for benchmarks: wide and deep, with what training graphs have that
// is awkward for a planner.
//
//   block    x -> some units side by side -> their sum and x's
//   unit     convolution -> normalisation (six outputs) -> Relu, with three variables
//   stage    a quarter of the blocks; each later stage begins with a convolution that halves both
//            extents and doubles the channels
//   backward the same in reverse: the gradient of every op, AddN where gradients meet, and an
//            update for every variable; a node that all updates precede
//
// Activations of the first stage live from near the start to near the end, those of the last one
// for a short time. Cost: O(nodes).

#ifndef TFLMS_BENCH_CORE_TRAINING_GRAPH_H_
#define TFLMS_BENCH_CORE_TRAINING_GRAPH_H_

#include <cstdint>

#include "src/graph/graph.h"

namespace tflms {

// A training step of about `nodes` nodes (at least one block a stage), on the first accelerator.
Graph TrainingGraph(int32_t nodes);

}  // namespace tflms

#endif  // TFLMS_BENCH_CORE_TRAINING_GRAPH_H_
