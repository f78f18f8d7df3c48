// SPDX-License-Identifier: Apache-2.0
//
// Swap gaps along one order: which there are, where their swap-out is waited for and their swap-in
// triggered, and how far both can be relaxed inside a budget. Shared by the planners that swap.
//
// Distances are counted in steps: the ops that order edges can hold (on the device and orderable),
// numbered along the order. In the serialised graph steps are topological levels.

#ifndef TFLMS_PLANNERS_GAPS_H_
#define TFLMS_PLANNERS_GAPS_H_

#include <vector>

#include "src/sim/problem.h"
#include "src/sim/simulator.h"

namespace tflms {

// The steps of an order.
struct Steps {
  std::vector<OpId> op;             // by step
  std::vector<int32_t> position;    // by op: index in the order
  std::vector<int32_t> step_of_op;  // by op: its step; -1 for an op that is none
};

Steps FindSteps(const Problem& problem, const std::vector<OpId>& order);

// A gap between neighbouring accesses of a swappable buffer, both of them steps.
struct Gap {
  BufferId buffer = -1;
  int32_t leave_step = 0;  // step of the last access before
  int32_t back_step = 0;   // step of the first access after
  bool first = false;      // the first gap of its buffer that counts: the copy out is made here
  int32_t distance() const { return back_step - leave_step; }
};

// All gaps of buffers of at least `min_bytes`, ordered by (buffer, leave_step).
std::vector<Gap> FindGaps(const Problem& problem, const Steps& steps, int64_t min_bytes);

// The gap as part of a plan: the op right behind `leave_step` waits for the copy out (unless
// `synchronise` is false or the host has a copy already), and the copy in starts `ahead` steps
// before its use, but not before that. False when the gap is too short for that.
bool PlaceGap(const Gap& gap, const Steps& steps, int32_t ahead, bool synchronise, SwapGap* placed);

// How far a swap may be relaxed, by steps.
struct RelaxLimit {
  int32_t earliest_trigger = 0;
  int32_t latest_sync = 0;
};

// Makes a plan that fits cheaper without making it unfit: drops swaps whose buffer can stay
// (shortest gaps first), then moves triggers earlier (at most `max_ahead` steps ahead) and sync ops
// later, wherever memory stays within `budget_bytes`. O(sum of gap lengths).
void RelaxPlan(const Problem& problem, const Steps& steps, int64_t budget_bytes, int32_t max_ahead,
               Plan* plan);

// The same with limits on memory by position, and limits for each of plan->swaps; those that
// return first are moved first.
void RelaxPlanTo(const Problem& problem, const Steps& steps, std::vector<int64_t> limit_bytes,
                 const std::vector<RelaxLimit>& limits, Plan* plan);

// The limits at which copies hide: a swap-in need not start before the lane asks for it, serving
// backwards from the last use; a swap-out need not be waited for after its end, first in, first
// out. The clock is that of a run without waiting. O(ops + swaps log).
std::vector<RelaxLimit> HidingLimits(const Problem& problem, const Steps& steps,
                                     const Machine& machine, const Plan& plan);

}  // namespace tflms

#endif  // TFLMS_PLANNERS_GAPS_H_
