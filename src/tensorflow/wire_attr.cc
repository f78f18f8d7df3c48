// SPDX-License-Identifier: Apache-2.0
//
// Attribute values, shapes and element types of the wire format.

#include <array>
#include <cstring>
#include <utility>

#include "src/base/checked_math.h"
#include "src/tensorflow/wire.h"

namespace tflms {
namespace {

constexpr size_t kMaxRank = 254;  // TensorFlow's own limit
constexpr uint64_t kFirstRefNumber = 101;
constexpr uint64_t kRefOffset = 100;

constexpr std::array<std::pair<DataType, int32_t>, 27> kNumbers = {{
    {DataType::kFloat32, 1},     {DataType::kFloat64, 2},   {DataType::kInt32, 3},
    {DataType::kUint8, 4},       {DataType::kInt16, 5},     {DataType::kInt8, 6},
    {DataType::kString, 7},      {DataType::kComplex64, 8}, {DataType::kInt64, 9},
    {DataType::kBool, 10},       {DataType::kQint8, 11},    {DataType::kQuint8, 12},
    {DataType::kQint32, 13},     {DataType::kBFloat16, 14}, {DataType::kQint16, 15},
    {DataType::kQuint16, 16},    {DataType::kUint16, 17},   {DataType::kComplex128, 18},
    {DataType::kFloat16, 19},    {DataType::kResource, 20}, {DataType::kVariant, 21},
    {DataType::kUint32, 22},     {DataType::kUint64, 23},   {DataType::kFloat8E5M2, 24},
    {DataType::kFloat8E4M3, 25}, {DataType::kInt4, 29},     {DataType::kUint4, 30},
}};

// The last field `tag` of the AttrValue `name`, as a reader standing on it.
std::optional<FieldReader> FindField(AttrList attrs, std::string_view name, uint32_t tag) {
  const std::optional<std::string_view> value = FindAttr(attrs, name);
  if (!value) return std::nullopt;
  std::optional<FieldReader> found;
  FieldReader fields(*value);
  while (fields.Next()) {
    if (fields.tag() == tag) found = fields;
  }
  return found;
}

std::optional<std::string_view> FindBytes(AttrList attrs, std::string_view name, uint32_t tag) {
  const std::optional<FieldReader> found = FindField(attrs, name, tag);
  if (!found) return std::nullopt;
  return found->Bytes();
}

std::optional<uint64_t> FindVarint(AttrList attrs, std::string_view name, uint32_t tag) {
  const std::optional<FieldReader> found = FindField(attrs, name, tag);
  if (!found) return std::nullopt;
  return found->Varint();
}

// The varints of one field of a repeated number, packed or not.
template <typename Visit>
void ForEachVarint(const FieldReader& fields, Visit visit) {
  if (!fields.is_bytes()) {
    visit(fields.Varint());
    return;
  }
  const std::string_view packed = fields.Bytes();
  const char* at = packed.data();
  const char* end = at + packed.size();
  while (at != end) visit(protozero::decode_varint(&at, end));
}

int64_t ReadDim(std::string_view bytes, Symbols symbols) {
  int64_t size = 0;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() == field::kDimSize) size = static_cast<int64_t>(fields.Varint());
  }
  if (size >= kUnknownExtent) return size;
  if (symbols == Symbols::kKept) return size;
  throw WireFault("shape with extent " + std::to_string(size) + ": expected -1 (unknown) or more");
}

void CheckElementCount(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape.extents) {
    if (extent == 0) return;
  }
  for (const int64_t extent : shape.extents) {
    if (extent > 0) count = SaturatingMul(count, extent);
  }
  // Bytes must fit 63 bits too; no element is larger than 16 bytes.
  if (count > kMaxBytes / 16) throw WireFault("shape with more elements than memory can hold");
}

TensorType ReadTensorHead(std::string_view bytes) {
  TensorType type;
  type.shape = Shape::Known({});
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() == field::kTensorDtype) type.dtype = TypeFromWire(fields.Varint()).dtype;
    if (fields.tag() == field::kTensorShape) {
      type.shape = ReadShape(fields.Bytes(), Symbols::kMalformed);
    }
  }
  return type;
}

}  // namespace

std::optional<std::string_view> FindAttr(AttrList attrs, std::string_view name) {
  for (size_t i = attrs.size(); i-- > 0;) {
    if (attrs[i].key == name) return attrs[i].value;
  }
  return std::nullopt;
}

std::optional<int64_t> IntAttr(AttrList attrs, std::string_view name) {
  const std::optional<uint64_t> value = FindVarint(attrs, name, field::kAttrInt);
  if (!value) return std::nullopt;
  return static_cast<int64_t>(*value);
}

std::optional<bool> BoolAttr(AttrList attrs, std::string_view name) {
  const std::optional<uint64_t> value = FindVarint(attrs, name, field::kAttrBool);
  if (!value) return std::nullopt;
  return *value != 0;
}

std::optional<std::string_view> StringAttr(AttrList attrs, std::string_view name) {
  return FindBytes(attrs, name, field::kAttrString);
}

std::optional<TensorType> TypeAttr(AttrList attrs, std::string_view name) {
  const std::optional<uint64_t> value = FindVarint(attrs, name, field::kAttrType);
  if (!value) return std::nullopt;
  return TypeFromWire(*value);
}

std::optional<Shape> ShapeAttr(AttrList attrs, std::string_view name) {
  const std::optional<std::string_view> value = FindBytes(attrs, name, field::kAttrShape);
  if (!value) return std::nullopt;
  return ReadShape(*value, Symbols::kMalformed);
}

std::optional<std::string_view> FunctionAttr(AttrList attrs, std::string_view name) {
  const std::optional<std::string_view> value = FindBytes(attrs, name, field::kAttrFunc);
  if (!value) return std::nullopt;
  std::string_view function;
  FieldReader fields(*value);
  while (fields.Next()) {
    if (fields.tag() == field::kSignatureName) function = fields.Bytes();
  }
  return function;
}

std::optional<std::vector<TensorType>> TypeListAttr(AttrList attrs, std::string_view name) {
  const std::optional<std::string_view> list = FindBytes(attrs, name, field::kAttrList);
  if (!list) return std::nullopt;
  std::vector<TensorType> types;
  FieldReader fields(*list);
  while (fields.Next()) {
    if (fields.tag() != field::kListType) continue;
    ForEachVarint(fields, [&](uint64_t number) { types.push_back(TypeFromWire(number)); });
  }
  return types;
}

std::optional<std::vector<Shape>> ShapeListAttr(AttrList attrs, std::string_view name) {
  const std::optional<std::string_view> list = FindBytes(attrs, name, field::kAttrList);
  if (!list) return std::nullopt;
  std::vector<Shape> shapes;
  FieldReader fields(*list);
  while (fields.Next()) {
    if (fields.tag() != field::kListShape) continue;
    shapes.push_back(ReadShape(fields.Bytes(), Symbols::kMalformed));
  }
  return shapes;
}

std::optional<std::vector<std::string_view>> StringListAttr(AttrList attrs, std::string_view name) {
  const std::optional<std::string_view> list = FindBytes(attrs, name, field::kAttrList);
  if (!list) return std::nullopt;
  std::vector<std::string_view> strings;
  FieldReader fields(*list);
  while (fields.Next()) {
    if (fields.tag() == field::kListString) strings.push_back(fields.Bytes());
  }
  return strings;
}

std::optional<TensorType> TensorAttr(AttrList attrs, std::string_view name) {
  const std::optional<std::string_view> tensor = FindBytes(attrs, name, field::kAttrTensor);
  if (!tensor) return std::nullopt;
  return ReadTensorHead(*tensor);
}

std::optional<int32_t> Int32ScalarAttr(AttrList attrs, std::string_view name) {
  const std::optional<std::string_view> tensor = FindBytes(attrs, name, field::kAttrTensor);
  if (!tensor) return std::nullopt;
  const TensorType type = ReadTensorHead(*tensor);
  if (type.dtype != DataType::kInt32 || !type.shape.extents.empty()) return std::nullopt;
  int32_t value = 0;  // an empty TensorProto is a zero
  FieldReader fields(*tensor);
  while (fields.Next()) {
    if (fields.tag() == field::kTensorInt) {
      ForEachVarint(fields, [&](uint64_t v) { value = static_cast<int32_t>(v); });
    }
    if (fields.tag() == field::kTensorContent && fields.Bytes().size() == sizeof(value)) {
      std::memcpy(&value, fields.Bytes().data(), sizeof(value));
    }
  }
  return value;
}

TensorType TypeFromWire(uint64_t number) {
  TensorType type;
  type.is_ref = number >= kFirstRefNumber;
  if (type.is_ref) number -= kRefOffset;
  for (const auto& [dtype, wire] : kNumbers) {
    if (static_cast<uint64_t>(wire) == number) type.dtype = dtype;
  }
  return type;
}

int32_t TypeToWire(DataType dtype) {
  for (const auto& [known, wire] : kNumbers) {
    if (known == dtype) return wire;
  }
  return 0;
}

Shape ReadShape(std::string_view bytes, Symbols symbols) {
  Shape shape = Shape::Known({});
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() == field::kShapeUnknownRank && fields.Varint() != 0) shape.rank_known = false;
    if (fields.tag() != field::kShapeDim) continue;
    if (shape.extents.size() == kMaxRank) {
      throw WireFault("shape of more than " + std::to_string(kMaxRank) + " dimensions");
    }
    shape.extents.push_back(ReadDim(fields.Bytes(), symbols));
  }
  if (!shape.rank_known) return Shape::Unknown();
  CheckElementCount(shape);
  return shape;
}

}  // namespace tflms
