// SPDX-License-Identifier: Apache-2.0
//
// The reports of the last graphs, for TflmsApi::reports. Bounded: a program that traces for ever
// keeps no more than the last kMaxReports.

#ifndef TFLMS_TENSORFLOW_PLUGIN_REPORT_LOG_H_
#define TFLMS_TENSORFLOW_PLUGIN_REPORT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "tflms/report.h"

namespace tflms {

inline constexpr size_t kMaxReports = 1000;
// Plans are larger than reports: fewer are kept.
inline constexpr size_t kMaxPlans = 16;
// Tables of costs: of the last graphs, and no more than this in sum (but always the last one).
inline constexpr size_t kMaxCostTables = 16;
inline constexpr size_t kMaxCostTableBytes = size_t{32} << 20;

// Not safe for concurrent use: the owner locks.
class ReportLog {
 public:
  // Counts one graph. Reports of graphs that were rewritten before (kAlreadyDone) are not kept:
  // the report of the rewriting says more.
  void CountGraph() { ++graphs_seen_; }
  void Add(const Report& report);
  // `table` as CostTableJson gives it; an empty text or object says nothing and is not kept.
  void AddCostTable(const std::string& graph, const std::string& table);
  void Clear();
  // {"graphs_seen": n, "reports": [...]}, oldest first.
  std::string ToJson() const;
  // A JSON list of the plans of the last rewritten graphs, oldest first.
  std::string PlansToJson() const;
  // A JSON list of {"graph": name, "ops": table} for the last graphs, oldest first.
  std::string CostTablesToJson() const;
  // The same plans as a JSON list of {"graph", "device", "plan": an object of a plan file}.
  std::string PlanFilesToJson() const;

 private:
  int64_t graphs_seen_ = 0;
  std::deque<std::string> reports_, plans_, plan_files_, cost_tables_;  // as JSON objects
  size_t cost_table_bytes_ = 0;
};

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_REPORT_LOG_H_
