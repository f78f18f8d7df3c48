// SPDX-License-Identifier: Apache-2.0
//
// Ports of a function's tensors, by the names of op_output_names.inc. O(log ops + arguments).

#include "src/cli/function_ports.h"

#include <algorithm>
#include <iterator>

#include "src/base/text.h"
#include "src/tensorflow/op_table.h"

namespace tflms::cli {
namespace {

struct OutputNames {
  std::string_view name;
  std::string_view arguments;
};

constexpr OutputNames kOutputNames[] = {
#include "src/cli/op_output_names.inc"
};

static_assert(std::ranges::is_sorted(kOutputNames, {}, &OutputNames::name));

std::string_view TakeUntil(char separator, std::string_view* text) {
  const size_t at = text->find(separator);
  const std::string_view head = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return head;
}

// How many outputs an argument "name", "name=attr" or "name=@attr" stands for.
std::optional<int64_t> CountOutputs(std::string_view length, AttrList attrs) {
  if (length.empty()) return 1;
  if (!length.starts_with('@')) return IntAttr(attrs, length);
  const auto types = TypeListAttr(attrs, length.substr(1));
  if (!types) return std::nullopt;
  return static_cast<int64_t>(types->size());
}

}  // namespace

std::optional<int32_t> FirstPort(std::string_view op, std::string_view argument, AttrList attrs) {
  const auto* row = std::ranges::lower_bound(kOutputNames, op, {}, &OutputNames::name);
  if (row == std::end(kOutputNames) || row->name != op) {
    // Every operation of the registry that is not in the table has one output argument at most.
    if (FindSignature(op) == nullptr) return std::nullopt;
    return 0;
  }
  int64_t port = 0;
  std::string_view arguments = row->arguments;
  while (!arguments.empty()) {
    std::string_view length = TakeUntil(',', &arguments);
    if (TakeUntil('=', &length) == argument) return static_cast<int32_t>(port);
    const std::optional<int64_t> count = CountOutputs(length, attrs);
    if (!count || *count < 0 || *count > kMaxPort - port) return std::nullopt;
    port += *count;
  }
  return std::nullopt;
}

std::optional<BodyInput> ParseBodyInput(std::string_view text) {
  BodyInput input;
  input.node = TakeUntil(':', &text);
  if (input.node.empty()) return std::nullopt;
  if (text.empty()) return input;
  std::string_view last = text;
  if (!ParseInt64(text)) {
    input.argument = TakeUntil(':', &text);
    if (text.empty()) return input;
    last = text;
  }
  const std::optional<int64_t> index = ParseInt64(last);
  if (!index || *index < 0 || *index > kMaxPort) return std::nullopt;
  input.index = static_cast<int32_t>(*index);
  return input;
}

}  // namespace tflms::cli
