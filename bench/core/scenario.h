// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks measure on: a training step, its numbers and a budget it cannot keep without
// swapping.
//
//   budget = floor + (peak - floor) * part
//
// with the peak of the step as it came and the floor that no swapping can go below.

#ifndef TFLMS_BENCH_CORE_SCENARIO_H_
#define TFLMS_BENCH_CORE_SCENARIO_H_

#include <cstdint>

#include "src/graph/graph.h"
#include "src/planners/planner.h"
#include "src/rewrite/problem_builder.h"
#include "tflms/options.h"

namespace tflms {

inline constexpr double kRoomyPart = 0.4;   // a plan is found soon
inline constexpr double kTightPart = 0.05;  // near the least that can be kept: the longest search

struct Scenario {
  Graph graph;
  GraphFacts facts;
  ProblemMap map;
  Options options;         // with the budget
  PlannerOptions planner;  // the same for a planner
};

// The scenario of about `nodes` nodes.
Scenario MakeScenario(int32_t nodes, double part = kRoomyPart);

}  // namespace tflms

#endif  // TFLMS_BENCH_CORE_SCENARIO_H_
