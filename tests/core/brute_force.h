// SPDX-License-Identifier: Apache-2.0
//
// Every plan of a small problem, one after the other: what bounds and planners are held against.

#ifndef TFLMS_TESTS_CORE_BRUTE_FORCE_H_
#define TFLMS_TESTS_CORE_BRUTE_FORCE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "src/sim/problem.h"

namespace tflms {

// A problem of up to `ops` ops with everything a bound may stumble over: ops with no or several
// outputs, ops off the device, buffers that are fetched, held, not swappable, made again, or made
// in the memory of others. Ops have ids in a topological order. Times and sizes are small numbers.
Problem SmallRandomProblem(uint32_t seed, int ops);
// A chain of `layers` forward ops and one of backward ops that read their outputs, of random sizes
// and times.
Problem SmallTrainingProblem(uint32_t seed, int layers);

// All topological orders.
std::vector<std::vector<OpId>> AllOrders(const Problem& problem);

// Calls `visit` with every legal plan that `plan`, which has no swaps, becomes by swaps: each set
// of gaps, each with each sync op, or none, and each trigger. Where these are more than `most`,
// some choices of sync and trigger are left out.
void ForEachSwapPlan(const Problem& problem, const Plan& plan, size_t most, uint32_t seed,
                     const std::function<void(const Problem& expanded, const Plan& plan)>& visit);

// The plans without swaps, in this order, with one clone: of each op, at each place, for each
// buffer it makes, read by all readers behind it or the first of them or the last; then `more`
// plans drawn at random with up to three clones that may read one another.
std::vector<Plan> ClonePlans(const Problem& problem, const std::vector<OpId>& order, int more,
                             uint32_t seed);

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_BRUTE_FORCE_H_
