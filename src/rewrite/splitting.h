// SPDX-License-Identifier: Apache-2.0
//
// Which operations of an accelerator are split before it is planned: those whose working set alone
// is above the budget. Nothing but splitting helps there, since inputs and output of an operation
// that runs are on the device (bound M1).
//
// The fewest pieces that make it fit are taken, of those that divide the rows. Cost: O(V + E) for
// each operation that is split, and once more.

#ifndef TFLMS_REWRITE_SPLITTING_H_
#define TFLMS_REWRITE_SPLITTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/graph.h"
#include "src/rewrite/filters.h"
#include "src/rules/split.h"
#include "tflms/status.h"

namespace tflms {

inline constexpr int64_t kMostPieces = 64;
inline constexpr int kMostSplitOperations = 64;

struct SplitOperation {
  std::string node;
  int64_t pieces = 0;
  int64_t need_bytes = 0;  // working set before, variables included
};

struct Splitting {
  std::vector<SplitOperation> done;
  std::string why_not;  // one sentence: the operation that is too large still, and why it stays so
};

// Splits operations until the largest working set is within the budget. Where that does not come
// about, the graph stays as it is and `why_not` is set. A budget of 0 is no budget.
Result<Splitting> SplitWhereNeeded(DeviceId accelerator, int64_t budget_bytes,
                                   const Filters& filters, const SplitLink& link, Graph* graph);

}  // namespace tflms

#endif  // TFLMS_REWRITE_SPLITTING_H_
