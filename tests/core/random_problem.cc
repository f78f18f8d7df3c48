// SPDX-License-Identifier: Apache-2.0
//
// Random and training-shaped problems. See random_problem.h.

#include "tests/core/random_problem.h"

#include <algorithm>
#include <random>

namespace tflms {
namespace {

void Read(Problem* problem, OpId op, BufferId id) {
  ProblemBuffer& buffer = problem->buffers[static_cast<size_t>(id)];
  if (std::find(buffer.uses.begin(), buffer.uses.end(), op) != buffer.uses.end()) return;
  buffer.uses.push_back(op);
  problem->successors[static_cast<size_t>(buffer.producer)].push_back(op);
}

OpId AddOp(Problem* problem, int64_t time_us, int64_t bytes) {
  const OpId op = static_cast<OpId>(problem->ops.size());
  ProblemOp info;
  info.time_us = time_us;
  problem->ops.push_back(info);
  problem->successors.emplace_back();
  ProblemBuffer buffer;
  buffer.size_bytes = bytes;
  buffer.producer = op;
  buffer.swappable = true;
  problem->buffers.push_back(buffer);
  return op;
}

// An op off the device between the op `from` and the next op to be added, without buffers.
void AddHostOp(Problem* problem, OpId from) {
  const OpId op = static_cast<OpId>(problem->ops.size());
  ProblemOp info;
  info.on_device = info.orderable = false;
  problem->ops.push_back(info);
  problem->successors.push_back({op + 1});
  problem->successors[static_cast<size_t>(from)].push_back(op);
}

}  // namespace

Problem RandomProblem(uint32_t seed, int ops) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  Problem problem;
  for (int i = 0; i < ops; ++i) {
    const OpId op = AddOp(&problem, 1 + below(4), 1 + below(9));
    const int earlier = static_cast<int>(problem.buffers.size()) - 1;
    for (int reads = below(4); reads > 0 && earlier > 0; --reads) {
      Read(&problem, op, below(earlier));
    }
    problem.ops.back().workspace_bytes = below(3);
    if (earlier > 0 && below(3) == 0) problem.buffers.back().may_reuse.push_back(below(earlier));
    problem.buffers.back().live_at_end = below(8) == 0;
    if (i + 1 < ops && below(6) == 0) AddHostOp(&problem, op);
  }
  for (auto& next : problem.successors) std::sort(next.begin(), next.end());
  problem.persistent_bytes = below(5);
  return problem;
}

Problem TrainingProblem(int layers, int64_t activation_bytes, int64_t gradient_bytes) {
  Problem problem;
  for (int i = 0; i < layers; ++i) {
    const OpId op = AddOp(&problem, 10, activation_bytes);
    if (i > 0) Read(&problem, op, op - 1);
  }
  BufferId gradient = -1;
  for (int i = layers; i-- > 0;) {
    const OpId op = AddOp(&problem, 10, gradient_bytes);
    if (gradient >= 0) Read(&problem, op, gradient);
    Read(&problem, op, i);
    const OpId leaf = AddOp(&problem, 10, 1);
    if (gradient >= 0) Read(&problem, leaf, gradient);
    Read(&problem, leaf, i);
    gradient = op;
  }
  for (auto& next : problem.successors) std::sort(next.begin(), next.end());
  return problem;
}

}  // namespace tflms
