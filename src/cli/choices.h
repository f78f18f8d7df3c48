// SPDX-License-Identifier: Apache-2.0
//
// What else could be done with a tensor, and what more memory would buy, in words and as JSON.

#ifndef TFLMS_CLI_CHOICES_H_
#define TFLMS_CLI_CHOICES_H_

#include <cstdint>
#include <string>

#include "src/cli/command.h"
#include "src/rewrite/curve.h"
#include "src/rewrite/explain.h"

namespace tflms::cli {

// "850 us", "12.5 ms", "3.25 s".
std::string TimeText(int64_t time_us);

// The figures of a plan as a JSON object; `graph` names the bottleneck.
Json FiguresJson(const Graph& graph, const PlanFigures& figures);

// Lines and values on the other choices for one tensor.
void DescribeChoices(const PlannedGraph& graphs, const Planned& planned, BufferId buffer,
                     int64_t budget_bytes, Answer* answer, Json* json);

// Lines and values on one accelerator's plan: its bottleneck, and the plans for more memory.
Status DescribeBottleneck(const PlannedGraph& graphs, const Planned& planned,
                          const Options& options, Answer* answer, Json* json);

// One point of a curve as a JSON object.
Json PointJson(const Graph& graph, const CurvePoint& point);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_CHOICES_H_
