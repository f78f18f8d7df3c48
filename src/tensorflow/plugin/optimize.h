// SPDX-License-Identifier: Apache-2.0
//
// One GraphDef through tflms: bytes in, bytes and reports out. Knows nothing of plugins.

#ifndef TFLMS_TENSORFLOW_PLUGIN_OPTIMIZE_H_
#define TFLMS_TENSORFLOW_PLUGIN_OPTIMIZE_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/cost/feedback.h"
#include "src/tensorflow/graphdef.h"
#include "tflms/options.h"
#include "tflms/report.h"
#include "tflms/status.h"

namespace tflms {

struct OptimizedGraph {
  bool changed = false;
  std::string bytes;            // the new GraphDef; empty when nothing changed
  std::string text;             // text form of the graph as it came; only with dump_dir
  std::vector<Report> reports;  // one for each accelerator
  std::string cost_table = {};  // as CostTableJson; empty when the graph was not planned
  Expected expected = {};       // for feedback, without corrections
};

// Rewrites the GraphDef `bytes` of the graph `name`. A graph whose accelerator nodes are not placed
// yet (the body of a function in a session's library) is reported and left alone. `context` says
// what the GraphDef does not. An error means: nothing changed, and why.
Result<OptimizedGraph> OptimizeGraphDef(const Options& options, const std::string& name,
                                        std::string_view bytes, const ImportContext& context,
                                        const Corrections& corrections = {});

// What the operations of a placed GraphDef are taken to cost, as CostTableJson. For graphs that are
// not to be rewritten.
Result<std::string> CostTableOfGraphDef(const Options& options, std::string_view bytes,
                                        const ImportContext& context);

// The report of a graph that was left alone because of `reason`.
Report DeclinedReport(const std::string& graph_name, const std::string& reason);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_OPTIMIZE_H_
