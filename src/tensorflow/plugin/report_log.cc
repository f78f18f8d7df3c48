// SPDX-License-Identifier: Apache-2.0
//
// The bounded list of reports.

#include "src/tensorflow/plugin/report_log.h"

#include <nlohmann/json.hpp>

namespace tflms {
namespace {

std::string JoinObjects(const std::deque<std::string>& objects) {
  std::string json = "[";
  for (const std::string& object : objects) {
    if (json.size() > 1) json += ", ";
    json += object;
  }
  return json + "]";
}

std::string PlanFileEntry(const Report& report) {
  const auto word = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return "{\"graph\": " + word(report.graph) + ", \"device\": " + word(report.device) +
         ", \"plan\": " + report.plan_file + "}";
}

}  // namespace

void ReportLog::Add(const Report& report) {
  if (report.outcome == Outcome::kAlreadyDone) return;
  reports_.push_back(ReportToJson(report));
  if (reports_.size() > kMaxReports) reports_.pop_front();
  if (report.timeline.empty()) return;
  plans_.push_back(PlanToJson(report));
  if (plans_.size() > kMaxPlans) plans_.pop_front();
  if (report.plan_file.empty()) return;
  plan_files_.push_back(PlanFileEntry(report));
  if (plan_files_.size() > kMaxPlans) plan_files_.pop_front();
}

void ReportLog::AddCostTable(const std::string& graph, const std::string& table) {
  if (table.empty() || table == "{}") return;
  cost_tables_.push_back("{\"graph\": " + nlohmann::json(graph).dump() + ", \"ops\": " + table +
                         "}");
  cost_table_bytes_ += cost_tables_.back().size();
  while (cost_tables_.size() > kMaxCostTables ||
         (cost_tables_.size() > 1 && cost_table_bytes_ > kMaxCostTableBytes)) {
    cost_table_bytes_ -= cost_tables_.front().size();
    cost_tables_.pop_front();
  }
}

void ReportLog::Clear() {
  graphs_seen_ = 0;
  reports_.clear();
  plans_.clear();
  cost_tables_.clear();
  cost_table_bytes_ = 0;
  plan_files_.clear();
}

std::string ReportLog::ToJson() const {
  return "{\"graphs_seen\": " + std::to_string(graphs_seen_) +
         ", \"reports\": " + JoinObjects(reports_) + "}";
}

std::string ReportLog::PlansToJson() const { return JoinObjects(plans_); }

std::string ReportLog::CostTablesToJson() const { return JoinObjects(cost_tables_); }
std::string ReportLog::PlanFilesToJson() const { return JoinObjects(plan_files_); }

}  // namespace tflms
