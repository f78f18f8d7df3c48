// SPDX-License-Identifier: Apache-2.0
//
// What was decided for one graph and one accelerator, read off the rewritten graph itself: the
// inverse of plan_request.h. Every figure that the command prints is thus about what is really
// there.
//
//   swap-in `in` of buffer b, read by r1, r2, ...
//     back_for    = the first of r1, r2, ... in the order
//     leave_after = the access of b before it
//     trigger     = the last of in's control inputs in the order; leave_after when it has none
//     sync        = the first node in the order with an added control input from b's swap-out
//   clones and who reads them: planned_clones.h

#ifndef TFLMS_CLI_PLANNED_H_
#define TFLMS_CLI_PLANNED_H_

#include <string>
#include <vector>

#include "src/rewrite/problem_builder.h"
#include "src/sim/bounds.h"
#include "src/sim/clones.h"
#include "src/sim/problem.h"
#include "src/sim/simulator.h"
#include "tflms/options.h"
#include "tflms/report.h"
#include "tflms/status.h"

namespace tflms::cli {

// One accelerator of one graph.
struct Planned {
  DeviceId device = kNoDevice;
  ProblemMap map;  // of the graph without what tflms added
  Plan plan;       // what the graph does
  // The problem that `plan`, `memory` and `names` are for: `map.problem` with the plan's clones.
  Expansion expansion;
  std::vector<std::string> names;  // by op and clone
  Plan as_it_came;                 // the order of a runtime without order edges, and no swap
  MemoryView memory, memory_as_it_came;
  Floor floor;
  Machine machine;  // how fast copies are; no rate is known by default
  // What the pipeline said; empty device when the graph was rewritten before it was read.
  Report report;
};

// A graph, the graph it was rewritten to, and the plans of its accelerators.
struct PlannedGraph {
  Graph before, after;
  GraphFacts facts;               // of `before`
  bool rewritten_before = false;  // `before` is the graph read, erased
  std::vector<Report> reports;    // of all accelerators, or the one that says why there is none
  std::vector<Planned> planned;
};

// What can be told without planning: `graph` without what tflms added, and for each accelerator the
// problem, its floor, and how it runs as it came. Plan and reports are left empty.
Result<PlannedGraph> ExamineGraph(const Options& options, const Graph& graph);

// ExamineGraph, then runs the pipeline on `graph` and reads the plan off the result. A graph that
// carries swaps or order edges already is taken as the result.
Result<PlannedGraph> PlanGraph(const Options& options, const std::string& name, const Graph& graph);

// True when the plan fits into `budget_bytes`: by its peak, and by replays in the model of
// TensorFlow's allocator as the planner makes them.
bool PlanFits(const Problem& problem, const Plan& plan, int64_t peak_bytes, int64_t budget_bytes);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_PLANNED_H_
