// SPDX-License-Identifier: Apache-2.0
//
// How a function's body names tensors. In a graph an output is "node:port"; in a FunctionDef it is
// the argument's name, or "node:argument:index" by the name the operation gives its output.
//
//   port("node:a:i") = outputs of all arguments before `a` + i

#ifndef TFLMS_CLI_FUNCTION_PORTS_H_
#define TFLMS_CLI_FUNCTION_PORTS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/tensorflow/wire.h"

namespace tflms::cli {

// The first port of output argument `argument` of an operation with these attributes. Nothing when
// the operation is not known to have several arguments that could be told apart.
std::optional<int32_t> FirstPort(std::string_view op, std::string_view argument, AttrList attrs);

// One data input of a FunctionDef's node, taken apart.
struct BodyInput {
  std::string_view node;      // or the function's argument
  std::string_view argument;  // empty for an argument of the function
  int32_t index = 0;
};

// Takes "arg", "arg:0", "node:argument" or "node:argument:index" apart; nothing for other texts.
// "x:y" is an argument of the function when `y` is a number.
std::optional<BodyInput> ParseBodyInput(std::string_view text);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_FUNCTION_PORTS_H_
