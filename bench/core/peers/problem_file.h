// SPDX-License-Identifier: Apache-2.0
//
// What peers are compared on: a graph's text form, or a problem as JSON.
//
//   {"persistent_bytes": 0,
//    "ops": [{"time_us": 5, "workspace_bytes": 0, "repeatable": true, "layer": false}, ...],
//    "buffers": [{"size_bytes": 8, "producer": 0, "uses": [1, 2], "live_at_end": false,
//                 "swappable": true, "recomputable": true}, ...],
//    "edges": [[0, 2], ...]}
//
// Ops are numbered from 0 in the order of the list. `edges` come on top of those from a producer to
// its uses; all members but times, sizes, producers and uses may be left out (0, false, none).

#ifndef TFLMS_BENCH_CORE_PEERS_PROBLEM_FILE_H_
#define TFLMS_BENCH_CORE_PEERS_PROBLEM_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/cost/machine.h"
#include "src/graph/graph.h"
#include "src/sim/problem.h"
#include "tflms/status.h"

namespace tflms {

struct PeerInput {
  Problem problem;
  std::vector<bool> layers;  // by op; empty = not known
};

// The problem of a graph's first accelerator, priced for `machine`.
Result<PeerInput> InputFromGraph(Graph graph, const MachineProfile& machine);

Result<PeerInput> InputFromJson(std::string_view text);

// By the file's name: *.json is a problem, anything else the text form of a graph.
Result<PeerInput> ReadPeerInput(const std::string& path, const MachineProfile& machine);

}  // namespace tflms

#endif  // TFLMS_BENCH_CORE_PEERS_PROBLEM_FILE_H_
