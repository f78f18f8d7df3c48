// SPDX-License-Identifier: Apache-2.0
//
// One comparison: every policy on one problem at one budget, judged by the simulator.

#ifndef TFLMS_BENCH_CORE_PEERS_COMPARE_H_
#define TFLMS_BENCH_CORE_PEERS_COMPARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/core/peers/peers.h"
#include "src/sim/problem.h"
#include "src/sim/simulator.h"

namespace tflms {

struct CompareRow {
  std::string policy;
  int64_t budget_bytes = 0;
  std::string fault;  // of an illegal plan, or why there is none
  bool fits = false;  // the simulated peak is within the budget
  SimulationResult result;
  int64_t compute_us = 0;    // T0: every op once, no waiting
  int64_t recompute_us = 0;  // of the clones
  double plan_seconds = 0;
  double overhead() const {
    return static_cast<double>(result.time_us) / static_cast<double>(compute_us) - 1;
  }
};

// Ops by number as far as edges allow ("given"), or the order with the least peak of that one and
// of the policies of planners/order.h ("best"). Empty when the problem has a cycle.
std::vector<OpId> PeerOrder(const Problem& problem, bool best);

// Names of all policies: those of the peers, then those of the plugin's planners.
std::vector<std::string> PolicyNames();

// `policy` must be one of PolicyNames().
CompareRow Compare(const Problem& problem, const PeerOptions& options, const std::string& policy);

}  // namespace tflms

#endif  // TFLMS_BENCH_CORE_PEERS_COMPARE_H_
