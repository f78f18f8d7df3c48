// SPDX-License-Identifier: Apache-2.0
//
// Peers: published rules of other tools that save device memory, as planners in our terms, so that
// one simulator judges them and ours. They are written afresh from the papers and public code that
// each file names, which also says what is simplified. No part of the plugin.
//
// All peers get the same order. What a run-time would do when memory runs out, wait for copies out
// that are under way, every plan gets as well (SyncWhenNeeded in building.h).

#ifndef TFLMS_BENCH_CORE_PEERS_PEERS_H_
#define TFLMS_BENCH_CORE_PEERS_PEERS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/sim/problem.h"
#include "src/sim/simulator.h"

namespace tflms {

struct PeerOptions {
  int64_t budget_bytes = 0;
  Machine machine;
  std::vector<OpId> order;   // a legal order of the problem
  std::vector<bool> layers;  // by op: a convolution, for vDNN; empty = not known
};

struct PeerEntry {
  std::string_view name;
  std::string_view summary;
  Plan (*plan)(const Problem& problem, const PeerOptions& options);
};

Plan PlanKeepAll(const Problem& problem, const PeerOptions& options);
Plan PlanSwapAll(const Problem& problem, const PeerOptions& options);
Plan PlanBelady(const Problem& problem, const PeerOptions& options);
Plan PlanTflmsV2(const Problem& problem, const PeerOptions& options);
Plan PlanGrappler(const Problem& problem, const PeerOptions& options);
Plan PlanVdnnAll(const Problem& problem, const PeerOptions& options);
Plan PlanVdnnConv(const Problem& problem, const PeerOptions& options);
Plan PlanCapuchin(const Problem& problem, const PeerOptions& options);
Plan PlanDtr(const Problem& problem, const PeerOptions& options);
Plan PlanChenSqrt(const Problem& problem, const PeerOptions& options);
Plan PlanChenGreedy(const Problem& problem, const PeerOptions& options);

// All of the above.
std::span<const PeerEntry> PeerCatalog();

// What DTR's own bookkeeping says of its run, to be compared with the simulator.
struct DtrRun {
  Plan plan;
  int64_t time_us = 0;
  int64_t peak_bytes = 0;
  bool fits = false;  // never over the budget
};
DtrRun RunDtr(const Problem& problem, const PeerOptions& options);

}  // namespace tflms

#endif  // TFLMS_BENCH_CORE_PEERS_PEERS_H_
