// SPDX-License-Identifier: Apache-2.0
//
// The one pipeline: graph -> problem -> plan -> rules -> verify -> report.

#ifndef TFLMS_REWRITE_H_
#define TFLMS_REWRITE_H_

#include <string>
#include <vector>

#include "tflms/corrections.h"
#include "tflms/options.h"
#include "tflms/plan_store.h"
#include "tflms/report.h"
#include "tflms/status.h"

namespace tflms {

struct Graph;

// Rewrites `graph` in place for each accelerator of options.device_type in it, and gives one
// report per accelerator (one with an empty `device` when there is none). The graph is unchanged
// whenever a report's outcome is not kRewritten, and when the status is not ok: a malformed graph
// (invalid argument), or a fault of tflms itself (internal, law broken). Plans are looked for in
// `store` first, unless it is null, and put there. `corrections` apply to what the machine or the
// profile says of times and rates.
Result<std::vector<Report>> Rewrite(const Options& options, const std::string& graph_name,
                                    Graph* graph, PlanStore* store = nullptr,
                                    const Corrections& corrections = {});

}  // namespace tflms

#endif  // TFLMS_REWRITE_H_
