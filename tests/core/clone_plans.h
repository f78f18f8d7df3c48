// SPDX-License-Identifier: Apache-2.0
//
// Plans with clones for tests: by hand, and random legal ones on random graphs.

#ifndef TFLMS_TESTS_CORE_CLONE_PLANS_H_
#define TFLMS_TESTS_CORE_CLONE_PLANS_H_

#include <cstdint>
#include <string_view>

#include "src/rewrite/problem_builder.h"
#include "src/sim/problem.h"
#include "tflms/options.h"

namespace tflms {

// A graph whose device 0 is planned and device 1 the host, its problem, and a plan for it.
struct PlannedCase {
  explicit PlannedCase(Graph from);
  OpId Op(std::string_view name) const;
  BufferId BufferOf(std::string_view name) const;
  // Puts a new clone of `source` right before `before` in the order.
  OpId CloneBefore(OpId source, OpId before);
  // `reader` reads what `clone` makes.
  void Read(BufferId buffer, OpId reader, OpId clone);

  Graph graph;
  GraphFacts facts;
  ProblemMap map;
  Plan plan;
};

// Carries the plan out and checks the laws, and that no step of it was refused that could be done.
Graph CarriedOut(const PlannedCase& planned, const Options& options = {});

// A random graph with clones that read clones, aliases, and swaps of what either run makes.
PlannedCase RandomClonePlan(uint64_t seed);

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_CLONE_PLANS_H_
