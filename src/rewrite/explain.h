// SPDX-License-Identifier: Apache-2.0
//
// Why a plan does with a tensor what it does, and what the other choices would have cost.
//
//   cost(choice) = figures of the plan with that one decision changed (decisions.h), by the
//                  simulator, on the same machine
//   runner-up    = the choice with the best figures among the others: those within the budget
//                  first, then the shorter time, then the lower peak
//
// A tensor that could be swapped or recomputed in several of its gaps is tried in each of the
// longest ones, a swap with the copy back early and late, and the best counts. Cost: O(gaps)
// simulations.

#ifndef TFLMS_REWRITE_EXPLAIN_H_
#define TFLMS_REWRITE_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/rewrite/decisions.h"
#include "src/sim/problem.h"
#include "src/sim/simulator.h"

namespace tflms {

// What a plan comes to. Times are of one run, one operation at a time.
struct PlanFigures {
  int64_t peak_bytes = 0;  // with the slowest copies, see PlannedMemory
  int64_t host_peak_bytes = 0;
  int64_t time_us = 0;
  int64_t stall_us = 0;      // of it, waiting for copies
  int64_t recompute_us = 0;  // of it, running operations again
  int64_t out_bytes = 0;
  int64_t in_bytes = 0;
  // Where it hurts: the op that waits longest for copies, or, when none waits, the op at the peak.
  // An op, not a clone: of a clone, the op it runs again. kNoOp: there is none.
  OpId bottleneck = kNoOp;
  bool bottleneck_waits = false;  // for copies; else it is the op at the peak
  friend bool operator==(const PlanFigures&, const PlanFigures&) = default;
};

PlanFigures FiguresOf(const Problem& problem, const Plan& plan, const Machine& machine);

// Another choice for a tensor.
struct Alternative {
  Fate fate = Fate::kKept;
  bool possible = false;
  std::string why_not;  // when it is not possible
  AccessGap gap;        // of a swap or a clone: where
  bool fits = false;    // the peak is within the budget; true without a budget
  PlanFigures figures;
};

struct TensorExplanation {
  Fate fate = Fate::kKept;
  PlanFigures now;
  std::vector<Alternative> others;  // the two other choices, the runner-up first
};

// About the tensor that the first run makes as `buffer` of `problem`. `budget_bytes` 0: none.
TensorExplanation ExplainTensor(const Problem& problem, const Plan& plan, BufferId buffer,
                                const Machine& machine, int64_t budget_bytes);

}  // namespace tflms

#endif  // TFLMS_REWRITE_EXPLAIN_H_
