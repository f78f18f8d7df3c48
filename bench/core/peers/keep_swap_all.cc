// SPDX-License-Identifier: Apache-2.0
//
// Two plain rules that bracket the others.
//
//   keep-all   the order, pinned
//   swap-all   swap every gap over 4 steps; the next op waits for the copy out, the copy in starts
//              one step before the use: no overlap to speak of
//
// Source: none; the second is what a first version of any swapping tool does.

#include "bench/core/peers/building.h"
#include "bench/core/peers/peers.h"

namespace tflms {
namespace {

constexpr int32_t kThreshold = 4;

}  // namespace

Plan PlanKeepAll(const Problem&, const PeerOptions& options) {
  return {options.order, true, {}, {}, {}};
}

Plan PlanSwapAll(const Problem& problem, const PeerOptions& options) {
  Plan plan = PlanKeepAll(problem, options);
  const Steps steps = FindSteps(problem, options.order);
  for (const Gap& gap : FindGaps(problem, steps, 0)) {
    if (gap.distance() > kThreshold) AddSwap(gap, steps, gap.back_step - 1, true, &plan);
  }
  SyncWhenNeeded(problem, 0, &plan);
  return plan;
}

}  // namespace tflms
