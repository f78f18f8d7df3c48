// SPDX-License-Identifier: Apache-2.0
//
// Two plans, as JSON that `tflms plan` writes, compared.

#ifndef TFLMS_CLI_PLAN_DIFF_H_
#define TFLMS_CLI_PLAN_DIFF_H_

#include "src/cli/command.h"

namespace tflms::cli {

// A graph of a file and its plans.
struct PlannedUnit {
  std::string name;
  Options options;
  PlannedGraph graphs;
};

// The answer of `tflms plan` for a file; `units`, unless it is null, gets the graphs it is about.
Attempt<Answer> PlanAnswer(const Arguments& arguments, const std::string& path,
                           std::vector<PlannedUnit>* units = nullptr);

// The plan of one accelerator as an object of a plan file; "" when the graph is left as it is.
std::string PlanOf(const PlannedUnit& unit, const Planned& planned);

// Reads `content` as a plan: what `tflms plan` wrote, or a list of plans or of reports as
// dump_dir has them (reports give peaks and counts only). A null value when it is none of them.
Json PlanFromJson(const std::string& content);

// What differs, as text and JSON; "same" says whether nothing does. Swaps are the same swap when
// tensor and back_for are. Devices are matched by graph and name, and by place where each side has
// one graph with one device.
Answer ComparePlans(const Json& a, const Json& b);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_PLAN_DIFF_H_
