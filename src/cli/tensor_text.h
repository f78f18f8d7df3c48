// SPDX-License-Identifier: Apache-2.0
//
// Tensors, shapes and reasons as the command prints them.

#ifndef TFLMS_CLI_TENSOR_TEXT_H_
#define TFLMS_CLI_TENSOR_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/graph/graph.h"
#include "src/graph/types.h"

namespace tflms::cli {

// "f32[8,?]", "i32[*]".
std::string TypeText(const TensorType& type);

// "36 bytes", or "unknown".
std::string SizeText(const std::optional<int64_t>& size_bytes);

// The reason a tensor stays, as half a sentence: "too-small" -> "it is smaller than
// min_swap_bytes". A reason without a sentence of its own comes back as it is.
std::string ReasonText(std::string_view reason);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_TENSOR_TEXT_H_
