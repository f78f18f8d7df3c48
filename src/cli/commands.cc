// SPDX-License-Identifier: Apache-2.0
//
// The list of subcommands, and what they share.

#include <algorithm>
#include <set>
#include <string>

#include "src/base/text.h"
#include "src/cli/command.h"
#include "src/cli/table.h"
#include "src/planners/planner.h"
#include "src/rewrite/plan_file.h"
#include "src/rules/rule.h"

namespace tflms::cli {
namespace {

// Devices with nodes that are neither accelerators by --device-type nor hosts: ", though ...".
std::string OtherDevices(const GraphFile& file) {
  std::set<std::string> names;
  for (const Unit& unit : file.units) {
    for (const Node& node : unit.graph.nodes) {
      if (node.device == kNoDevice) continue;
      const Device& device = unit.graph.devices[static_cast<size_t>(node.device)];
      if (device.kind == DeviceKind::kOther) names.insert(device.name);
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? ", though " : ", ") + name;
  return text.empty() ? "" : text + " has nodes; is --device-type right?";
}

}  // namespace

std::span<const Command> Commands() {
  static const std::vector<Command> commands = {
      InspectCommand(), PlanCommand(),    RewriteCommand(), SimulateCommand(), TuneCommand(),
      CurveCommand(),   ExplainCommand(), DiffCommand(),    VerifyCommand(),   ShowCommand(),
  };
  return commands;
}

Answer ListRules() {
  Answer answer;
  answer.json = Json::array();
  for (const RuleEntry& rule : RuleCatalog()) {
    answer.text += std::string(rule.name) + "\n    " + std::string(rule.summary) + "\n    " +
                   std::string(rule.formula) + "\n";
    answer.json.push_back(
        {{"name", rule.name}, {"summary", rule.summary}, {"formula", rule.formula}});
  }
  return answer;
}

Answer ListPlanners() {
  Answer answer;
  answer.json = Json::array();
  for (const PlannerEntry& planner : PlannerCatalog()) {
    answer.text += std::string(planner.name) + "\n    " + std::string(planner.summary) + "\n";
    answer.json.push_back({{"name", planner.name}, {"summary", planner.summary}});
  }
  return answer;
}

Answer ListOptions() {
  Answer answer;
  answer.json = Json::array();
  for (const OptionInfo& info : OptionTable()) {
    answer.text += FlagName(info.name) + (info.unit.empty() ? "" : " (" + info.unit + ")") +
                   ", default " + (info.default_value.empty() ? "empty" : info.default_value) +
                   "\n    range: " + info.range + "\n    " + info.help + "\n";
    answer.json.push_back({{"name", info.name},
                           {"flag", FlagName(info.name)},
                           {"type", info.type},
                           {"unit", info.unit},
                           {"default", info.default_value},
                           {"range", info.range},
                           {"help", info.help}});
  }
  return answer;
}

ArgumentInfo GraphArgument() {
  return {"GRAPH", &Arguments::graph, "",
          "A GraphDef, a MetaGraphDef, a SavedModel (file or folder), or the text form\n"
          "(what `tflms show` prints and dump_dir writes)",
          true};
}

ArgumentInfo TopArgument(const std::string& help) {
  return {"--top", &Arguments::top, "N", help, false};
}

std::vector<ArgumentInfo> ReadingArguments() {
  return {
      {"--graph", &Arguments::part, "NAME",
       "Only the graph of this name in the file, e.g. \"function f\"", false},
      {"--place", &Arguments::place, "DEVICE",
       "Where nodes without a device are taken to be: a device name, \"none\", or\n"
       "\"auto\": accelerator 0 when no node of the file is on an accelerator",
       false},
      {"--fetch", &Arguments::fetch, "NODE",
       "A node whose result is used outside; may be given again. What signatures\n"
       "name is known already",
       false},
      {"--shapes", &Arguments::shapes, "FILE",
       "A file with the same graphs whose nodes have the attribute _output_shapes, or\n"
       "the text form, as dump_dir writes it beside a graph",
       false},
  };
}

Failure FailureFrom(const Status& status, ExitCode otherwise) {
  switch (status.code()) {
    case StatusCode::kLawBroken:
      return {kNotSatisfied, status.ToString()};
    case StatusCode::kInternal:
      return {kFault, status.ToString()};
    default:
      return {otherwise, status.message()};
  }
}

Attempt<GraphFile> Open(const Arguments& arguments, const std::string& path) {
  if (const std::string& plan = arguments.options.plan; !plan.empty()) {
    // A file that cannot be read at all is no plan that merely does not fit.
    const Result<std::vector<NamedPlan>> plans = ReadPlanFile(plan);
    if (!plans.ok()) return FailureFrom(plans.status(), kNoInput);
  }
  Result<GraphFile> file =
      ReadGraphFile(path, {arguments.options, arguments.place, arguments.fetch, arguments.shapes});
  if (!file.ok()) return FailureFrom(file.status(), kNoInput);
  if (arguments.part.empty()) return std::move(*file);
  std::string names;
  for (const Unit& unit : file->units) {
    names += (names.empty() ? "" : ", ") + Quoted(unit.name);
  }
  std::erase_if(file->units, [&](const Unit& unit) { return unit.name != arguments.part; });
  if (!file->units.empty()) return std::move(*file);
  return Failure{kUsage, "--graph " + arguments.part + ": " + file->path +
                             " has no such graph; it has " + names};
}

Attempt<PlannedGraph> PlanUnit(const Arguments& arguments, const Unit& unit) {
  Result<PlannedGraph> planned = PlanGraph(arguments.options, unit.name, unit.graph);
  if (planned.ok()) return std::move(*planned);
  Failure failure = FailureFrom(planned.status(), kUsage);
  failure.message = unit.name + ": " + failure.message;
  return failure;
}

void DescribeFile(const GraphFile& file, Answer* answer) {
  int64_t assumed = 0;
  for (const Unit& unit : file.units) assumed += unit.assumed_nodes;
  answer->text += file.path + ": " + FileKindName(file.kind) + "\n";
  if (assumed > 0) {
    answer->text += FormatLine("assumed", Count(assumed, "node") + " without a device on " +
                                              file.place + " (--place)" + OtherDevices(file));
  }
  for (const std::string& note : file.notes) answer->text += FormatLine("note", note);
  answer->json["file"] = file.path;
  answer->json["kind"] = FileKindName(file.kind);
  answer->json["assumed_place"] = assumed > 0 ? file.place : "";
  answer->json["assumed_nodes"] = assumed;
  answer->json["notes"] = file.notes;
}

bool HasDeviceMemory(const PlannedGraph& planned) {
  return std::any_of(planned.planned.begin(), planned.planned.end(), [](const Planned& device) {
    return !device.map.problem.buffers.empty() || device.map.unknown_size_tensors > 0;
  });
}

Attempt<Answer> DescribeDevices(const Arguments& arguments, DescribeDeviceFunction describe) {
  Attempt<GraphFile> file = Open(arguments, arguments.graph);
  if (!file.ok()) return file.failure();
  Answer answer;
  DescribeFile(*file, &answer);
  answer.json["graphs"] = Json::array();
  for (const Unit& unit : file->units) {
    Attempt<PlannedGraph> graphs = PlanUnit(arguments, unit);
    if (!graphs.ok()) return graphs.failure();
    if (!HasDeviceMemory(*graphs)) continue;
    answer.text += unit.name + ":\n";
    Json json = {{"graph", unit.name}, {"devices", Json::array()}};
    for (const Planned& planned : graphs->planned) {
      Json one;
      describe(*graphs, planned, arguments.options, &answer, &one);
      json["devices"].push_back(std::move(one));
    }
    answer.json["graphs"].push_back(std::move(json));
  }
  if (answer.json["graphs"].empty()) answer.text += "no graph has a tensor on an accelerator\n";
  return answer;
}

}  // namespace tflms::cli
