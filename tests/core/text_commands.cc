// SPDX-License-Identifier: Apache-2.0
//
// The table of commands, how they are run, and how their output is compared.

#include "tests/core/text_commands.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "src/base/text.h"
#include "src/graph/text.h"
#include "src/graph/verifier.h"

namespace tflms {
namespace {

constexpr std::array<TextCommand, 12> kCommands = {{
    {"print", false, false, PrintCommand},
    {"verify", false, false, VerifyCommand},
    {"levels", false, true, LevelsCommand},
    {"buffers", false, true, BuffersCommand},
    {"erase", false, true, EraseCommand},
    {"rule", false, true, RuleCommand},
    {"plan", false, true, PlanCommand},
    {"simulate", true, true, SimulateCommand},
    {"explain", false, true, ExplainCommand},
    {"replay", true, true, ReplayCommand},
    {"rewrite", false, true, RewriteCommand},
    {"report", true, true, ReportCommand},
}};

const TextCommand* FindCommand(std::string_view name) {
  for (const TextCommand& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

Result<Lines> TryRun(TextRun* run, TextState* state) {
  const TextCommand* command = FindCommand(run->command);
  if (command == nullptr) return InvalidArgument("there is no command " + Quoted(run->command));
  TFLMS_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(run->graph));
  if (command->needs_legal_graph) TFLMS_RETURN_IF_ERROR(VerifyGraph(graph));
  if (state->plan_graph != run->graph) state->plan.reset();
  state->plan_graph = run->graph;
  TFLMS_ASSIGN_OR_RETURN(Lines lines, command->run(graph, &run->args, state));
  TFLMS_RETURN_IF_ERROR(run->args.AllTaken());
  return lines;
}

std::vector<std::string> Words(const Lines& lines) {
  std::vector<std::string> words;
  for (const std::string& line : lines) {
    std::istringstream in(line);
    for (std::string word; in >> word;) words.push_back(word);
  }
  return words;
}

// "key=value" words by key. A word without '=' is its own key.
std::map<std::string, std::string> Fields(const Lines& lines) {
  std::map<std::string, std::string> fields;
  for (const std::string& word : Words(lines)) fields[word.substr(0, word.find('='))] = word;
  return fields;
}

bool ComparesFields(std::string_view command) {
  const TextCommand* found = FindCommand(command);
  return found != nullptr && found->fields;
}

}  // namespace

std::span<const TextCommand> TextCommands() { return kCommands; }

Lines RunText(TextRun run, TextState* state) {
  const Result<Lines> lines = TryRun(&run, state);
  if (lines.ok()) return *lines;
  return {"error: " + lines.status().message()};
}

bool Matches(std::string_view command, const Lines& want, const Lines& got) {
  if (ComparesFields(command)) return Words(NewExpectation(command, want, got)) == Words(want);
  return std::equal(want.begin(), want.end(), got.begin(), got.end(),
                    [](const std::string& a, const std::string& b) {
                      return CollapseBlanks(a) == CollapseBlanks(b);
                    });
}

Lines NewExpectation(std::string_view command, const Lines& want, const Lines& got) {
  if (!ComparesFields(command) || want.empty()) return got;
  const std::map<std::string, std::string> fields = Fields(got);
  Lines out;
  for (const std::string& line : want) {
    std::string joined;
    for (const std::string& word : Words({line})) {
      const auto it = fields.find(word.substr(0, word.find('=')));
      if (it == fields.end()) return got;
      joined += (joined.empty() ? "" : " ") + it->second;
    }
    out.push_back(joined);
  }
  return out;
}

Result<NodeId> NodeNamed(const Graph& graph, std::string_view name) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).name == name) return id;
  }
  return InvalidArgument("there is no node " + Quoted(name));
}

Result<DeviceId> AcceleratorOf(const Graph& graph) {
  for (size_t i = 0; i < graph.devices.size(); ++i) {
    if (graph.devices[i].kind == DeviceKind::kAccelerator) return static_cast<DeviceId>(i);
  }
  return InvalidArgument("the graph has no accelerator");
}

Lines GraphLines(const Graph& graph) {
  Lines lines;
  const std::string text = PrintGraph(graph);
  for (std::string_view line : SplitLines(text)) lines.emplace_back(line);
  return lines;
}

Lines GraphLinesAfter(const Graph& before, const Graph& after) {
  if (before.nodes == after.nodes && before.devices == after.devices) return {"unchanged"};
  return GraphLines(after);
}

}  // namespace tflms
