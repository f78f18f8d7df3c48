// SPDX-License-Identifier: Apache-2.0
//
// Outputs of an operation by its signature in TensorFlow's op registry.

#include <algorithm>
#include <charconv>
#include <iterator>

#include "src/tensorflow/op_table.h"

namespace tflms {
namespace {

constexpr OpSignature kSignatures[] = {
#include "src/tensorflow/op_signatures.inc"
};

static_assert(std::ranges::is_sorted(kSignatures, {}, &OpSignature::name));

// Text up to `separator`, which is dropped from `text` with it; all of it when there is none.
std::string_view TakeUntil(char separator, std::string_view* text) {
  const size_t at = text->find(separator);
  const std::string_view head = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return head;
}

// The value of "attr" or "attr?default" as a count of outputs.
std::optional<int64_t> CountOf(std::string_view spec, AttrList attrs) {
  const std::string_view attr = TakeUntil('?', &spec);
  if (const std::optional<int64_t> value = IntAttr(attrs, attr)) return value;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(spec.data(), spec.data() + spec.size(), value);
  if (spec.empty() || error != std::errc()) return std::nullopt;
  return value;
}

// The type of "attr", "attr?default" or ":name"; kInvalid when the attribute is missing.
TensorType TypeOf(std::string_view spec, AttrList attrs) {
  TensorType type;
  if (spec.starts_with(':')) {
    type.dtype = DataTypeFromName(spec.substr(1));
    return type;
  }
  const std::string_view attr = TakeUntil('?', &spec);
  if (const std::optional<TensorType> value = TypeAttr(attrs, attr)) return *value;
  type.dtype = DataTypeFromName(spec);
  return type;
}

// Appends the outputs of one output argument; false when their number is not known.
bool AppendOutputs(std::string_view spec, AttrList attrs, size_t max_outputs,
                   std::vector<TensorType>* out) {
  const bool is_ref = spec.ends_with('&');
  if (is_ref) spec.remove_suffix(1);
  const auto check_room = [&](int64_t count) {
    if (count < 0) throw WireFault("attribute gives " + std::to_string(count) + " outputs");
    if (static_cast<uint64_t>(count) > max_outputs - out->size()) {
      throw WireFault("attribute gives " + std::to_string(count) +
                      " outputs: more than a GraphDef of this size can have");
    }
  };
  if (spec.starts_with('@')) {
    const auto types = TypeListAttr(attrs, spec.substr(1));
    if (!types) return false;
    check_room(static_cast<int64_t>(types->size()));
    out->insert(out->end(), types->begin(), types->end());
    return true;
  }
  int64_t count = 1;
  if (spec.find('*') != std::string_view::npos) {
    const std::optional<int64_t> number = CountOf(TakeUntil('*', &spec), attrs);
    if (!number) return false;
    count = *number;
  }
  TensorType type = TypeOf(spec, attrs);
  type.is_ref = is_ref;
  check_room(count);
  out->insert(out->end(), static_cast<size_t>(count), type);
  return true;
}

}  // namespace

const OpSignature* FindSignature(std::string_view op) {
  const auto* row = std::ranges::lower_bound(kSignatures, op, {}, &OpSignature::name);
  return row != std::end(kSignatures) && row->name == op ? row : nullptr;
}

std::optional<std::vector<TensorType>> SignatureOutputs(std::string_view op, AttrList attrs,
                                                        size_t max_outputs) {
  const OpSignature* signature = FindSignature(op);
  if (signature == nullptr) return std::nullopt;
  std::vector<TensorType> outputs;
  std::string_view specs = signature->outputs;
  while (!specs.empty()) {
    if (!AppendOutputs(TakeUntil(',', &specs), attrs, max_outputs, &outputs)) return std::nullopt;
  }
  return outputs;
}

}  // namespace tflms
