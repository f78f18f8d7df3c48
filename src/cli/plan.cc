// SPDX-License-Identifier: Apache-2.0
//
// tflms plan: what would be done to a graph, without doing it.

#include "src/cli/command.h"
#include "src/cli/output_file.h"
#include "src/cli/plan_diff.h"
#include "src/cli/plan_text.h"
#include "src/cli/problem_json.h"
#include "src/cli/table.h"
#include "src/rewrite/named_plan.h"

namespace tflms::cli {
namespace {

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The answer as a plan file: a file of this format with two lists more, of figures and swaps for
// `tflms diff`, and of what pictures draw.
std::string PlanFileText(const Answer& answer, const std::vector<PlannedUnit>& units) {
  std::vector<std::string> plans, pictures;
  for (const PlannedUnit& unit : units) {
    for (const Planned& planned : unit.graphs.planned) {
      std::string plan = PlanOf(unit, planned);
      if (!plan.empty()) plans.push_back(std::move(plan));
      if (!planned.report.timeline.empty()) pictures.push_back(PlanToJson(planned.report));
    }
  }
  std::string text = PlanFileOf(plans);
  text.resize(text.rfind('}'));
  const std::string graphs =
      answer.json.at("graphs").dump(1, ' ', false, Json::error_handler_t::replace);
  text += ", \"graphs\": " + graphs + ",\n \"pictures\": [";
  for (size_t i = 0; i < pictures.size(); ++i) text += (i == 0 ? "\n" : ",\n") + pictures[i];
  return text + "]}\n";
}

Attempt<Answer> Run(const Arguments& arguments) {
  std::vector<PlannedUnit> units;
  Attempt<Answer> answer = PlanAnswer(arguments, arguments.graph, &units);
  if (!answer.ok() || arguments.out.empty()) return answer;
  const Status written = WriteWhole(arguments.out, PlanFileText(*answer, units));
  if (!written.ok()) return Failure{kNoInput, written.message()};
  return answer;
}

}  // namespace

Attempt<Answer> PlanAnswer(const Arguments& arguments, const std::string& path,
                           std::vector<PlannedUnit>* units) {
  Attempt<GraphFile> file = Open(arguments, path);
  if (!file.ok()) return file.failure();
  Answer answer;
  DescribeFile(*file, &answer);
  answer.json["graphs"] = Json::array();
  Json problems = Json::array();
  for (const Unit& unit : file->units) {
    Attempt<PlannedGraph> graphs = PlanUnit(arguments, unit);
    if (!graphs.ok()) return graphs.failure();
    if (file->units.size() > 1 && !HasDeviceMemory(*graphs)) continue;
    answer.text +=
        unit.name + (graphs->rewritten_before ? ": rewritten already; its plan\n" : ":\n");
    Json json = {{"graph", unit.name}, {"devices", Json::array()}};
    if (graphs->planned.empty()) answer.text += FormatLine("reason", graphs->reports[0].reason);
    for (const Planned& planned : graphs->planned) {
      Json one;
      DescribePlan(*graphs, planned, arguments.options, &answer, &one);
      DescribeSwaps(*graphs, planned, arguments.top, &answer, &one);
      json["devices"].push_back(std::move(one));
      if (!arguments.problem.empty()) problems.push_back(ProblemJson(unit.name, *graphs, planned));
    }
    answer.json["graphs"].push_back(std::move(json));
    if (units != nullptr) units->push_back({unit.name, arguments.options, std::move(*graphs)});
  }
  if (arguments.problem.empty()) return answer;
  const Status written = WriteWhole(arguments.problem, Dump({{"problems", std::move(problems)}}));
  if (!written.ok()) return Failure{kNoInput, written.message()};
  return answer;
}

std::string PlanOf(const PlannedUnit& unit, const Planned& planned) {
  if (!planned.report.plan_file.empty()) return planned.report.plan_file;
  if (!planned.plan.pin_order && planned.plan.swaps.empty()) return "";
  // Rewritten before it was read: there is no other plan than the one in the graph.
  const PlanSubject subject{unit.graphs.before, unit.graphs.facts, planned.map, planned.device};
  return PlanToFileJson(NamePlan(subject, planned.plan, unit.name, unit.options, planned.machine));
}

Command PlanCommand() {
  return {
      "plan",
      "What would be swapped under a budget, and the memory that is predicted",
      "Exit status 1 when the plan does not fit the budget.\n"
      "Example: tflms plan step.pb --budget-bytes 4GiB -o plan.json",
      {GraphArgument(),
       {"-o,--out", &Arguments::out, "FILE",
        "Also writes a plan file, for --plan, tflms.enable(plan=...), `tflms diff` and pictures",
        false},
       TopArgument("How many swaps to list")},
      &Run};
}

}  // namespace tflms::cli
