// SPDX-License-Identifier: Apache-2.0
//
// Costs for a whole graph: each operation on an accelerator gets its run time and workspace, from
// the best source there is:
//
//   1. what the graph says already (a time other than the 1 that stands for "not known")
//   2. measured, by the node's name
//   3. measured, by operation and shapes
//   4. the formula of op_cost.h, times the median of measured / formula over the operations that
//      are measured (1 without a profile): one factor for how fast this machine really is

#ifndef TFLMS_COST_APPLY_H_
#define TFLMS_COST_APPLY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/cost/machine.h"
#include "src/cost/profile.h"
#include "src/graph/graph.h"

namespace tflms {

// How the operations of a graph were priced.
struct CostSummary {
  int64_t given = 0;     // by the graph itself
  int64_t measured = 0;  // by name
  int64_t by_shape = 0;  // measured, by operation and shapes
  int64_t by_formula = 0;
  int64_t free = 0;
  int64_t unknown_operations = 0;  // by the bytes they move, for want of a formula
  int64_t unknown_shapes = 0;      // by ten launches
  double scale = 1;                // on formulas, from the profile
  // Operation types behind the last two counts and how many nodes of each, most first.
  std::vector<std::pair<std::string, int64_t>> by_default;
};

// Fills in time_us and workspace_bytes of the accelerators' original nodes where they are at their
// defaults (1 and 0). `profile` may be null. `conv_workspace_bytes` is what each convolution holds
// while it runs, on machines whose libraries take scratch. O(V + E).
CostSummary ApplyCosts(const MachineProfile& machine, const CostProfile* profile,
                       int64_t conv_workspace_bytes, Graph* graph);

}  // namespace tflms

#endif  // TFLMS_COST_APPLY_H_
