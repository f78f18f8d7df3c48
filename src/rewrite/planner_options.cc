// SPDX-License-Identifier: Apache-2.0
//
// From the user's options to a planner's. See planner_options.h.

#include "src/rewrite/planner_options.h"

#include <algorithm>

namespace tflms {

PlannerOptions PlannerOptionsOf(const Options& options, const Machine& link,
                                std::chrono::steady_clock::time_point deadline) {
  const auto clamped = [](int64_t value) {
    return static_cast<int32_t>(std::clamp<int64_t>(value, -1, 1000000));
  };
  PlannerOptions out;
  out.budget_bytes =
      static_cast<int64_t>(static_cast<double>(options.budget_bytes) * options.safety);
  out.memory_bytes = options.budget_bytes;
  out.swapout_threshold = clamped(options.swapout_threshold);
  out.swapin_groupby = clamped(options.swapin_groupby);
  out.swapin_ahead = clamped(options.swapin_ahead);
  out.sync_mode = options.sync_mode < 0 ? kAuto : clamped(options.sync_mode % 2);
  out.swap_branches = options.swap_branches == "yes";
  out.branch_threshold = clamped(options.branch_threshold);
  out.n_tensors = clamped(options.n_tensors);
  out.min_swap_bytes = options.min_swap_bytes;
  out.may_pin = options.pin_order != "never";
  out.may_recompute = options.recompute != "never";
  out.host_bytes = options.host_budget_bytes;
  out.machine = link;
  out.deadline = deadline;
  return out;
}

}  // namespace tflms
