// SPDX-License-Identifier: Apache-2.0
//
// A function's body as a graph of its own, and back.
//
//   body(f) = one node "_Arg" for each argument, and the nodes of f with inputs "node:port"
//
// What the function returns counts as fetched. On the way back a node that is as it came passes
// byte for byte, and so does everything in the FunctionDef that is no node.

#ifndef TFLMS_CLI_FUNCTION_BODY_H_
#define TFLMS_CLI_FUNCTION_BODY_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tflms/status.h"

namespace tflms::cli {

struct FunctionBody {
  std::string graph_def;
  std::unordered_set<std::string> preserve;  // nodes whose results the function returns
  // "node:port" -> what the FunctionDef calls it.
  std::unordered_map<std::string, std::string> spelling;
};

// An unsupported status when an output's port cannot be told (an operation that is not known).
Result<FunctionBody> ReadFunctionBody(std::string_view function_def);

// The FunctionDef with the nodes of `graph_def`, a rewriting of body.graph_def. New nodes stand
// behind the old ones.
Result<std::string> WriteFunctionBody(std::string_view function_def, const FunctionBody& body,
                                      std::string_view graph_def);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_FUNCTION_BODY_H_
