// SPDX-License-Identifier: Apache-2.0
//
// Plan <-> NamedPlan: from ids to names and back.
//
// A named plan fits a graph when
//   every operation it names is there, and every operation of the accelerator is in its order;
//   the tensors that count are those of the plan, with the sizes they had;
//   CheckPlan holds.
// A graph of the same fingerprint always passes the first two. Nodes that are not on the
// accelerator may come and go: they keep the order that the plan has for them where it has one.
// Cost: O((V + E + plan) log).

#ifndef TFLMS_REWRITE_NAMED_PLAN_H_
#define TFLMS_REWRITE_NAMED_PLAN_H_

#include <vector>

#include "src/rewrite/plan_file.h"
#include "src/rewrite/plan_key.h"
#include "src/sim/problem.h"
#include "tflms/options.h"
#include "tflms/status.h"

namespace tflms {

// The plan by names, with the figures that are predicted for it at the rates of `machine`. `plan`
// passes CheckPlan.
NamedPlan NamePlan(const PlanSubject& subject, const Plan& plan, const std::string& graph_name,
                   const Options& options, const Machine& machine);

// The plan for this graph. An error says what does not fit: the first operation that is missing or
// has come, the first tensor of another size, or the law of plans that is broken.
Result<Plan> PlanFromNames(const PlanSubject& subject, const NamedPlan& named);

// How many of the operations in the plan's order the graph has: of several plans that do not fit,
// the one with the most is the one that was meant.
int64_t CountKnown(const Graph& graph, const NamedPlan& named);

}  // namespace tflms

#endif  // TFLMS_REWRITE_NAMED_PLAN_H_
