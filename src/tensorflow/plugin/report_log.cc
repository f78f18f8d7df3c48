// SPDX-License-Identifier: Apache-2.0
//
// The bounded list of reports.

#include "src/tensorflow/plugin/report_log.h"

namespace tflms {

void ReportLog::Add(const Report& report) {
  if (report.outcome == Outcome::kAlreadyDone) return;
  reports_.push_back(ReportToJson(report));
  if (reports_.size() > kMaxReports) reports_.pop_front();
}

void ReportLog::Clear() {
  graphs_seen_ = 0;
  reports_.clear();
}

std::string ReportLog::ToJson() const {
  std::string json = "{\"graphs_seen\": " + std::to_string(graphs_seen_) + ", \"reports\": [";
  bool first = true;
  for (const std::string& report : reports_) {
    if (!first) json += ", ";
    json += report;
    first = false;
  }
  return json + "]}";
}

}  // namespace tflms
