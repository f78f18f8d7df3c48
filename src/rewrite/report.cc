// SPDX-License-Identifier: Apache-2.0
//
// Reports as text and as JSON.

#include "tflms/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "src/base/bytes_text.h"

namespace tflms {
namespace {

std::string Decimals(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string Line(const std::string& what, const std::string& value) {
  return "  " + what + std::string(what.size() < 22 ? 22 - what.size() : 1, ' ') + value + "\n";
}

// "850 us", "12.5 ms", "3.25 s".
std::string FormatTime(int64_t time_us) {
  const auto time = static_cast<double>(time_us);
  if (time_us < 1000) return std::to_string(time_us) + " us";
  return time_us < 1000000 ? Decimals(time / 1e3, 1) + " ms" : Decimals(time / 1e6, 2) + " s";
}

std::string FloorLines(const Report& report) {
  std::string text =
      Line("floor", FormatBytes(report.floor_bytes) +
                        (report.floor_node.empty() ? "" : " at " + report.floor_node));
  if (report.order_bound_bytes > 0) {
    text += Line("floor without swaps", FormatBytes(report.order_bound_bytes) + ", in any order");
  }
  return text;
}

std::string TimeLines(const Report& report) {
  if (report.step_us <= 0 || report.time_bound_us <= 0) return "";
  const double over = static_cast<double>(report.step_us - report.time_bound_us) /
                      static_cast<double>(report.time_bound_us);
  return Line("step time", FormatTime(report.step_us) + " predicted, " +
                               FormatTime(report.stall_us) + " of it waiting, " +
                               FormatTime(report.compute_us) + " of compute; within " +
                               Decimals(100 * over, 1) + " % of the bound for this order");
}

std::string SwapLines(const Report& report) {
  if (report.outcome != Outcome::kRewritten) return "";
  std::string text = Line("swapped tensors", std::to_string(report.swapped_tensors));
  text += Line("copied out, in", FormatBytes(report.swap_out_bytes) + ", " +
                                     FormatBytes(report.swap_in_bytes) + " a run");
  if (report.recomputed_tensors > 0) {
    text += Line("recomputed tensors", std::to_string(report.recomputed_tensors) + ", " +
                                           FormatBytes(report.recompute_bytes) + " in " +
                                           std::to_string(report.recompute_time_us) + " us a run");
  }
  if (report.split_operations > 0) {
    text += Line("split operations", std::to_string(report.split_operations));
  }
  text += Line("order pinned", report.order_pinned ? "yes" : "no");
  text += Line("nodes, order edges", std::to_string(report.nodes_added) + " and " +
                                         std::to_string(report.control_edges_added) + " added");
  text += Line(
      "host peak",
      FormatBytes(report.host_peak_bytes) +
          (report.host_budget_bytes > 0 ? " of " + FormatBytes(report.host_budget_bytes) : ""));
  return text;
}

std::string CostLines(const Report& report) {
  if (report.machine.empty()) return "";
  const CostCounts& costs = report.costs;
  std::string text = report.machine + ": " + std::to_string(report.compute_us) + " us a run; " +
                     std::to_string(costs.measured) + " operations measured, " +
                     std::to_string(costs.by_shape) + " by shape, " +
                     std::to_string(costs.by_formula) + " by formula, " +
                     std::to_string(costs.by_default) + " by default";
  if (!costs.defaulted.empty()) text += ": " + costs.defaulted;
  return Line("costs", text);
}

std::string CorrectionLines(const Report& report) {
  const Corrections& factors = report.corrections;
  if (factors == Corrections()) return "";
  return Line("measured / predicted", Decimals(factors.compute, 2) + " run time, " +
                                          Decimals(factors.link_out, 2) + " rate out, " +
                                          Decimals(factors.link_in, 2) +
                                          " rate in, of earlier runs; corrected for");
}

std::string SkipLines(const Report& report) {
  std::string text;
  std::vector<SkipCount> skipped = report.skipped;
  std::stable_sort(skipped.begin(), skipped.end(),
                   [](const SkipCount& a, const SkipCount& b) { return a.bytes > b.bytes; });
  for (const SkipCount& skip : skipped) {
    text += Line("not swapped", std::to_string(skip.tensors) + " tensors, " +
                                    FormatBytes(skip.bytes) + ": " + skip.reason);
  }
  return text;
}

}  // namespace

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRewritten:
      return "rewritten";
    case Outcome::kNotNeeded:
      return "not-needed";
    case Outcome::kNothingToSwap:
      return "nothing-to-swap";
    case Outcome::kAlreadyDone:
      return "already-done";
    case Outcome::kDeclined:
      return "declined";
  }
  return "unknown";
}

std::string FormatReport(const Report& report) {
  std::string text =
      "graph " + report.graph + ": " + OutcomeName(report.outcome) + ": " + report.reason + "\n";
  if (!report.device.empty()) {
    text += Line("device", report.device);
    text +=
        Line("budget", report.budget_bytes > 0 ? FormatBytes(report.budget_bytes) : "not known");
    text += Line("predicted peak", FormatBytes(report.peak_bytes_before) + " -> " +
                                       FormatBytes(report.peak_bytes_after));
    text += Line("variables, constants", FormatBytes(report.persistent_bytes));
    text += FloorLines(report);
    text += CostLines(report);
    text += CorrectionLines(report);
    text += TimeLines(report);
    if (report.plan_source == "cache" || report.plan_source == "file") {
      text += Line("planned", "from the " + report.plan_source);
    }
    text += SwapLines(report);
    text += SkipLines(report);
  }
  for (const std::string& note : report.notes) text += Line("note", note);
  return text;
}

namespace {

// Names come from outside: bytes that are no UTF-8 are replaced, not thrown at the caller.
std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::string ReportToJson(const Report& report) {
  nlohmann::ordered_json json = {
      {"graph", report.graph},
      {"outcome", OutcomeName(report.outcome)},
      {"reason", report.reason},
      {"device", report.device},
      {"planner", report.planner},
      {"plan_source", report.plan_source},
      {"plan_refused", report.plan_refused},
      {"nodes", report.nodes},
      {"nodes_added", report.nodes_added},
      {"control_edges_added", report.control_edges_added},
      {"budget_bytes", report.budget_bytes},
      {"persistent_bytes", report.persistent_bytes},
      {"peak_bytes_before", report.peak_bytes_before},
      {"peak_bytes_after", report.peak_bytes_after},
      {"allocator_peak_bytes", report.allocator_peak_bytes},
      {"allocator_peak_fast_bytes", report.allocator_peak_fast_bytes},
      {"floor_bytes", report.floor_bytes},
      {"floor_node", report.floor_node},
      {"order_bound_bytes", report.order_bound_bytes},
      {"time_bound_us", report.time_bound_us},
      {"host_peak_bytes", report.host_peak_bytes},
      {"host_budget_bytes", report.host_budget_bytes},
      {"device_needed_bytes", report.device_needed_bytes},
      {"host_needed_bytes", report.host_needed_bytes},
      {"swapped_tensors", report.swapped_tensors},
      {"swap_out_bytes", report.swap_out_bytes},
      {"swap_in_bytes", report.swap_in_bytes},
      {"recomputed_tensors", report.recomputed_tensors},
      {"recompute_bytes", report.recompute_bytes},
      {"recompute_time_us", report.recompute_time_us},
      {"split_operations", report.split_operations},
      {"unknown_size_tensors", report.unknown_size_tensors},
      {"compiled_nodes", report.compiled_nodes},
      {"order_pinned", report.order_pinned},
      {"machine", report.machine},
      {"compute_us", report.compute_us},
      {"step_us", report.step_us},
      {"stall_us", report.stall_us},
      {"costs",
       {{"measured", report.costs.measured},
        {"by_shape", report.costs.by_shape},
        {"by_formula", report.costs.by_formula},
        {"by_default", report.costs.by_default},
        {"scale", report.costs.scale},
        {"defaulted", report.costs.defaulted}}},
      {"link_out_factor", report.corrections.link_out},
      {"link_in_factor", report.corrections.link_in},
      {"compute_factor", report.corrections.compute},
      {"time_us", report.time_us},
  };
  json["skipped"] = nlohmann::ordered_json::array();
  for (const SkipCount& skip : report.skipped) {
    json["skipped"].push_back(
        {{"reason", skip.reason}, {"tensors", skip.tensors}, {"bytes", skip.bytes}});
  }
  json["rules"] = nlohmann::ordered_json::array();
  for (const RuleCount& rule : report.rules) {
    json["rules"].push_back(
        {{"rule", rule.rule}, {"changes", rule.changes}, {"refused", rule.refused}});
  }
  json["notes"] = report.notes;
  return Dump(json);
}

std::string PlanToJson(const Report& report) {
  nlohmann::ordered_json json = {{"graph", report.graph},
                                 {"device", report.device},
                                 {"budget_bytes", report.budget_bytes},
                                 {"persistent_bytes", report.persistent_bytes},
                                 {"timeline", nlohmann::ordered_json::array()},
                                 {"swaps", nlohmann::ordered_json::array()},
                                 {"recomputes", nlohmann::ordered_json::array()}};
  for (const TimelinePoint& point : report.timeline) {
    json["timeline"].push_back({{"node", point.node},
                                {"waiting_bytes", point.waiting_bytes},
                                {"running_bytes", point.running_bytes},
                                {"unswapped_bytes", point.unswapped_bytes},
                                {"host_bytes", point.host_bytes}});
  }
  for (const SwapRecord& swap : report.swaps) {
    json["swaps"].push_back({{"tensor", swap.tensor},
                             {"size_bytes", swap.size_bytes},
                             {"leave_after", swap.leave_after},
                             {"sync", swap.sync},
                             {"trigger", swap.trigger},
                             {"back_for", swap.back_for}});
  }
  for (const RecomputeRecord& again : report.recomputes) {
    json["recomputes"].push_back({{"node", again.node},
                                  {"tensors", again.tensors},
                                  {"size_bytes", again.size_bytes},
                                  {"time_us", again.time_us},
                                  {"at", again.at}});
  }
  return Dump(json);
}

}  // namespace tflms
