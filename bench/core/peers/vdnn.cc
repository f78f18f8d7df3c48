// SPDX-License-Identifier: Apache-2.0
//
// vDNN: what a forward layer reads leaves when that layer has run, and comes back one layer ahead.
//
//   all    the inputs of every forward op leave; conv: those of convolutions
//   a buffer leaves behind its last forward reader, if the backward part reads it; the next op
//   waits for the copy out
//   the copy in starts when the backward op before the one that needs it, of those that read
//   forward buffers, starts
//
// Source: Rhu, Gimelshein, Clemons, Zulfiqar, Keckler, "vDNN: virtualized deep neural networks for
// scalable, memory-efficient neural network design" (MICRO 2016). Simplified: a layer is an op;
// where convolutions are not marked they are taken to be the ops that take longer than the mean;
// the choice of convolution algorithms is not part of the problem. Cost: O(ops + accesses).

#include "bench/core/peers/building.h"
#include "bench/core/peers/peers.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// By op: whether its inputs are offloaded by the rule for convolutions.
std::vector<bool> Convolutions(const Problem& problem, const PeerOptions& options) {
  if (!options.layers.empty()) return options.layers;
  int64_t total = 0, count = 0;
  for (const ProblemOp& op : problem.ops) {
    if (op.on_device) total += op.time_us, ++count;
  }
  std::vector<bool> layers;
  for (const ProblemOp& op : problem.ops) {
    layers.push_back(op.on_device && op.time_us * count > total);
  }
  return layers;
}

Plan Offload(const Problem& problem, const PeerOptions& options, const std::vector<bool>& layers) {
  Plan plan = PlanKeepAll(problem, options);
  const Steps steps = FindSteps(problem, options.order);
  const int32_t turn = FindTurn(problem, options.order);
  const auto position = [&](int32_t step) { return steps.position[Index(steps.op[Index(step)])]; };
  std::vector<Gap> across;
  std::vector<bool> reads_forward(steps.op.size(), false);
  for (const Gap& gap : FindGaps(problem, steps, 0)) {
    if (position(gap.leave_step) > turn || position(gap.back_step) <= turn) continue;
    across.push_back(gap);
    reads_forward[Index(gap.back_step)] = true;
  }
  for (const Gap& gap : across) {
    bool offloaded = false;
    for (OpId use : problem.buffers[Index(gap.buffer)].uses) {
      const bool forward = steps.position[Index(use)] <= turn;
      offloaded = offloaded || (forward && layers[Index(use)]);
    }
    if (!offloaded) continue;
    int32_t layer = gap.back_step - 1;
    while (layer > gap.leave_step + 1 && !reads_forward[Index(layer)]) --layer;
    AddSwap(gap, steps, layer - 1, true, &plan);
  }
  SyncWhenNeeded(problem, 0, &plan);
  return plan;
}

}  // namespace

Plan PlanVdnnAll(const Problem& problem, const PeerOptions& options) {
  return Offload(problem, options, std::vector<bool>(problem.ops.size(), true));
}

Plan PlanVdnnConv(const Problem& problem, const PeerOptions& options) {
  return Offload(problem, options, Convolutions(problem, options));
}

}  // namespace tflms
