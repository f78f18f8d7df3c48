// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of the benchmarks. See scenario.h.

#include "bench/core/scenario.h"

#include "bench/core/training_graph.h"
#include "src/planners/order.h"
#include "src/sim/bounds.h"
#include "src/sim/simulator.h"

namespace tflms {

Scenario MakeScenario(int32_t nodes, double part) {
  Scenario scenario;
  scenario.graph = TrainingGraph(nodes);
  scenario.facts = FindFacts(scenario.graph).value();
  scenario.map = BuildProblem(scenario.graph, scenario.facts, 0);
  const Problem& problem = scenario.map.problem;
  const Plan as_it_came{MakeOrder(problem, OrderPolicy::kReadyFirst), false, {}};
  const int64_t floor = WorkingSetFloor(problem).bytes;
  const int64_t room = PlannedMemory(problem, as_it_came).peak_bytes - floor;
  scenario.options.budget_bytes = floor + static_cast<int64_t>(static_cast<double>(room) * part);
  scenario.planner.memory_bytes = scenario.options.budget_bytes;
  scenario.planner.budget_bytes = static_cast<int64_t>(
      static_cast<double>(scenario.options.budget_bytes) * scenario.options.safety);
  scenario.planner.min_swap_bytes = scenario.options.min_swap_bytes;
  return scenario;
}

}  // namespace tflms
