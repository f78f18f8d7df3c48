// SPDX-License-Identifier: Apache-2.0
//
// The planning problem of one accelerator as JSON, for solvers outside (bench/lp_bound.py).

#ifndef TFLMS_CLI_PROBLEM_JSON_H_
#define TFLMS_CLI_PROBLEM_JSON_H_

#include "src/cli/command.h"

namespace tflms::cli {

// The problem and the planned order. Only ops on the device are listed, and the others' reads are
// left out; ops are named by their index in `ops`, buffers by theirs in `buffers`.
//   ops      name, time_us, workspace_bytes, on_device, repeatable
//   buffers  tensor, size_bytes, producer, uses, live_at_end, swappable, recomputable, holds,
//            may_reuse
//   order, persistent_bytes, graph, device
Json ProblemJson(const std::string& graph, const PlannedGraph& graphs, const Planned& planned);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_PROBLEM_JSON_H_
