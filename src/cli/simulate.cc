// SPDX-License-Identifier: Apache-2.0
//
// tflms simulate: memory over the order of operations, as the graph came and with its swaps, and
// the replay of the device's allocator.

#include <algorithm>

#include "src/base/bytes_text.h"
#include "src/cli/command.h"
#include "src/cli/plan_text.h"
#include "src/cli/table.h"
#include "src/sim/bfc.h"

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

constexpr int kChartRows = 24;
constexpr int kChartWidth = 40;
constexpr int64_t kNoLimit = int64_t{1} << 60;

// One run of the device's ops.
struct Course {
  const char* name;
  const Problem& problem;  // that the plan is for
  const Plan& plan;
  const MemoryView& memory;
};

// Memory by the device's ops, in kChartRows parts of the order, each with its highest point.
void DrawChart(const Planned& planned, const Course& course, Answer* answer) {
  std::vector<size_t> positions;
  for (size_t p = 0; p < course.plan.order.size(); ++p) {
    if (course.problem.ops[Index(course.plan.order[p])].on_device) positions.push_back(p);
  }
  const size_t parts = std::min<size_t>(kChartRows, positions.size());
  std::vector<std::vector<std::string>> rows;
  for (size_t part = 0; part < parts; ++part) {
    const size_t begin = positions.size() * part / parts,
                 end = positions.size() * (part + 1) / parts;
    size_t highest = positions[begin];
    for (size_t i = begin; i < end; ++i) {
      if (course.memory.running[positions[i]] > course.memory.running[highest]) {
        highest = positions[i];
      }
    }
    const int64_t bytes = course.memory.running[highest];
    rows.push_back({std::to_string(begin), FormatBytes(bytes),
                    Bar(bytes, course.memory.peak_bytes, kChartWidth),
                    planned.names[Index(course.plan.order[highest])]});
  }
  answer->text += FormatTable(rows);
}

Json Timeline(const Planned& planned, const Course& course) {
  Json timeline = Json::array();
  for (size_t p = 0; p < course.plan.order.size(); ++p) {
    const OpId op = course.plan.order[p];
    if (!course.problem.ops[Index(op)].on_device) continue;
    timeline.push_back({{"node", planned.names[Index(op)]},
                        {"waiting_bytes", course.memory.waiting[p]},
                        {"running_bytes", course.memory.running[p]}});
  }
  return timeline;
}

// How many of the replays stay within the budget, and what chunks take without a limit.
void DescribeReplay(const Course& course, int64_t budget_bytes, Answer* answer, Json* json) {
  const Problem& problem = course.problem;
  int64_t chunks = 0;
  for (uint32_t seed = 0; seed < kReplaySeeds; ++seed) {
    chunks =
        std::max(chunks, ReplayBfc(problem, course.plan, kNoLimit, kReplaySteps, seed).peak_bytes);
  }
  answer->text += FormatLine("allocator's chunks", FormatBytes(chunks));
  (*json)["allocator_peak_bytes"] = chunks;
  if (budget_bytes == 0) return;
  uint32_t fit = 0;
  BfcReplayResult failed;
  for (uint32_t seed = 0; seed < kReplaySeeds; ++seed) {
    const BfcReplayResult result =
        ReplayBfc(problem, course.plan, budget_bytes, kReplaySteps, seed);
    if (result.fits) {
      ++fit;
    } else if (failed.fits) {
      failed = result;
    }
  }
  std::string text = std::to_string(fit) + " of " + std::to_string(kReplaySeeds) + " replays fit " +
                     FormatBytes(budget_bytes);
  if (!failed.fits) text += "; one finds no room for " + FormatBytes(failed.failed_bytes);
  answer->text += FormatLine("allocator", text);
  (*json)["replays"] = kReplaySeeds;
  (*json)["replays_that_fit"] = fit;
}

Json DescribeCourse(const Planned& planned, const Course& course, int64_t budget_bytes,
                    Answer* answer) {
  const int32_t position = course.memory.peak_position;
  const std::string node =
      position < 0 ? "" : planned.names[Index(course.plan.order[Index(position)])];
  answer->text += "  " + std::string(course.name) + "\n";
  answer->text += FormatLine(
      "peak", FormatBytes(course.memory.peak_bytes) +
                  (node.empty() ? "" : " at " + node + ", position " + std::to_string(position)));
  answer->text += FormatLine("host peak", FormatBytes(course.memory.host_peak_bytes));
  Json json = {{"peak_bytes", course.memory.peak_bytes},
               {"peak_node", node},
               {"peak_position", position},
               {"host_peak_bytes", course.memory.host_peak_bytes}};
  DescribeReplay(course, budget_bytes, answer, &json);
  DrawChart(planned, course, answer);
  json["timeline"] = Timeline(planned, course);
  return json;
}

void DescribeDevice(const PlannedGraph& graphs, const Planned& planned, const Options& options,
                    Answer* answer, Json* json) {
  const Verdict verdict = Judge(planned, options.budget_bytes);
  const std::string device = graphs.before.devices[Index(planned.device)].name;
  answer->text += FormatLine("device", device);
  answer->text += FormatLine("verdict", VerdictName(verdict));
  *json = {{"device", device}, {"verdict", VerdictName(verdict)}};
  DescribeSource(planned, answer, json);
  if (!planned.report.plan_refused.empty()) {
    answer->text += FormatLine("note", "planned anew: " + planned.report.plan_refused);
  }
  (*json)["as_it_came"] = DescribeCourse(
      planned, {"as it came", planned.map.problem, planned.as_it_came, planned.memory_as_it_came},
      options.budget_bytes, answer);
  if (planned.plan.pin_order || !planned.plan.swaps.empty()) {
    const char* name = planned.plan.swaps.empty() ? "in the planned order" : "with the swaps";
    (*json)["planned"] =
        DescribeCourse(planned, {name, planned.expansion.problem, planned.plan, planned.memory},
                       options.budget_bytes, answer);
  }
  if (IsBad(verdict)) answer->exit = kNotSatisfied;
}

Attempt<Answer> Run(const Arguments& arguments) {
  return DescribeDevices(arguments, &DescribeDevice);
}

}  // namespace

Command SimulateCommand() {
  return {
      "simulate",
      "Memory over the order of operations, with and without swaps",
      "The rows of the chart are equal parts of the order, each with its highest point; --json\n"
      "has every operation. Exit status 1 when the budget does not hold.\n"
      "Example: tflms simulate step.after.pb --budget-bytes 4GiB",
      {GraphArgument()},
      &Run};
}

}  // namespace tflms::cli
