// SPDX-License-Identifier: Apache-2.0
//
// Import, rewrite, export.

#include "src/tensorflow/plugin/optimize.h"

#include <algorithm>
#include <optional>

#include "src/graph/text.h"
#include "src/graph/verifier.h"
#include "src/rewrite/pricing.h"
#include "src/tensorflow/idle_nodes.h"
#include "src/tensorflow/plugin/plan_cache.h"
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

// A device that does not exist ends the process when TensorFlow runs the graph. CPU:0 always
// exists, another one for sure when something is placed on it.
std::optional<std::string> WhyNoHost(const Options& options, const Graph& graph) {
  if (options.host_device == "CPU:0") return std::nullopt;
  const bool used = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.device != kNoDevice &&
           graph.devices[static_cast<size_t>(node.device)].name.ends_with("/device:" +
                                                                          options.host_device);
  });
  if (used) return std::nullopt;
  return "host_device " + options.host_device +
         ": no operation of the graph is placed there, so that it may not exist; use CPU:0, or "
         "place "
         "an operation on it";
}

// Empty for a graph that was rewritten before: it had its table then. `expected` may be null.
Result<std::string> CostTable(const Options& options, Graph* graph, Expected* expected) {
  const bool rewritten =
      std::any_of(graph->nodes.begin(), graph->nodes.end(),
                  [](const Node& node) { return node.role != NodeRole::kOriginal; });
  if (rewritten) return std::string();
  TFLMS_RETURN_IF_ERROR(VerifyGraph(*graph));
  TFLMS_ASSIGN_OR_RETURN(const Pricing pricing, PriceGraph(options, graph));
  std::string table = CostTableJson(*graph);
  if (expected != nullptr) *expected = ExpectedOf(options, pricing, *graph);
  TakePricesBack(pricing, graph);
  return table;
}

}  // namespace

Result<std::string> CostTableOfGraphDef(const Options& options, std::string_view bytes,
                                        const ImportContext& context) {
  TFLMS_ASSIGN_OR_RETURN(GraphDefImport import, ImportGraphDef(bytes, context));
  if (!IsPlaced(import.graph)) return std::string();
  return CostTable(options, &import.graph, nullptr);
}

Result<OptimizedGraph> OptimizeGraphDef(const Options& options, const std::string& name,
                                        std::string_view bytes, const ImportContext& context,
                                        const Corrections& corrections) {
  OptimizedGraph result;
  TFLMS_ASSIGN_OR_RETURN(GraphDefImport import, ImportGraphDef(bytes, context));
  if (!options.dump_dir.empty()) result.text = PrintGraph(import.graph);
  if (!IsPlaced(import.graph)) {
    result.reports.push_back(UnplacedReport(name, import.graph));
    return result;
  }
  std::optional<std::string> reason = FindMeeting(import);
  if (!reason) reason = WhyNoHost(options, import.graph);
  if (reason) {
    result.reports.push_back(DeclinedReport(name, *reason));
    result.reports.back().nodes = import.graph.size();
    return result;
  }
  TFLMS_ASSIGN_OR_RETURN(result.cost_table, CostTable(options, &import.graph, &result.expected));
  PlanCache cache = OpenPlanCache(options.cache_dir, ParseLogLevel(options.log_level));
  TFLMS_ASSIGN_OR_RETURN(result.reports,
                         Rewrite(options, name, &import.graph, &cache, corrections));
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
