// SPDX-License-Identifier: Apache-2.0
//
// The few messages of TensorFlow's wire format that tflms reads, as views into the caller's buffer:
// GraphDef, NodeDef, AttrValue, TensorShapeProto, and the head of TensorProto and FunctionDef.
//
// Used only inside src/tensorflow. Functions that read throw WireFault or a protozero exception on
// malformed bytes; graphdef*.cc catches both at the edge of the layer. Cost: one pass over the
// bytes that are looked at; lengths are checked before anything is allocated for them.

#ifndef TFLMS_TENSORFLOW_WIRE_H_
#define TFLMS_TENSORFLOW_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/types.h"

namespace tflms {

// Malformed content; what() is half a sentence without the node's name.
class WireFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Field numbers of the messages.
namespace field {
inline constexpr uint32_t kGraphNode = 1, kGraphLibrary = 2;
inline constexpr uint32_t kNodeName = 1, kNodeOp = 2, kNodeInput = 3, kNodeDevice = 4,
                          kNodeAttr = 5;
inline constexpr uint32_t kMapKey = 1, kMapValue = 2;
inline constexpr uint32_t kAttrList = 1, kAttrString = 2, kAttrInt = 3, kAttrBool = 5,
                          kAttrType = 6, kAttrShape = 7, kAttrTensor = 8, kAttrFunc = 10;
inline constexpr uint32_t kListString = 2, kListType = 6, kListShape = 7;
inline constexpr uint32_t kShapeDim = 2, kShapeUnknownRank = 3, kDimSize = 1;
inline constexpr uint32_t kTensorDtype = 1, kTensorShape = 2, kTensorContent = 4, kTensorInt = 7;
inline constexpr uint32_t kLibraryFunction = 1, kFunctionSignature = 1, kFunctionAttr = 5,
                          kSignatureName = 1;
}  // namespace field

// A cursor over a message's fields that also knows where each field begins.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : reader_(message.data(), message.size()) {}
  // Moves to the next field and past its end; false at the end of the message.
  bool Next();
  uint32_t tag() const { return tag_; }
  // The field's bytes, tag and length included.
  std::string_view raw() const { return raw_; }
  // The value, which must be of that wire type: else WireFault.
  std::string_view Bytes() const;
  uint64_t Varint() const;
  bool is_bytes() const { return wire_type_ == protozero::pbf_wire_type::length_delimited; }

 private:
  protozero::pbf_reader reader_;
  uint32_t tag_ = 0;
  protozero::pbf_wire_type wire_type_ = protozero::pbf_wire_type::unknown;
  std::string_view raw_;
  std::string_view bytes_;
  uint64_t varint_ = 0;
};

// One attribute: its name and the bytes of its AttrValue.
struct Attr {
  std::string_view key;
  std::string_view value;
};

// A node's attributes. Where a name comes twice the last one counts, as in a proto3 map.
using AttrList = std::span<const Attr>;

// The AttrValue of that name, or nothing.
std::optional<std::string_view> FindAttr(AttrList attrs, std::string_view name);

// The attribute's value, or nothing when it is not there or of another kind.
std::optional<int64_t> IntAttr(AttrList attrs, std::string_view name);
std::optional<bool> BoolAttr(AttrList attrs, std::string_view name);
std::optional<std::string_view> StringAttr(AttrList attrs, std::string_view name);
std::optional<TensorType> TypeAttr(AttrList attrs, std::string_view name);  // its shape is unknown
std::optional<Shape> ShapeAttr(AttrList attrs, std::string_view name);
std::optional<std::string_view> FunctionAttr(AttrList attrs, std::string_view name);  // the name
std::optional<std::vector<TensorType>> TypeListAttr(AttrList attrs, std::string_view name);
std::optional<std::vector<Shape>> ShapeListAttr(AttrList attrs, std::string_view name);
std::optional<std::vector<std::string_view>> StringListAttr(AttrList attrs, std::string_view name);
// dtype and shape of a TensorProto attribute.
std::optional<TensorType> TensorAttr(AttrList attrs, std::string_view name);
// The value of an int32 scalar in a TensorProto attribute.
std::optional<int32_t> Int32ScalarAttr(AttrList attrs, std::string_view name);

// Element type from its number in types.proto; numbers 101 and up are references. Numbers that
// tflms does not know give kInvalid.
TensorType TypeFromWire(uint64_t number);
// And back; 0 for kInvalid.
int32_t TypeToWire(DataType dtype);

// How a shape treats extents below -1: malformed in a GraphDef, symbols (see symbols.h) where shape
// inference hands them out.
enum class Symbols { kMalformed, kKept };
Shape ReadShape(std::string_view bytes, Symbols symbols);

// A NodeDef as it stands in the buffer. Inputs and attributes are rows of the RawGraph.
struct RawNode {
  std::string_view bytes;
  std::string_view name, op, device;
  size_t input_begin = 0, input_end = 0;
  size_t attr_begin = 0, attr_end = 0;
};

struct RawFunction {
  std::string_view bytes;
  std::string_view name;
  bool must_compile = false;
};

struct RawGraph {
  std::vector<RawNode> nodes;
  std::vector<std::string_view> inputs;
  std::vector<Attr> attrs;
  std::vector<RawFunction> functions;

  std::span<const std::string_view> InputsOf(const RawNode& node) const {
    return std::span(inputs).subspan(node.input_begin, node.input_end - node.input_begin);
  }
  AttrList AttrsOf(const RawNode& node) const {
    return std::span(attrs).subspan(node.attr_begin, node.attr_end - node.attr_begin);
  }
};

// Splits a GraphDef into its nodes. Faults are WireFault with the node's name or place.
RawGraph ReadGraph(std::string_view bytes);

// An input string taken apart: "name", "name:port" or "^name". Throws on "", "^" and absurd ports.
struct InputRef {
  std::string_view node;
  int32_t port = 0;
  bool control = false;
};
InputRef ParseInput(std::string_view text);

// Ports beyond this are taken as damage, not as a graph.
inline constexpr int32_t kMaxPort = 65535;

// Ok when `text` is well-formed UTF-8.
bool IsUtf8(std::string_view text);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_WIRE_H_
