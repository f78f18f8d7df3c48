// SPDX-License-Identifier: Apache-2.0
//
// What the options say of costs, applied to a graph for as long as it is planned: run times and
// workspace on its nodes, and the rates of the link.
//
//   link = option, else the profile's measured rate, else the machine's; the latter two times the
//          correction that feedback gives
//
// With machine `auto` and no profile the nodes keep what they have: every operation counts alike.
// A profile without a machine scales the figures of the machine `neutral`.

#ifndef TFLMS_REWRITE_PRICING_H_
#define TFLMS_REWRITE_PRICING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/cost/feedback.h"
#include "src/graph/graph.h"
#include "src/sim/problem.h"
#include "src/sim/simulator.h"
#include "tflms/corrections.h"
#include "tflms/options.h"
#include "tflms/report.h"
#include "tflms/status.h"

namespace tflms {

struct Pricing {
  std::string machine;  // "" = the graph's own times count
  Machine link;
  CostCounts counts;
  Corrections corrections;  // 1 where there is nothing that could be corrected
  std::vector<std::pair<int64_t, int64_t>>
      original;  // time_us and workspace_bytes by node, as before
};

// Sets the costs on the nodes of a verified graph. An error when the machine or the profile cannot
// be read; the graph is then unchanged. O(V + E + size of the profile).
Result<Pricing> PriceGraph(const Options& options, Graph* graph,
                           const Corrections& corrections = {});

// What feedback (feedback.h) can be compared with: the run times of the accelerators' operations of
// a graph priced without corrections, and the rates of the link unless the options set them.
Expected ExpectedOf(const Options& options, const Pricing& pricing, const Graph& graph);

// Puts the nodes' own costs back. Nodes may have been added behind the original ones meanwhile.
void TakePricesBack(const Pricing& pricing, Graph* graph);

// Writes machine, counts and the sum of the device's run times into the report.
void DescribeCosts(const Pricing& pricing, const Problem& problem, Report* report);

// The accelerators' operations of a priced graph as one JSON object by node name:
// {"conv1/Conv2D": {"op": "Conv2D", "key": "Conv2D|f32[..]..", "time_us": 812}}; "key" is "" when a
// shape is not known. O(V + E).
std::string CostTableJson(const Graph& graph);

}  // namespace tflms

#endif  // TFLMS_REWRITE_PRICING_H_
