// SPDX-License-Identifier: Apache-2.0
//
// Import, rewrite, export.

#include "src/tensorflow/plugin/optimize.h"

#include "tflms/rewrite.h"

namespace tflms {
Result<OptimizedGraph> OptimizeGraphDef(const Options& options, const std::string& name,
                                        std::string_view bytes, const ImportContext& context) {
  OptimizedGraph result;
  TFLMS_ASSIGN_OR_RETURN(GraphDefImport import, ImportGraphDef(bytes, context));
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
