// SPDX-License-Identifier: Apache-2.0
//
// Plans in words and as JSON, for the subcommands that print them.

#ifndef TFLMS_CLI_PLAN_TEXT_H_
#define TFLMS_CLI_PLAN_TEXT_H_

#include "src/cli/command.h"

namespace tflms::cli {

// The verdict on one accelerator's plan.
enum class Verdict {
  kNotNeeded,  // it fits as it is, in any order
  kFits,       // with the plan it fits
  kCannotFit,  // the floor is above the budget: no plan can fit
  kNotFound,   // no plan that fits was found, though the floor is under the budget
  kUnknown,    // nothing is swapped, and there are tensors of unknown size: it cannot be told
  kNoBudget,   // there is no budget to judge by
  kDeclined,   // the graph is left alone for a reason of its own
};

// "not-needed", "fits", "cannot-fit", "not-found", "unknown-sizes",
// "no-budget", "declined".
const char* VerdictName(Verdict verdict);

// Judged by peak, allocator replay and budget; never by what the report calls it.
Verdict Judge(const Planned& planned, int64_t budget_bytes);

// True for the verdicts with which a command ends in kNotSatisfied.
bool IsBad(Verdict verdict);

// Peaks, swapped bytes, order, verdict of one accelerator: lines to `answer`, values to `json`.
void DescribePlan(const PlannedGraph& graphs, const Planned& planned, const Options& options,
                  Answer* answer, Json* json);

// Where the plan comes from, when that is a plan file; or why the file given is not used.
void DescribeSource(const Planned& planned, Answer* answer, Json* json);

// The table of swaps: the `top` first of them as text (all for a negative number), all as JSON.
void DescribeSwaps(const PlannedGraph& graphs, const Planned& planned, int64_t top, Answer* answer,
                   Json* json);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_PLAN_TEXT_H_
