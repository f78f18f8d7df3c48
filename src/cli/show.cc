// SPDX-License-Identifier: Apache-2.0
//
// tflms show: a graph in text form, as it would be planned.

#include "src/cli/command.h"
#include "src/graph/text.h"

namespace tflms::cli {
namespace {

Attempt<Answer> Run(const Arguments& arguments) {
  Attempt<GraphFile> file = Open(arguments, arguments.graph);
  if (!file.ok()) return file.failure();
  Answer answer;
  answer.json["graphs"] = Json::array();
  for (const Unit& unit : file->units) {
    const std::string text = PrintGraph(unit.graph);
    if (file->units.size() > 1) answer.text += "# " + unit.name + "\n";
    answer.text += text;
    answer.json["graphs"].push_back({{"graph", unit.name}, {"text", text}});
  }
  return answer;
}

}  // namespace

Command ShowCommand() {
  return {"show",
          "A graph in text form, which every other command reads",
          "Devices, sizes and flags are those that planning sees. With several graphs in a file,\n"
          "pick one by --graph to get a text that can be read again.\n"
          "Example: tflms show step.pb > step.txt",
          {GraphArgument()},
          &Run};
}

}  // namespace tflms::cli
