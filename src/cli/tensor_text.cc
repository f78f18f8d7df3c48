// SPDX-License-Identifier: Apache-2.0
//
// Shapes and reasons in words.

#include "src/cli/tensor_text.h"

#include <array>
#include <utility>

#include "src/base/bytes_text.h"

namespace tflms::cli {
namespace {

// The reasons of src/rewrite/problem_builder.cc.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kReasons = {{
    {"persistent", "it is a variable or a constant, which stays for the whole training"},
    {"not-copyable", "its type cannot be copied to the host (string, resource or variant)"},
    {"unknown-size", "its size is not known: --batch-size, --infer-shapes"},
    {"in-loop-or-branch", "it is made in a loop or on a conditional branch"},
    {"read-in-loop-or-branch", "it is read in a loop or on a conditional branch"},
    {"read-out-of-order", "an operation reads it that order edges cannot hold"},
    {"compiled", "it belongs to a part that XLA compiles"},
    {"written-in-place", "an operation writes it in place"},
    {"fetched", "it is fetched"},
    {"no-reader", "nothing reads it"},
    {"decides-a-sum", "the kernel of a sum that reads it looks at who else needs it"},
    {"too-small", "it is smaller than min_swap_bytes"},
    {"filtered", "the include and exclude options leave it out"},
}};

}  // namespace

std::string TypeText(const TensorType& type) {
  std::string text(DataTypeName(type.dtype));
  text += type.is_ref ? "&[" : "[";
  if (!type.shape.rank_known) text += "*";
  for (size_t i = 0; i < type.shape.extents.size(); ++i) {
    const int64_t extent = type.shape.extents[i];
    text += (i == 0 ? "" : ",") + (extent < 0 ? "?" : std::to_string(extent));
  }
  return text + "]";
}

std::string SizeText(const std::optional<int64_t>& size_bytes) {
  return size_bytes ? FormatBytes(*size_bytes) : "unknown size";
}

std::string ReasonText(std::string_view reason) {
  for (const auto& [name, text] : kReasons) {
    if (name == reason) return std::string(text);
  }
  return std::string(reason);
}

}  // namespace tflms::cli
