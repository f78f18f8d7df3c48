// SPDX-License-Identifier: Apache-2.0
//
// From the choices of a ledger to a plan: clones take their places in the order, and swaps get the
// ops that wait for them and trigger them.

#ifndef TFLMS_PLANNERS_ASSEMBLE_H_
#define TFLMS_PLANNERS_ASSEMBLE_H_

#include "src/planners/ledger.h"
#include "src/sim/problem.h"

namespace tflms {

// The plan, pinned. Swaps that would have no op to wait or to trigger are left out. O(positions +
// accesses, log).
Plan Assemble(const Ledger& ledger);

}  // namespace tflms

#endif  // TFLMS_PLANNERS_ASSEMBLE_H_
