// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `tflms` and the few things they share. Each one is a file of its own that owns
// its name, help and function; commands.cc lists them.
//
// A subcommand fills an Answer: a text for people and a JSON value for machines with the same
// content. main.cc prints one of them.

#ifndef TFLMS_CLI_COMMAND_H_
#define TFLMS_CLI_COMMAND_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/arguments.h"
#include "src/cli/graph_file.h"
#include "src/cli/planned.h"

namespace tflms::cli {

using Json = nlohmann::ordered_json;

// What the process says by its exit status.
enum ExitCode : int {
  kFine = 0,
  kNotSatisfied = 1,  // laws are broken, or the graph does not fit
  kUsage = 2,         // arguments that make no sense
  kNoInput = 3,       // a file cannot be read or written, or is no graph
  kFault = 4,         // a fault of tflms itself
};

// One result: the same content twice.
struct Answer {
  std::string text;
  Json json = Json::object();
  ExitCode exit = kFine;
};

// A failure: what is printed on standard error, and the exit status that goes with it.
struct Failure {
  ExitCode exit = kFault;
  std::string message;
};

template <typename T>
class [[nodiscard]] Attempt {
 public:
  Attempt(T value) : value_(std::move(value)) {}              // NOLINT(google-explicit-constructor)
  Attempt(Failure failure) : failure_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  T* operator->() { return &*value_; }
  const Failure& failure() const { return failure_; }

 private:
  std::optional<T> value_;
  Failure failure_;
};

struct Command {
  std::string_view name;
  std::string_view summary;             // one line
  std::string_view help;                // behind the flags: what it says, and an example
  std::vector<ArgumentInfo> arguments;  // beside those of ReadingArguments
  Attempt<Answer> (*run)(const Arguments& arguments);
};

// All of them, in the order of --help.
std::span<const Command> Commands();

Command InspectCommand();
Command PlanCommand();
Command RewriteCommand();
Command SimulateCommand();
Command TuneCommand();
Command CurveCommand();
Command ExplainCommand();
Command DiffCommand();
Command VerifyCommand();
Command ShowCommand();

// --list-rules, --list-planners, --list-options.
Answer ListRules();
Answer ListPlanners();
Answer ListOptions();

// ---- arguments
// ------------------------------------------------------------------------------------

// GRAPH.
ArgumentInfo GraphArgument();
// --top.
ArgumentInfo TopArgument(const std::string& help);
// Those of every subcommand: --place, --fetch, --graph, --shapes. The flags of the option table
// come beside them.
std::vector<ArgumentInfo> ReadingArguments();

// ---- what several subcommands do
// -----------------------------------------------------------------

// The failure that a status stands for: kNotSatisfied for a broken law, kFault for a fault of
// tflms, else `otherwise`.
Failure FailureFrom(const Status& status, ExitCode otherwise);

// Reads arguments.graph (or `path`), with the units that --graph picks.
Attempt<GraphFile> Open(const Arguments& arguments, const std::string& path);

// The unit's plan.
Attempt<PlannedGraph> PlanUnit(const Arguments& arguments, const Unit& unit);

// Lines and values about the file as it was read: kind, assumed places, functions left alone.
void DescribeFile(const GraphFile& file, Answer* answer);

// True for units worth a word of their own: those with memory on an accelerator.
bool HasDeviceMemory(const PlannedGraph& planned);

// Says what a subcommand has to say about one accelerator: lines to `answer`, values to `json`.
using DescribeDeviceFunction = void (*)(const PlannedGraph& graphs, const Planned& planned,
                                        const Options& options, Answer* answer, Json* json);

// Plans the graphs of arguments.graph and describes each of their accelerators.
Attempt<Answer> DescribeDevices(const Arguments& arguments, DescribeDeviceFunction describe);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_COMMAND_H_
