// SPDX-License-Identifier: Apache-2.0
//
// The `tflms` command: takes the arguments apart, runs one subcommand, prints its answer.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "src/base/text.h"
#include "src/cli/command.h"
#include "src/cli/output_file.h"
#include "src/tensorflow/plugin/settings.h"

namespace tflms::cli {
namespace {

constexpr const char* kDescription =
    "tflms looks at TensorFlow graphs that need more device memory than there is, plans which\n"
    "tensors wait in host memory meanwhile, and rewrites the graph. `tflms COMMAND --help` has "
    "more.";

constexpr const char* kFooter =
    "Exit status: 0 fine; 1 laws are broken, or the graph does not fit the budget; 2 wrong "
    "arguments;\n"
    "3 a file cannot be read or written, or is no graph; 4 a fault of tflms itself.";

int Print(const Answer& answer, bool json, FILE* to = stdout) {
  std::string text = answer.text;
  if (json) text = answer.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), to) == text.size();
  if (std::fflush(to) != 0 || !written) return kNoInput;
  return answer.exit;
}

int Fail(const Failure& failure) {
  std::fprintf(stderr, "tflms: %s\n", failure.message.c_str());
  return failure.exit;
}

void AddArgument(const ArgumentInfo& info, CLI::App* app, Arguments* arguments) {
  const auto add = [&](auto member) {
    CLI::Option* option = app->add_option(info.names, arguments->*member, info.help);
    option->required(info.required);
    if (!info.type.empty()) option->type_name(info.type);
    if constexpr (std::is_same_v<decltype(member), int64_t Arguments::*>) {
      option->check([](const std::string& text) {
        const std::optional<int64_t> number = ParseInt64(text);
        return number && *number >= 0 ? "" : "expected a number, 0 or more, found `" + text + "`";
      });
    }
    if constexpr (std::is_same_v<decltype(member), std::vector<std::string> Arguments::*>) {
      option->expected(1)->take_all();
    }
  };
  std::visit(add, info.value);
}

void AddCommand(const Command& command, CLI::App* app, Arguments* arguments) {
  CLI::App* sub = app->add_subcommand(std::string(command.name), std::string(command.summary));
  sub->footer(std::string(command.help));
  sub->add_flag("--json", arguments->json, "The answer as JSON");
  for (const ArgumentInfo& info : command.arguments) AddArgument(info, sub, arguments);
  for (const ArgumentInfo& info : ReadingArguments()) AddArgument(info, sub, arguments);
  for (const OptionInfo& info : OptionTable()) {
    sub->add_option(FlagName(info.name), arguments->option_flags[info.name], FlagHelp(info))
        ->type_name(info.unit == "bytes"    ? "SIZE"
                    : info.type == "string" ? "TEXT"
                                            : "NUMBER")
        ->group("Options of the planner");
  }
}

int RunCommand(const Command& command, Arguments* arguments) {
  const Status status = ResolveOptions(ReadEnvironment(), arguments);
  if (!status.ok()) return Fail({kUsage, status.message()});
  Attempt<Answer> answer = command.run(*arguments);
  if (!answer.ok()) return Fail(answer.failure());
  // `-o /dev/stdout`: what was written there stays by itself.
  return Print(*answer, arguments->json, IsStandardOutput(arguments->out) ? stderr : stdout);
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(kDescription, "tflms");
  app.footer(kFooter);
  app.set_version_flag("--version", TFLMS_VERSION);
  app.set_help_flag("-h,--help", "Prints this help");
  bool rules = false, planners = false, options = false;
  app.add_flag("--list-rules", rules, "The rewriting rules, in running order");
  app.add_flag("--list-planners", planners, "The planners, the default one first");
  app.add_flag("--list-options", options, "All options in full");
  app.add_flag("--json", arguments.json, "The answer as JSON");
  for (const Command& command : Commands()) AddCommand(command, &app, &arguments);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& fault) {
    return Fail({kUsage, std::string(fault.what()) + "; see `tflms --help`"});
  }
  for (const Command& command : Commands()) {
    if (app.got_subcommand(std::string(command.name))) return RunCommand(command, &arguments);
  }
  if (rules) return Print(ListRules(), arguments.json);
  if (planners) return Print(ListPlanners(), arguments.json);
  if (options) return Print(ListOptions(), arguments.json);
  return Fail({kUsage, "expected a command; see `tflms --help`"});
}

}  // namespace
}  // namespace tflms::cli

int main(int argc, char** argv) {
  try {
    return tflms::cli::Main(argc, argv);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "tflms: %s\n", fault.what());
    return tflms::cli::kFault;
  }
}
