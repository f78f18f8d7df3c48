// SPDX-License-Identifier: Apache-2.0
//
// Import, rewrite, export.

#include "src/tensorflow/plugin/optimize.h"

#include <algorithm>

#include "tflms/rewrite.h"

namespace tflms {
namespace {

constexpr const char* kCompiledNote =
    " nodes belong to parts that XLA compiles as a whole; no graph pass can reach the tensors in "
    "them. If the training step is among them, compile the model with jit_compile=False (Keras: "
    "model.compile(..., jit_compile=False); tf.function: without jit_compile=True)";

}  // namespace

Result<OptimizedGraph> OptimizeGraphDef(const Options& options, const std::string& name,
                                        std::string_view bytes, const ImportContext& context) {
  OptimizedGraph result;
  TFLMS_ASSIGN_OR_RETURN(GraphDefImport import, ImportGraphDef(bytes, context));
  TFLMS_ASSIGN_OR_RETURN(result.reports, Rewrite(options, name, &import.graph));
  for (Report& report : result.reports) {
    if (report.compiled_nodes > 0) {
      report.notes.push_back(std::to_string(report.compiled_nodes) + kCompiledNote);
    }
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
