// SPDX-License-Identifier: Apache-2.0
//
// Tensor types: element type and shape, hence bytes. An unknown extent or rank is a value of its
// own, never 0 or 1; the size of such a tensor is "unknown", and so is every sum that needs it.

#ifndef TFLMS_GRAPH_TYPES_H_
#define TFLMS_GRAPH_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tflms {

enum class DataType : uint8_t {
  kInvalid,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kFloat8E5M2,
  kFloat8E4M3,
  kInt4,
  kUint4,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  kComplex64,
  kComplex128,
  kQint8,
  kQuint8,
  kQint16,
  kQuint16,
  kQint32,
  kString,
  kResource,
  kVariant,
};

// Bytes of one element as a device stores it; 0 for types without a fixed size.
int64_t ElementBytes(DataType dtype);

// True when a tensor of this type may be copied to the host and back by an Identity pair: plain
// numbers only; never string, resource, variant or invalid.
bool IsCopyable(DataType dtype);

// Short name in the text form ("f32", "i64", "bool", "resource", ...), and back. An unknown name
// gives kInvalid.
std::string_view DataTypeName(DataType dtype);
DataType DataTypeFromName(std::string_view name);

inline constexpr int64_t kUnknownExtent = -1;

struct Shape {
  bool rank_known = false;
  std::vector<int64_t> extents;  // >= 0, or kUnknownExtent; empty when the rank is unknown

  static Shape Unknown() { return {}; }
  static Shape Known(std::vector<int64_t> extents) { return {true, std::move(extents)}; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

struct TensorType {
  DataType dtype = DataType::kInvalid;
  bool is_ref = false;  // a reference to state (v1 variables): never copied
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Number of elements, or nothing when the rank or an extent is unknown. Saturates.
std::optional<int64_t> ElementCount(const Shape& shape);

// Bytes of a tensor of this type, or nothing when they are unknown or have no fixed size.
std::optional<int64_t> SizeBytes(const TensorType& type);

}  // namespace tflms

#endif  // TFLMS_GRAPH_TYPES_H_
