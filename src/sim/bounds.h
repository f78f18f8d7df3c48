// SPDX-License-Identifier: Apache-2.0
//
// Bounds: how near a plan is to what is possible at all. Each says that no plan of some kind does
// better; none says that a plan exists which does as well. docs/bounds.md has the arguments.
//
//   M1  working set       no plan, in no order, swapping and recomputing as it likes, has a lower
//                         peak
//   M3  keep everything   no order has a lower peak when nothing is swapped or made again
//   T0  compute           no plan takes less time than all ops once
//   T1  swap only         no plan with this order of the ops, with swaps and without clones, whose
//   T2  recompute only    ... with clones and without swaps, ...
//   T2' both              ... with swaps and clones, whose peak on the clock (Simulate) is within
//                         the budget takes less time
//
// M1 and M3 hold for every order, T1 to T2' for one: clones may stand anywhere in it, but the ops
// themselves keep to it. They count with one op at a time, two copy lanes of the machine's rates,
// and the ops' times as given.

#ifndef TFLMS_SIM_BOUNDS_H_
#define TFLMS_SIM_BOUNDS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "src/sim/problem.h"
#include "src/sim/simulator.h"

namespace tflms {

// M1: persistent bytes + the largest (inputs + outputs + workspace) of one op. An output that may
// take over an input's memory counts once with it, though it need not get it. Splitting ops would
// go lower. O(ops + accesses).
struct Floor {
  int64_t bytes = 0;
  OpId op = kNoOp;
};
Floor WorkingSetFloor(const Problem& problem);

// M3: persistent bytes + max over ops v of workspace(v) + the buffers that v finds in every order:
// made by v or an ancestor, read by v or a descendant, or made by one of the former and fetched.
struct OrderBound {
  int64_t bytes = 0;
  OpId op = kNoOp;
  // False: some ops, which may need more than `bytes`, were left out to save time. Still a bound.
  bool complete = true;
};
// `order` is any order of all ops. It decides which ops come first, and does not change the result
// when that is complete. Ops are looked at in the order of the bytes live at them, until no other
// can need more. The most that is looked at is kOrderBoundOps^2 / ops of them, all in problems of
// up to that size: O((edges + accesses) * looked at / 64 + buffers * looked at).
inline constexpr int64_t kOrderBoundOps = 20000;
OrderBound KeepEverythingBound(const Problem& problem, const std::vector<OpId>& order);

// T0, T1, T2, T2'. kNoPlan: no plan of this kind fits the budget.
inline constexpr int64_t kNoPlan = std::numeric_limits<int64_t>::max();
struct TimeBounds {
  int64_t compute_us = 0;         // T0
  int64_t swap_us = 0;            // T1
  int64_t recompute_time_us = 0;  // T2
  int64_t both_us = 0;            // T2', never above the two before
};
// `order` holds all ops of `problem` and no clone; `budget_bytes` is what the peak keeps to.
// Evaluated where the excess over the budget is largest: at the worst op of each of up to 64 equal
// parts of the order (fewer for very many buffers). O(ops + accesses log + 64 * buffers log).
TimeBounds BoundTime(const Problem& problem, const std::vector<OpId>& order, const Machine& machine,
                     int64_t budget_bytes);

}  // namespace tflms

#endif  // TFLMS_SIM_BOUNDS_H_
