// SPDX-License-Identifier: Apache-2.0
//
// Import, rewrite, export.

#include "src/tensorflow/plugin/optimize.h"

#include <algorithm>

#include "src/graph/text.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

// True when accelerator nodes have their full device name. The bodies in a session's function
// library do not: they are given to plugins ahead of placement, among them those that XLA will
// compile whole, which nothing in them tells. Called, a body comes again as a graph of its own,
// placed, unless XLA takes it.
bool IsPlaced(const Graph& graph) {
  return std::none_of(graph.devices.begin(), graph.devices.end(), [](const Device& device) {
    return device.kind == DeviceKind::kAccelerator && !device.name.starts_with("/job:");
  });
}

Report UnplacedReport(const std::string& name, const Graph& graph) {
  Report report;
  report.graph = name;
  report.outcome = Outcome::kNothingToSwap;
  report.reason = "body of a function that is not placed yet; it is looked at when it is called";
  report.nodes = graph.size();
  return report;
}

}  // namespace

Result<OptimizedGraph> OptimizeGraphDef(const Options& options, const std::string& name,
                                        std::string_view bytes, const ImportContext& context) {
  OptimizedGraph result;
  TFLMS_ASSIGN_OR_RETURN(GraphDefImport import, ImportGraphDef(bytes, context));
  if (!options.dump_dir.empty()) result.text = PrintGraph(import.graph);
  if (!IsPlaced(import.graph)) {
    result.reports.push_back(UnplacedReport(name, import.graph));
    return result;
  }
  TFLMS_ASSIGN_OR_RETURN(result.reports, Rewrite(options, name, &import.graph));
  for (const Report& report : result.reports) {
    result.changed |= report.outcome == Outcome::kRewritten;
  }
  if (result.changed) {
    TFLMS_RETURN_IF_ERROR(ExportGraphDef(import.graph, import, &result.bytes));
  }
  return result;
}

Report DeclinedReport(const std::string& graph_name, const std::string& reason) {
  Report report;
  report.graph = graph_name;
  report.outcome = Outcome::kDeclined;
  report.reason = reason;
  return report;
}

}  // namespace tflms
