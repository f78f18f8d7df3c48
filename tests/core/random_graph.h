// SPDX-License-Identifier: Apache-2.0
//
// Seeded random graphs for property tests. The same seed and options give the same graph on every
// machine.
//
// A graph holds what makes rewriting hard: several outputs a node, one output read twice by one
// node, control inputs (also beside a data input from the same node), two accelerators and a host,
// many element types and unknown shapes, aliases and in-place outputs, variables with reads and
// updates, references, nodes that block, random and side-effect nodes, collectives in groups,
// conditional branches (Switch .. Merge) and loops (Enter, Merge, LoopCond, Switch, NextIteration,
// Exit), nested once. Node ids are shuffled, so a node's inputs may have larger ids than itself.
// VerifyGraph accepts every graph.

#ifndef TFLMS_TESTS_CORE_RANDOM_GRAPH_H_
#define TFLMS_TESTS_CORE_RANDOM_GRAPH_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "src/graph/graph.h"

namespace tflms {

// A random number generator with results that do not depend on the standard library (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // 0 <= result < n, for n > 0.
  int32_t Below(int32_t n) { return static_cast<int32_t>(Next() % static_cast<uint64_t>(n)); }
  bool Percent(int32_t chance) { return Below(100) < chance; }
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(Below(static_cast<int32_t>(values.size())))];
  }
  template <typename T>
  void Shuffle(std::vector<T>* values) {
    for (size_t i = values->size(); i > 1; --i) {
      std::swap((*values)[i - 1], (*values)[static_cast<size_t>(Below(static_cast<int32_t>(i)))]);
    }
  }

 private:
  uint64_t state_;
};

// Chances in percent.
struct RandomGraphOptions {
  int32_t min_nodes = 30;  // the graph ends with the construct that reaches this
  int32_t host = 15;       // nodes on the host
  int32_t other_accelerator = 10;
  int32_t loop = 4;  // constructs that are a loop, a branch, a variable, a group
  int32_t branch = 6;
  int32_t variable = 5;
  int32_t collective = 3;
  int32_t odd_output = 20;  // outputs in host memory, persistent, references, not copyable
  int32_t odd_node = 10;    // nodes that block, draw, have an effect, are compiled or preserved
};

// Devices: 0 accelerator, 1 its host, 2 another accelerator with the same host.
Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_RANDOM_GRAPH_H_
