// SPDX-License-Identifier: Apache-2.0
//
// What a plan does, in lines and values.

#include "src/cli/plan_text.h"

#include <algorithm>
#include <iterator>

#include "src/base/bytes_text.h"
#include "src/base/checked_math.h"
#include "src/cli/swap_list.h"
#include "src/cli/table.h"
#include "src/planners/order.h"

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

std::string VerdictText(Verdict verdict, const Planned& planned, int64_t budget_bytes) {
  const std::string budget = FormatBytes(budget_bytes);
  switch (verdict) {
    case Verdict::kNotNeeded:
      return "not needed: the graph fits " + budget + " as it is";
    case Verdict::kFits:
      return "fits " + budget;
    case Verdict::kCannotFit:
      return "cannot fit " + budget + ": the floor is " + FormatBytes(planned.floor.bytes);
    case Verdict::kNotFound:
      return "no plan found that fits " + budget + "; the best one needs " +
             FormatBytes(planned.memory.peak_bytes) + " and room for fragmentation";
    case Verdict::kUnknown:
      return "cannot be told: " + Count(planned.map.unknown_size_tensors, "tensor") +
             " of unknown size; give --batch-size";
    case Verdict::kNoBudget:
      return "no budget to judge by: give --budget-bytes";
    case Verdict::kDeclined:
      return "left alone: " + planned.report.reason;
  }
  return "";
}

// No order of those we can make goes above the budget.
bool FitsInAllOrders(const Problem& problem, int64_t budget_bytes) {
  return std::all_of(std::begin(kOrderPolicies), std::end(kOrderPolicies), [&](OrderPolicy policy) {
    const Plan plan{MakeOrder(problem, policy), false, {}};
    return PlannedMemory(problem, plan).peak_bytes <= budget_bytes;
  });
}

}  // namespace

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNotNeeded:
      return "not-needed";
    case Verdict::kFits:
      return "fits";
    case Verdict::kCannotFit:
      return "cannot-fit";
    case Verdict::kNotFound:
      return "not-found";
    case Verdict::kUnknown:
      return "unknown-sizes";
    case Verdict::kNoBudget:
      return "no-budget";
    case Verdict::kDeclined:
      return "declined";
  }
  return "unknown";
}

Verdict Judge(const Planned& planned, int64_t budget_bytes) {
  if (planned.report.outcome == tflms::Outcome::kDeclined && !planned.report.device.empty()) {
    return Verdict::kDeclined;
  }
  if (budget_bytes == 0) return Verdict::kNoBudget;
  const Problem& problem = planned.map.problem;
  const bool touched = planned.plan.pin_order || !planned.plan.swaps.empty();
  if (!touched && planned.map.unknown_size_tensors > 0) {
    return planned.floor.bytes > budget_bytes ? Verdict::kCannotFit : Verdict::kUnknown;
  }
  if (!touched) {
    if (planned.report.outcome == tflms::Outcome::kNotNeeded &&
        FitsInAllOrders(problem, budget_bytes)) {
      return Verdict::kNotNeeded;
    }
    // Whatever the order: even if nothing were freed before the end.
    int64_t all = problem.persistent_bytes;
    for (const ProblemBuffer& buffer : problem.buffers) all = SaturatingAdd(all, buffer.size_bytes);
    if (all <= budget_bytes) return Verdict::kNotNeeded;
  }
  if (planned.floor.bytes > budget_bytes) return Verdict::kCannotFit;
  if (touched &&
      PlanFits(planned.expansion.problem, planned.plan, planned.memory.peak_bytes, budget_bytes)) {
    return Verdict::kFits;
  }
  return Verdict::kNotFound;
}

bool IsBad(Verdict verdict) {
  return verdict == Verdict::kCannotFit || verdict == Verdict::kNotFound ||
         verdict == Verdict::kDeclined;
}

void DescribePlan(const PlannedGraph& graphs, const Planned& planned, const Options& options,
                  Answer* answer, Json* json) {
  const Problem& problem = planned.expansion.problem;
  const Verdict verdict = Judge(planned, options.budget_bytes);
  int64_t again = 0, again_bytes = 0;
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    if (planned.expansion.clone[id] < 0 || problem.buffers[id].uses.empty()) continue;
    ++again;
    again_bytes = SaturatingAdd(again_bytes, problem.buffers[id].size_bytes);
  }
  std::vector<bool> swapped(problem.buffers.size(), false);
  int64_t tensors = 0, out_bytes = 0, in_bytes = 0;
  for (const SwapGap& gap : planned.plan.swaps) {
    const int64_t bytes = problem.buffers[Index(gap.buffer)].size_bytes;
    in_bytes = SaturatingAdd(in_bytes, bytes);
    if (swapped[Index(gap.buffer)]) continue;
    swapped[Index(gap.buffer)] = true;
    ++tensors;
    out_bytes = SaturatingAdd(out_bytes, bytes);
  }
  const std::string device = graphs.before.devices[Index(planned.device)].name;
  answer->text += FormatLine("device", device);
  answer->text += FormatLine("verdict", VerdictText(verdict, planned, options.budget_bytes));
  answer->text += FormatLine("peak", FormatBytes(planned.memory_as_it_came.peak_bytes) + " -> " +
                                         FormatBytes(planned.memory.peak_bytes));
  answer->text += FormatLine("floor", FormatBytes(planned.floor.bytes));
  answer->text += FormatLine(graphs.rewritten_before ? "swapped before" : "swapped",
                             Count(tensors, "tensor") + ", " + FormatBytes(out_bytes) + " out, " +
                                 FormatBytes(in_bytes) + " in a run");
  if (again > 0) {
    answer->text += FormatLine(
        "made again", Count(again, "tensor") + ", " + FormatBytes(again_bytes) + " in a run");
  }
  answer->text += FormatLine("order pinned", planned.plan.pin_order ? "yes" : "no");
  answer->text += FormatLine("host peak", FormatBytes(planned.memory.host_peak_bytes));
  for (const std::string& note : planned.report.notes) answer->text += FormatLine("note", note);
  *json = {{"device", device},
           {"verdict", VerdictName(verdict)},
           {"budget_bytes", options.budget_bytes},
           {"peak_bytes_before", planned.memory_as_it_came.peak_bytes},
           {"peak_bytes_after", planned.memory.peak_bytes},
           {"floor_bytes", planned.floor.bytes},
           {"persistent_bytes", problem.persistent_bytes},
           {"unknown_size_tensors", planned.map.unknown_size_tensors},
           {"swapped_tensors", tensors},
           {"swap_out_bytes", out_bytes},
           {"swap_in_bytes", in_bytes},
           {"recomputed_tensors", again},
           {"recompute_bytes", again_bytes},
           {"order_pinned", planned.plan.pin_order},
           {"host_peak_bytes", planned.memory.host_peak_bytes},
           {"notes", planned.report.notes}};
  DescribeSource(planned, answer, json);
  if (IsBad(verdict)) answer->exit = kNotSatisfied;
}

void DescribeSource(const Planned& planned, Answer* answer, Json* json) {
  if (planned.report.plan_source == "file") answer->text += FormatLine("planned", "from the file");
  (*json)["plan_source"] = planned.report.plan_source;
  (*json)["plan_refused"] = planned.report.plan_refused;
}

void DescribeSwaps(const PlannedGraph& graphs, const Planned& planned, int64_t top, Answer* answer,
                   Json* json) {
  const std::vector<NamedSwap> swaps = ListSwaps(graphs, planned);
  std::vector<std::vector<std::string>> rows;
  (*json)["swaps"] = Json::array();
  for (const NamedSwap& swap : swaps) {
    (*json)["swaps"].push_back({{"tensor", swap.tensor},
                                {"bytes", swap.bytes},
                                {"leave_after", swap.leave_after},
                                {"sync", swap.sync},
                                {"trigger", swap.trigger},
                                {"back_for", swap.back_for},
                                {"distance", swap.distance},
                                {"ahead", swap.ahead}});
    if (top >= 0 && static_cast<int64_t>(rows.size()) > top) continue;
    if (rows.empty())
      rows.push_back({"bytes", "tensor", "leaves after", "trigger", "back for", "away"});
    rows.push_back({FormatBytes(swap.bytes), swap.tensor, swap.leave_after, swap.trigger,
                    swap.back_for, std::to_string(swap.distance) + " steps"});
  }
  answer->text += FormatTable(rows);
  const auto shown = static_cast<int64_t>(rows.empty() ? 0 : rows.size() - 1);
  const auto all = static_cast<int64_t>(swaps.size());
  if (shown < all) answer->text += "  and " + std::to_string(all - shown) + " more (--top)\n";
}

}  // namespace tflms::cli
