// SPDX-License-Identifier: Apache-2.0
//
// Choices and bottlenecks in words.

#include "src/cli/choices.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "src/base/bytes_text.h"
#include "src/base/checked_math.h"
#include "src/cli/table.h"

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

bool LinkKnown(const Machine& machine) {
  return machine.out_bytes_per_us > 0 || machine.in_bytes_per_us > 0;
}

// "3.0 MiB more", "3.0 MiB less", "the same".
std::string BytesBeside(int64_t bytes, int64_t now) {
  if (bytes == now) return "the same";
  return bytes > now ? FormatBytes(bytes - now) + " more" : FormatBytes(now - bytes) + " less";
}

std::string TimeBeside(int64_t time_us, int64_t now) {
  if (time_us == now) return "the same";
  return time_us > now ? TimeText(time_us - now) + " more" : TimeText(now - time_us) + " less";
}

std::string NodeName(const Graph& graph, OpId op) {
  return op == kNoOp ? std::string() : graph.node(op).name;
}

// The node of an op or of a clone in a plan that may have one clone more than `plan`.
std::string AccessName(const PlannedGraph& graphs, const Plan& plan, OpId op) {
  if (op == kNoOp) return "";
  const int32_t nodes = graphs.before.size();
  if (op < nodes) return graphs.before.node(op).name;
  const size_t clone = Index(op - nodes);
  return clone < plan.clones.size() ? graphs.before.node(plan.clones[clone]).name + " (again)" : "";
}

std::string ChoiceText(const Alternative& choice, const PlanFigures& now, int64_t budget_bytes) {
  if (!choice.possible) return "cannot be: " + choice.why_not;
  const PlanFigures& then = choice.figures;
  std::string text = "peak " + FormatBytes(then.peak_bytes) + " (" +
                     BytesBeside(then.peak_bytes, now.peak_bytes) + ")";
  if (budget_bytes > 0 && !choice.fits) {
    text += ", " + FormatBytes(then.peak_bytes - budget_bytes) + " over the budget";
  }
  return text + "; step " + TimeText(then.time_us) + " (" + TimeBeside(then.time_us, now.time_us) +
         ")";
}

// Why the plan's choice is the right one, or that it is not, in one sentence.
std::string Verdict(const TensorExplanation& explanation, int64_t budget_bytes) {
  const Alternative& second = explanation.others.front();
  const std::string name = FateName(second.fate);
  if (!second.possible) return "nothing else can be done with it";
  const PlanFigures &now = explanation.now, &then = second.figures;
  if (budget_bytes > 0 && !second.fits) return name + " instead, the step would not fit the budget";
  if (then.time_us > now.time_us) {
    return name + " instead, the step would take " + TimeText(then.time_us - now.time_us) + " more";
  }
  if (then.peak_bytes > now.peak_bytes) {
    return name + " instead, the peak would be " + FormatBytes(then.peak_bytes - now.peak_bytes) +
           " higher";
  }
  if (then.time_us == now.time_us && then.peak_bytes == now.peak_bytes) {
    return name + " instead, neither peak nor time would change";
  }
  return name + " instead, this plan would be better by " +
         BytesBeside(then.peak_bytes, now.peak_bytes) + " of peak and " +
         TimeBeside(then.time_us, now.time_us) +
         " of time: what the planner keeps in reserve, or does not see";
}

struct More {
  std::string name;
  int64_t budget_bytes;
};

std::vector<More> MoreMemory(int64_t budget_bytes) {
  return {{"now", budget_bytes},
          {"10 % more", SaturatingAdd(budget_bytes, budget_bytes / 10)},
          {"1 GiB more", SaturatingAdd(budget_bytes, int64_t{1} << 30)}};
}

}  // namespace

std::string TimeText(int64_t time_us) {
  const auto time = static_cast<double>(time_us);
  if (time_us < 1000) return std::to_string(time_us) + " us";
  char text[64];
  if (time_us < 1000000) {
    std::snprintf(text, sizeof text, "%.1f ms", time / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", time / 1e6);
  }
  return text;
}

Json FiguresJson(const Graph& graph, const PlanFigures& figures) {
  return {{"peak_bytes", figures.peak_bytes},
          {"host_peak_bytes", figures.host_peak_bytes},
          {"time_us", figures.time_us},
          {"stall_us", figures.stall_us},
          {"recompute_us", figures.recompute_us},
          {"swap_out_bytes", figures.out_bytes},
          {"swap_in_bytes", figures.in_bytes},
          {"bottleneck", NodeName(graph, figures.bottleneck)},
          {"bottleneck_waits", figures.bottleneck_waits}};
}

void DescribeChoices(const PlannedGraph& graphs, const Planned& planned, BufferId buffer,
                     int64_t budget_bytes, Answer* answer, Json* json) {
  const TensorExplanation explanation =
      ExplainTensor(planned.map.problem, planned.plan, buffer, planned.machine, budget_bytes);
  (*json)["fate"] = FateName(explanation.fate);
  (*json)["now"] = FiguresJson(graphs.before, explanation.now);
  (*json)["choices"] = Json::array();
  for (const Alternative& choice : explanation.others) {
    answer->text += FormatLine(std::string("  if ") + FateName(choice.fate),
                               ChoiceText(choice, explanation.now, budget_bytes));
    Json one = {{"fate", FateName(choice.fate)}, {"possible", choice.possible}};
    if (choice.possible) {
      one["leave_after"] = AccessName(graphs, planned.plan, choice.gap.leave_after);
      one["back_for"] = AccessName(graphs, planned.plan, choice.gap.back_for);
      one["fits"] = choice.fits;
      one["figures"] = FiguresJson(graphs.before, choice.figures);
    } else {
      one["why_not"] = choice.why_not;
    }
    (*json)["choices"].push_back(std::move(one));
  }
  const std::string verdict = Verdict(explanation, budget_bytes);
  answer->text +=
      FormatLine("  in short", std::string(FateName(explanation.fate)) + ": " + verdict);
  if (!LinkKnown(planned.machine)) {
    answer->text += FormatLine("  note", "copies take no time here: no rate of the link is known");
  }
  (*json)["in_short"] = verdict;
}

Json PointJson(const Graph& graph, const CurvePoint& point) {
  Json json = {{"budget_bytes", point.budget_bytes},
               {"fits", point.fits},
               {"needed", point.needed},
               {"swapped_tensors", point.swapped_tensors},
               {"clones", point.clones},
               {"planning_us", point.planning_us}};
  json.update(FiguresJson(graph, point.figures));
  return json;
}

Status DescribeBottleneck(const PlannedGraph& graphs, const Planned& planned,
                          const Options& options, Answer* answer, Json* json) {
  const Problem& problem = planned.map.problem;
  const PlanFigures now = FiguresOf(problem, planned.plan, planned.machine);
  const std::string device = graphs.before.devices[Index(planned.device)].name;
  answer->text += FormatLine("device", device);
  answer->text += FormatLine("step", TimeText(now.time_us) + ", of it waiting for copies " +
                                         TimeText(now.stall_us) + ", running again " +
                                         TimeText(now.recompute_us));
  answer->text += FormatLine("peak", FormatBytes(now.peak_bytes));
  if (now.bottleneck != kNoOp) {
    answer->text += FormatLine(
        "bottleneck", NodeName(graphs.before, now.bottleneck) +
                          (now.bottleneck_waits ? ", which waits for copies" : ", at the peak"));
  }
  *json = {{"device", device}, {"plan", FiguresJson(graphs.before, now)}, {"more", Json::array()}};
  if (options.budget_bytes == 0) {
    answer->text += "  what more memory would buy: give --budget-bytes\n";
    return Status();
  }
  std::vector<std::vector<std::string>> rows = {
      {"memory", "budget", "fits", "step", "waiting", "again", "copied back"}};
  for (const More& more : MoreMemory(options.budget_bytes)) {
    TFLMS_ASSIGN_OR_RETURN(const CurvePoint point,
                           PlanForBudget(problem, options, planned.machine, more.budget_bytes));
    rows.push_back({more.name, FormatBytes(more.budget_bytes), point.fits ? "yes" : "no",
                    TimeText(point.figures.time_us), TimeText(point.figures.stall_us),
                    TimeText(point.figures.recompute_us), FormatBytes(point.figures.in_bytes)});
    Json one = PointJson(graphs.before, point);
    one["name"] = more.name;
    (*json)["more"].push_back(std::move(one));
  }
  answer->text += FormatTable(rows);
  if (!LinkKnown(planned.machine)) {
    answer->text += FormatLine("note", "copies take no time here: no rate of the link is known");
  }
  return Status();
}

}  // namespace tflms::cli
