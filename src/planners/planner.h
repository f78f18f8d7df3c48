// SPDX-License-Identifier: Apache-2.0
//
// The one interface of all planners, and the catalog that lists them. A planner is a free function
// Problem x PlannerOptions -> Plan; its file owns its name, one-line summary, algorithm and cost.

#ifndef TFLMS_PLANNERS_PLANNER_H_
#define TFLMS_PLANNERS_PLANNER_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/sim/problem.h"
#include "src/sim/simulator.h"
#include "tflms/status.h"

namespace tflms {

inline constexpr int32_t kAuto = -1;

// Distances are counted in positions of the plan's order (on-device ops only): in the rewritten,
// serialised graph these are topological levels.
struct PlannerOptions {
  int64_t budget_bytes = 0;  // device bytes the peak must stay under; 0 = not known
  // Device bytes there are, at least budget_bytes: the room for fragmentation when there is no plan
  // that fits the budget with it. 0 = budget_bytes.
  int64_t memory_bytes = 0;
  int32_t swapout_threshold = kAuto;  // swap gaps longer than this
  int32_t swapin_ahead = kAuto;       // bring back this many positions ahead of the use
  int32_t swapin_groupby = kAuto;     // uses no further apart than this share one swap-in
  int64_t min_swap_bytes = 0;         // buffers smaller than this stay
  int32_t n_tensors = -1;             // swap at most this many buffers; -1 = no limit
  int32_t sync_mode = kAuto;          // 0: nobody waits for swap-outs; else the next op does
  // Gaps that end before the order's peak without swaps: skip connections of the forward part.
  bool swap_branches = true;
  int32_t branch_threshold = kAuto;  // with swap_branches: swap those longer than this
  bool may_pin = true;               // order edges may be used
  bool may_recompute = true;         // clones may be used
  Machine machine;                   // how fast copies are; with the ops' times, what plans cost
  int64_t host_bytes = 0;            // every plan's host peak keeps to it; 0 = no limit
  // The search stops here with the best plan so far.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

struct PlannerEntry {
  std::string_view name;     // as written in options: "level-distance"
  std::string_view summary;  // one line
  Result<Plan> (*plan)(const Problem& problem, const PlannerOptions& options);
};

// All planners, the default one first.
std::span<const PlannerEntry> PlannerCatalog();

// The planner of that name, or null.
const PlannerEntry* FindPlanner(std::string_view name);

}  // namespace tflms

#endif  // TFLMS_PLANNERS_PLANNER_H_
