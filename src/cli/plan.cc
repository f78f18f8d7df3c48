// SPDX-License-Identifier: Apache-2.0
//
// tflms plan: what would be done to a graph, without doing it.

#include "src/cli/command.h"
#include "src/cli/output_file.h"
#include "src/cli/plan_diff.h"
#include "src/cli/plan_text.h"
#include "src/cli/problem_json.h"
#include "src/cli/table.h"

namespace tflms::cli {
namespace {

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Attempt<Answer> Run(const Arguments& arguments) {
  Attempt<Answer> answer = PlanAnswer(arguments, arguments.graph);
  if (!answer.ok() || arguments.out.empty()) return answer;
  const Status written = WriteWhole(arguments.out, Dump(answer->json));
  if (!written.ok()) return Failure{kNoInput, written.message()};
  return answer;
}

}  // namespace

Attempt<Answer> PlanAnswer(const Arguments& arguments, const std::string& path) {
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
  }
  if (arguments.problem.empty()) return answer;
  const Status written = WriteWhole(arguments.problem, Dump({{"problems", std::move(problems)}}));
  if (!written.ok()) return Failure{kNoInput, written.message()};
  return answer;
}

Command PlanCommand() {
  return {"plan",
          "What would be swapped under a budget, and the memory that is predicted",
          "Exit status 1 when the plan does not fit the budget.\n"
          "Example: tflms plan step.pb --budget-bytes 4GiB -o plan.json",
          {GraphArgument(),
           {"-o,--out", &Arguments::out, "FILE", "Also writes the answer as JSON, for `tflms diff`",
            false},
           {"--problem", &Arguments::problem, "FILE",
            "Also writes what the planner is asked, as JSON, for bench/lp_bound.py", false},
           TopArgument("How many swaps to list")},
          &Run};
}

}  // namespace tflms::cli
