// SPDX-License-Identifier: Apache-2.0
//
// tflms curve: what memory buys. Plans for a row of budgets, with the time and the copies of each.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/bytes_text.h"
#include "src/base/text.h"
#include "src/cli/choices.h"
#include "src/cli/command.h"
#include "src/cli/output_file.h"
#include "src/cli/table.h"

namespace tflms::cli {
namespace {

constexpr int64_t kMostBudgets = 1000;

// --budgets FROM:TO:COUNT; what is left out is not set.
struct Range {
  std::optional<int64_t> low, high;
  int64_t count = 9;
};

Result<Range> ParseRange(const std::string& text) {
  const Status wrong = InvalidArgument(
      "--budgets: expected FROM:TO:COUNT, sizes and 2 .. 1000, each of which may be left out, as "
      "in 2GiB:8GiB:7 or ::20; found `" +
      text + "`");
  Range range;
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (parts.size() > 3) return wrong;
  parts.resize(3);
  for (const auto& [part, bytes] : {std::pair(&parts[0], &range.low), {&parts[1], &range.high}}) {
    if (part->empty()) continue;
    *bytes = ParseBytes(*part);
    if (!*bytes || **bytes <= 0) return wrong;
  }
  if (!parts[2].empty()) {
    const std::optional<int64_t> count = ParseInt64(parts[2]);
    if (!count || *count < 2 || *count > kMostBudgets) return wrong;
    range.count = *count;
  }
  if (range.low && range.high && *range.low > *range.high) return wrong;
  return range;
}

Result<Json> DescribeCurve(const PlannedGraph& graphs, const Planned& planned,
                           const Options& options, const Range& range, Answer* answer) {
  const int64_t unswapped = planned.memory_as_it_came.peak_bytes;
  const int64_t high = range.high.value_or(std::max(unswapped, range.low.value_or(0)));
  const int64_t low = range.low.value_or(std::min(planned.floor.bytes, high));
  const std::string device = graphs.before.devices[static_cast<size_t>(planned.device)].name;
  answer->text += FormatLine("device", device);
  answer->text += FormatLine("floor", FormatBytes(planned.floor.bytes));
  answer->text += FormatLine("peak without swaps", FormatBytes(unswapped));
  Json json = {
      {"device", device},
      {"floor_bytes", planned.floor.bytes},
      {"unswapped_peak_bytes", unswapped},
      {"link_known", planned.machine.out_bytes_per_us > 0 || planned.machine.in_bytes_per_us > 0},
      {"points", Json::array()}};
  std::vector<std::vector<std::string>> rows = {
      {"budget", "fits", "peak", "step", "waiting", "again", "copied out", "copied back"}};
  for (int64_t budget : BudgetsBetween(std::max<int64_t>(low, 1), high, range.count)) {
    TFLMS_ASSIGN_OR_RETURN(const CurvePoint point,
                           PlanForBudget(planned.map.problem, options, planned.machine, budget));
    const PlanFigures& figures = point.figures;
    rows.push_back({FormatBytes(budget), point.fits ? "yes" : "no", FormatBytes(figures.peak_bytes),
                    TimeText(figures.time_us), TimeText(figures.stall_us),
                    TimeText(figures.recompute_us), FormatBytes(figures.out_bytes),
                    FormatBytes(figures.in_bytes)});
    json["points"].push_back(PointJson(graphs.before, point));
  }
  answer->text += FormatTable(rows);
  if (!json["link_known"].get<bool>()) {
    answer->text += FormatLine("note", "copies take no time here: no rate of the link is known");
  }
  return json;
}

Attempt<Answer> Curve(const Arguments& arguments) {
  const Result<Range> range = ParseRange(arguments.budgets);
  if (!range.ok()) return Failure{kUsage, range.status().message()};
  Attempt<GraphFile> file = Open(arguments, arguments.graph);
  if (!file.ok()) return file.failure();
  Answer answer;
  DescribeFile(*file, &answer);
  answer.json["curves"] = Json::array();
  for (const Unit& unit : file->units) {
    const Result<PlannedGraph> graphs = ExamineGraph(arguments.options, unit.graph);
    if (!graphs.ok()) return FailureFrom(graphs.status(), kUsage);
    if (!HasDeviceMemory(*graphs)) continue;
    answer.text += unit.name + ":\n";
    for (const Planned& planned : graphs->planned) {
      Result<Json> json = DescribeCurve(*graphs, planned, arguments.options, *range, &answer);
      if (!json.ok()) return FailureFrom(json.status(), kUsage);
      (*json)["graph"] = unit.name;
      answer.json["curves"].push_back(std::move(*json));
    }
  }
  if (answer.json["curves"].empty()) answer.text += "no graph has a tensor on an accelerator\n";
  return answer;
}

Attempt<Answer> Run(const Arguments& arguments) {
  Attempt<Answer> answer = Curve(arguments);
  if (!answer.ok() || arguments.out.empty()) return answer;
  const Status written = WriteWhole(
      arguments.out, answer->json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!written.ok()) return Failure{kNoInput, written.message()};
  return answer;
}

}  // namespace

Command CurveCommand() {
  return {"curve",
          "What memory buys: predicted time and copies over a row of budgets",
          "Every budget is planned on its own; --time-limit-ms is for each. A picture of it:\n"
          "python -m tflms.pictures curve.json -o curve.svg\n"
          "Example: tflms curve step.pb --budgets 2GiB:8GiB:7 -o curve.json",
          {GraphArgument(),
           {"--budgets", &Arguments::budgets, "FROM:TO:COUNT",
            "Which budgets, both ends included; by default 9 from the floor to the peak\n"
            "without swaps",
            false},
           {"-o,--out", &Arguments::out, "FILE", "Also writes the answer as JSON, for pictures",
            false}},
          &Run};
}

}  // namespace tflms::cli
