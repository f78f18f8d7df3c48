// SPDX-License-Identifier: Apache-2.0
//
// The commands of text tests. A command is a free function from a graph and its arguments to lines
// of output; the table in text_commands.cc lists them all.

#ifndef TFLMS_TESTS_CORE_TEXT_COMMANDS_H_
#define TFLMS_TESTS_CORE_TEXT_COMMANDS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/graph.h"
#include "src/planners/planner.h"
#include "tests/core/text_file.h"
#include "tflms/status.h"

namespace tflms {

using Lines = std::vector<std::string>;

// What one run hands on to the next of the same file.
struct TextState {
  std::string plan_graph;    // text of the graph that `plan` belongs to
  std::optional<Plan> plan;  // of the last `plan` command
};

struct TextCommand {
  std::string_view name;
  // How the output is compared: every line, or as fields "key=value" of which the expectation may
  // name some.
  bool fields;
  // True when the graph is to be verified first.
  bool needs_legal_graph;
  Result<Lines> (*run)(const Graph& graph, RunArgs* args, TextState* state);
};

std::span<const TextCommand> TextCommands();

// Runs one command: its output, or one line "error: ...".
Lines RunText(TextRun run, TextState* state);

// True when `got` is what `want` expects of that command.
bool Matches(std::string_view command, const Lines& want, const Lines& got);

// What to write into the file for `got`: with fields, only those that `want` names (all when it
// names none).
Lines NewExpectation(std::string_view command, const Lines& want, const Lines& got);

// The node of that name.
Result<NodeId> NodeNamed(const Graph& graph, std::string_view name);
// The first accelerator.
Result<DeviceId> AcceleratorOf(const Graph& graph);
// The lines of the graph in canonical form, or "unchanged" when it is the same as `before`.
Lines GraphLines(const Graph& graph);
Lines GraphLinesAfter(const Graph& before, const Graph& after);

// The commands.
Result<Lines> PrintCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> VerifyCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> LevelsCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> BuffersCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> EraseCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> RuleCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> PlanCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> SimulateCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> ExplainCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> ReplayCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> RewriteCommand(const Graph& graph, RunArgs* args, TextState* state);
Result<Lines> ReportCommand(const Graph& graph, RunArgs* args, TextState* state);

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_TEXT_COMMANDS_H_
