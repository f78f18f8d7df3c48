// SPDX-License-Identifier: Apache-2.0
//
// The function library of a GraphDef: which bodies may be rewritten, and putting them back.
//
// A body that a call runs once in the caller's step may be rewritten. Left alone, with all that
// they call, are bodies of loops, branches, data sets and the like (functions named by an attribute
// of any operation but a call) and what a compiler takes over.

#ifndef TFLMS_CLI_LIBRARY_H_
#define TFLMS_CLI_LIBRARY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tensorflow/graphdef.h"

namespace tflms::cli {

// By function: whether its body may be rewritten. Malformed bodies count as "no". O(size).
std::vector<bool> RewritableFunctions(std::string_view graph_def,
                                      const std::vector<LibraryFunction>& functions);

// The GraphDef with functions[i] in the place of the i-th function of its library; nothing = as it
// came.
std::string ReplaceFunctions(std::string_view graph_def,
                             const std::vector<std::optional<std::string>>& functions);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_LIBRARY_H_
