// SPDX-License-Identifier: Apache-2.0
//
// From a plan in numbers to the rewriting rules' request in nodes.

#ifndef TFLMS_REWRITE_PLAN_REQUEST_H_
#define TFLMS_REWRITE_PLAN_REQUEST_H_

#include "src/rewrite/problem_builder.h"
#include "src/rules/rule.h"
#include "tflms/options.h"

namespace tflms {

// Every swap gap becomes one group of reading edges: those of the readers from the gap's return up
// to the next gap's. A reader that gets the tensor under another name (an alias made after the
// return) needs no edge of its own. The pinned order becomes serial_order. Clones become the nodes
// behind the graph's own (clone_wiring.h).
SwapRequest RequestFromPlan(const Graph& graph, const GraphFacts& facts, const ProblemMap& map,
                            const Plan& plan, const Options& options, DeviceId host);

}  // namespace tflms

#endif  // TFLMS_REWRITE_PLAN_REQUEST_H_
