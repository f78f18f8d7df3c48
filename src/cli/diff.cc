// SPDX-License-Identifier: Apache-2.0
//
// tflms diff: two plans, or the plans in two rewritten graphs.

#include <fstream>
#include <iterator>

#include "src/cli/command.h"
#include "src/cli/plan_diff.h"

namespace tflms::cli {
namespace {

// The plan in a file of any of the kinds.
Attempt<Json> ReadPlan(const Arguments& arguments, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  file >> first;
  if (file && (first == '{' || first == '[')) {
    const std::string rest{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    Json plan = PlanFromJson(first + rest);
    if (plan.is_null()) return Failure{kNoInput, path + ": is JSON, but no plan and no report"};
    return plan;
  }
  Attempt<Answer> answer = PlanAnswer(arguments, path);
  if (!answer.ok()) return answer.failure();
  return std::move(answer->json);
}

Attempt<Answer> Run(const Arguments& arguments) {
  Attempt<Json> a = ReadPlan(arguments, arguments.graph);
  if (!a.ok()) return a.failure();
  Attempt<Json> b = ReadPlan(arguments, arguments.other);
  if (!b.ok()) return b.failure();
  return ComparePlans(*a, *b);
}

}  // namespace

Command DiffCommand() {
  return {
      "diff",
      "What two plans do differently",
      "Exit status 0 whether they differ or not; \"same\" in --json tells.\n"
      "Example: tflms diff plan4.json plan6.json",
      {{"A", &Arguments::graph, "",
        "A plan (`tflms plan -o`), a plan or report that dump_dir wrote, or a graph: a rewritten "
        "one\nfor the plan in it, another for the plan that is made for it",
        true},
       {"B", &Arguments::other, "", "The same", true}},
      &Run};
}

}  // namespace tflms::cli
