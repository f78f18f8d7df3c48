// SPDX-License-Identifier: Apache-2.0
//
// The table of element types.

#include "src/graph/types.h"

#include <array>
#include <utility>

#include "src/base/checked_math.h"

namespace tflms {
namespace {

struct TypeRow {
  DataType dtype;
  std::string_view name;
  int64_t element_bytes;
  bool copyable;
};

constexpr std::array<TypeRow, 28> kTypes = {{
    {DataType::kInvalid, "invalid", 0, false},
    {DataType::kFloat16, "f16", 2, true},
    {DataType::kBFloat16, "bf16", 2, true},
    {DataType::kFloat32, "f32", 4, true},
    {DataType::kFloat64, "f64", 8, true},
    {DataType::kFloat8E5M2, "f8e5m2", 1, true},
    {DataType::kFloat8E4M3, "f8e4m3", 1, true},
    {DataType::kInt4, "i4", 1, true},
    {DataType::kUint4, "u4", 1, true},
    {DataType::kInt8, "i8", 1, true},
    {DataType::kInt16, "i16", 2, true},
    {DataType::kInt32, "i32", 4, true},
    {DataType::kInt64, "i64", 8, true},
    {DataType::kUint8, "u8", 1, true},
    {DataType::kUint16, "u16", 2, true},
    {DataType::kUint32, "u32", 4, true},
    {DataType::kUint64, "u64", 8, true},
    {DataType::kBool, "bool", 1, true},
    {DataType::kComplex64, "c64", 8, true},
    {DataType::kComplex128, "c128", 16, true},
    {DataType::kQint8, "q8", 1, true},
    {DataType::kQuint8, "qu8", 1, true},
    {DataType::kQint16, "q16", 2, true},
    {DataType::kQuint16, "qu16", 2, true},
    {DataType::kQint32, "q32", 4, true},
    {DataType::kString, "string", 0, false},
    {DataType::kResource, "resource", 0, false},
    {DataType::kVariant, "variant", 0, false},
}};

const TypeRow& Row(DataType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row;
  }
  return kTypes[0];
}

}  // namespace

int64_t ElementBytes(DataType dtype) { return Row(dtype).element_bytes; }

bool IsCopyable(DataType dtype) { return Row(dtype).copyable; }

std::string_view DataTypeName(DataType dtype) { return Row(dtype).name; }

DataType DataTypeFromName(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.dtype;
  }
  return DataType::kInvalid;
}

std::optional<int64_t> ElementCount(const Shape& shape) {
  if (!shape.rank_known) return std::nullopt;
  int64_t count = 1;
  bool zero = false;
  for (int64_t extent : shape.extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) zero = true;
    if (extent > 0) count = SaturatingMul(count, extent);
  }
  return zero ? 0 : count;
}

std::optional<int64_t> SizeBytes(const TensorType& type) {
  const int64_t element_bytes = ElementBytes(type.dtype);
  if (element_bytes == 0) return std::nullopt;
  const std::optional<int64_t> count = ElementCount(type.shape);
  if (!count) return std::nullopt;
  return SaturatingMul(*count, element_bytes);
}

}  // namespace tflms
