// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the command, and its flags for the options of tflms: one flag for each row of the
// option table, so that there is no second list. Precedence: flag, environment, default.

#ifndef TFLMS_CLI_ARGUMENTS_H_
#define TFLMS_CLI_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tflms/options.h"
#include "tflms/status.h"

namespace tflms::cli {

struct Arguments {
  std::string graph;                                // GRAPH, ORIGINAL or A
  std::string other;                                // REWRITTEN or B
  std::string node;                                 // NODE
  std::string budgets;                              // --budgets
  std::string out;                                  // -o
  std::string problem;                              // --problem
  std::string part;                                 // --graph: one graph of the file
  std::string place = "auto";                       // --place
  std::vector<std::string> fetch;                   // --fetch
  std::string shapes;                               // --shapes
  int64_t top = 10;                                 // --top
  bool json = false;                                // --json
  std::map<std::string, std::string> option_flags;  // by option name, as given
  Options options;                                  // all precedence applied, by ResolveOptions
};

// "swapout_threshold" -> "--swapout-threshold".
std::string FlagName(std::string_view option);

// One argument of a subcommand: what it is called, what it says, and where its value goes.
struct ArgumentInfo {
  std::string names;  // "GRAPH" for a place, "-o,--out" for a flag
  std::variant<std::string Arguments::*, int64_t Arguments::*,
               std::vector<std::string> Arguments::*>
      value;
  std::string type;  // of a flag's value: "FILE"
  std::string help;  // lines
  bool required = false;
};

// The help of an option's flag: its first sentence, range and default, in lines.
std::string FlagHelp(const OptionInfo& info);

// Fills arguments->options from defaults, `environment` and the flags given.
Status ResolveOptions(const std::vector<std::pair<std::string, std::string>>& environment,
                      Arguments* arguments);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_ARGUMENTS_H_
