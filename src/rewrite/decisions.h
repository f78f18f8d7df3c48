// SPDX-License-Identifier: Apache-2.0
//
// A plan with one decision changed: one tensor kept, swapped or recomputed instead of what the plan
// does with it. The rest of the plan stays as it is, so that the two differ by that decision alone.
//
//   keep        none of the tensor's swaps, none of the reads of its clones; clones that nobody
//               reads any more do not run
//   swap        away between two neighbouring accesses. It comes back as late as the compute in
//               between hides the copy, and the op behind the first access waits until it has left
//   recompute   from the second of two neighbouring accesses on, readers get it from a clone that
//               runs right before; a swap that the clone's own reads cut short ends there instead
//
// Every plan that is handed out passes CheckPlan. Cost: O(problem + plan log).

#ifndef TFLMS_REWRITE_DECISIONS_H_
#define TFLMS_REWRITE_DECISIONS_H_

#include <vector>

#include "src/sim/problem.h"
#include "src/sim/simulator.h"
#include "tflms/status.h"

namespace tflms {

enum class Fate { kKept, kSwapped, kRecomputed };

// "kept", "swapped", "recomputed".
const char* FateName(Fate fate);

// What the plan does with the tensor that the first run makes, a buffer of `problem`. Recomputed
// when some reader reads a clone's, else swapped when it has a swap.
Fate FateOf(const Plan& plan, BufferId buffer);

// The plan with the tensor kept.
Result<Plan> KeepTensor(const Problem& problem, const Plan& plan, BufferId buffer);

// Two accesses next to one another; the second reads. Ops and clones of a plan.
struct AccessGap {
  OpId leave_after = kNoOp;
  OpId back_for = kNoOp;
};

// The gaps of a tensor that `plan` keeps, in order.
std::vector<AccessGap> GapsOf(const Problem& problem, const Plan& plan, BufferId buffer);

// The plan with the tensor, which `plan` keeps, swapped or recomputed in one of its gaps.
Result<Plan> SwapTensor(const Problem& problem, const Plan& plan, BufferId buffer,
                        const AccessGap& gap, const Machine& machine);
Result<Plan> RecomputeTensor(const Problem& problem, const Plan& plan, BufferId buffer,
                             const AccessGap& gap);

}  // namespace tflms

#endif  // TFLMS_REWRITE_DECISIONS_H_
