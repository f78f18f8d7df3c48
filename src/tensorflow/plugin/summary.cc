// SPDX-License-Identifier: Apache-2.0
//
// Log lines from reports.

#include "src/tensorflow/plugin/summary.h"

#include "src/base/bytes_text.h"

namespace tflms {
namespace {

// Fewer nodes than that: metric resets, initializers and the like, one line each would be noise.
constexpr int64_t kStepNodes = 200;

std::string PeakText(const Report& report) {
  if (report.peak_bytes_before <= 0) return "";
  std::string text = ", predicted peak " + FormatBytes(report.peak_bytes_before);
  if (report.outcome == Outcome::kRewritten) text += " -> " + FormatBytes(report.peak_bytes_after);
  if (report.budget_bytes > 0) text += " of " + FormatBytes(report.budget_bytes) + " budget";
  return text;
}

}  // namespace

std::string SummaryLine(const Report& report) {
  std::string line = report.graph;
  if (!report.device.empty()) line += " on " + report.device;
  if (report.outcome == Outcome::kRewritten) {
    line += ": " + std::to_string(report.swapped_tensors) +
            (report.swapped_tensors == 1 ? " tensor (" : " tensors (") +
            FormatBytes(report.swap_out_bytes) + ") swapped";
    if (report.order_pinned) line += ", order pinned";
    if (report.plan_source == "cache" || report.plan_source == "file") {
      line += ", planned from the " + report.plan_source;
    }
  } else {
    line += std::string(": ") + OutcomeName(report.outcome);
    if (!report.reason.empty()) line += ": " + report.reason;
  }
  return line + PeakText(report);
}

LogLevel SummaryLevel(const Report& report) {
  if (report.outcome == Outcome::kDeclined) return LogLevel::kWarning;
  if (report.outcome == Outcome::kRewritten || report.nodes >= kStepNodes) return LogLevel::kInfo;
  return LogLevel::kDebug;
}

}  // namespace tflms
