// SPDX-License-Identifier: Apache-2.0
//
// tflms rewrite: a file's graphs and functions with the swaps in them, as a file of the same kind.

#include <filesystem>

#include "src/cli/command.h"
#include "src/cli/output_file.h"
#include "src/cli/plan_text.h"
#include "src/cli/table.h"

namespace tflms::cli {
namespace {

Status Write(const GraphFile& file, const std::string& out, const std::string& content) {
  if (!file.folder) return WriteWhole(out, content);
  return WriteSavedModel(std::filesystem::path(file.path).parent_path().string(), out, content);
}

Attempt<Answer> Run(const Arguments& arguments) {
  if (!arguments.part.empty()) {
    return Failure{kUsage, "--graph: rewrite takes all graphs of a file"};
  }
  Attempt<GraphFile> file = Open(arguments, arguments.graph);
  if (!file.ok()) return file.failure();
  Answer answer;
  DescribeFile(*file, &answer);
  answer.json["graphs"] = Json::array();
  std::vector<Graph> rewritten;
  bool changed = false;
  for (const Unit& unit : file->units) {
    Attempt<PlannedGraph> graphs = PlanUnit(arguments, unit);
    if (!graphs.ok()) return graphs.failure();
    rewritten.push_back(graphs->after);
    changed = changed || !SameGraph(graphs->after, unit.graph);
    if (file->units.size() > 1 && !HasDeviceMemory(*graphs)) continue;
    answer.text += unit.name + ": " + OutcomeName(graphs->reports[0].outcome) + ": " +
                   graphs->reports[0].reason + "\n";
    Json json = {{"graph", unit.name},
                 {"outcome", OutcomeName(graphs->reports[0].outcome)},
                 {"reason", graphs->reports[0].reason},
                 {"devices", Json::array()}};
    for (const Planned& planned : graphs->planned) {
      Json one;
      DescribePlan(*graphs, planned, arguments.options, &answer, &one);
      json["devices"].push_back(std::move(one));
    }
    answer.json["graphs"].push_back(std::move(json));
  }
  Result<std::string> content = WriteGraphFile(*file, rewritten);
  if (!content.ok()) return FailureFrom(content.status(), kFault);
  const Status written = Write(*file, arguments.out, *content);
  if (!written.ok()) return Failure{kNoInput, written.message()};
  answer.text += arguments.out + ": written, " + (changed ? "rewritten" : "the same bytes") + "\n";
  answer.json["out"] = arguments.out;
  answer.json["changed"] = changed;
  return answer;
}

}  // namespace

Command RewriteCommand() {
  return {
      "rewrite",
      "Puts the swaps into a graph and writes it, in the kind of the input",
      "Whatever is not rewritten passes byte for byte. Functions of a SavedModel are rewritten\n"
      "but for bodies of loops and branches. Exit status 1 when the result, which is written\n"
      "all the same, does not fit the budget.\n"
      "Example: tflms rewrite model/ -o model_lms/ --budget-bytes 4GiB",
      {GraphArgument(),
       {"-o,--out", &Arguments::out, "OUT",
        "The file to write; for a SavedModel's folder a new folder", true}},
      &Run};
}

}  // namespace tflms::cli
