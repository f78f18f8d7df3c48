// SPDX-License-Identifier: Apache-2.0
//
// What a plan belongs to: fingerprints of a graph and of all that planning it depends on.
//
//   graph fingerprint   of one accelerator's graph: names, operations, devices, edges, flags,
//   output
//                       types and what is known of them, persistent bytes. Attributes that change
//                       none of these, and the order in which the nodes are listed, do not count.
//   plan key            of all a planner's answer follows from: the graph fingerprint, the problem
//                       (with times, workspace, and what the filters left), the options that shape
//                       plans, and the version. Equal keys have equal plans, up to the planner's
//                       time limit.
//
// Both are the same in every process and on every machine. Cost: O((V + E) log V).

#ifndef TFLMS_REWRITE_PLAN_KEY_H_
#define TFLMS_REWRITE_PLAN_KEY_H_

#include <string>
#include <utility>
#include <vector>

#include "src/graph/graph.h"
#include "src/planners/planner.h"
#include "src/rewrite/problem_builder.h"
#include "tflms/options.h"

namespace tflms {

// One accelerator of a graph and its planning problem. All must outlive this.
struct PlanSubject {
  const Graph& graph;
  const GraphFacts& facts;
  const ProblemMap& map;
  DeviceId accelerator = kNoDevice;
};

// 32 hexadecimal digits.
std::string GraphFingerprint(const Graph& graph, DeviceId accelerator);

std::string PlanKey(const PlanSubject& subject, const Options& options,
                    const PlannerOptions& planner_options);

// (name, value) of the options that a plan depends on: all but those about devices, triggers, order
// edges and the tool itself.
std::vector<std::pair<std::string, std::string>> OptionsThatShapePlans(const Options& options);

}  // namespace tflms

#endif  // TFLMS_REWRITE_PLAN_KEY_H_
