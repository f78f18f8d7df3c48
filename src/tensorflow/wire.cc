// SPDX-License-Identifier: Apache-2.0
//
// The wire reader's ground floor: fields, UTF-8, input strings, and the split of a GraphDef into
// nodes.

#include "src/tensorflow/wire.h"

#include <charconv>

#include "src/base/text.h"

namespace tflms {
namespace {

std::string_view CheckedText(std::string_view text, const char* what) {
  if (!IsUtf8(text)) throw WireFault(std::string(what) + " is not valid UTF-8");
  return text;
}

void ReadMapEntry(std::string_view entry, std::vector<Attr>* attrs) {
  Attr attr;
  FieldReader fields(entry);
  while (fields.Next()) {
    if (fields.tag() == field::kMapKey) attr.key = CheckedText(fields.Bytes(), "attribute name");
    if (fields.tag() == field::kMapValue) attr.value = fields.Bytes();
  }
  attrs->push_back(attr);
}

void ReadNodeFields(RawGraph* graph, RawNode* node) {
  FieldReader fields(node->bytes);
  while (fields.Next()) {
    switch (fields.tag()) {
      case field::kNodeName:
        node->name = CheckedText(fields.Bytes(), "name");
        break;
      case field::kNodeOp:
        node->op = CheckedText(fields.Bytes(), "op");
        break;
      case field::kNodeInput:
        graph->inputs.push_back(CheckedText(fields.Bytes(), "input"));
        break;
      case field::kNodeDevice:
        node->device = CheckedText(fields.Bytes(), "device");
        break;
      case field::kNodeAttr:
        ReadMapEntry(fields.Bytes(), &graph->attrs);
        break;
      default:
        break;
    }
  }
}

void ReadNode(std::string_view bytes, RawGraph* graph) {
  RawNode node;
  node.bytes = bytes;
  node.input_begin = graph->inputs.size();
  node.attr_begin = graph->attrs.size();
  const std::string place = "node " + std::to_string(graph->nodes.size());
  try {
    ReadNodeFields(graph, &node);
  } catch (const std::exception& e) {
    throw WireFault(place + (node.name.empty() ? "" : " " + Quoted(node.name)) +
                    ": damaged NodeDef: " + e.what());
  }
  node.input_end = graph->inputs.size();
  node.attr_end = graph->attrs.size();
  graph->nodes.push_back(node);
}

RawFunction ReadFunction(std::string_view bytes) {
  RawFunction function;
  function.bytes = bytes;
  std::vector<Attr> attrs;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() == field::kFunctionAttr) ReadMapEntry(fields.Bytes(), &attrs);
    if (fields.tag() != field::kFunctionSignature) continue;
    FieldReader signature(fields.Bytes());
    while (signature.Next()) {
      if (signature.tag() == field::kSignatureName) {
        function.name = CheckedText(signature.Bytes(), "function name");
      }
    }
  }
  function.must_compile = BoolAttr(attrs, "_XlaMustCompile").value_or(false);
  return function;
}

void ReadLibrary(std::string_view bytes, RawGraph* graph) {
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() != field::kLibraryFunction) continue;
    try {
      graph->functions.push_back(ReadFunction(fields.Bytes()));
    } catch (const std::exception& e) {
      throw WireFault("function " + std::to_string(graph->functions.size()) +
                      " of the library: damaged FunctionDef: " + e.what());
    }
  }
}

std::string_view ToView(protozero::data_view view) { return {view.data(), view.size()}; }

// Length of the well-formed UTF-8 sequence at the start of `text`, or 0 (Unicode 15, table 3-7).
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char b0 = byte(0);
  if (b0 < 0x80) return 1;
  if (b0 < 0xC2 || b0 > 0xF4 || !tail(1)) return 0;
  if (b0 < 0xE0) return 2;
  if (!tail(2)) return 0;
  const unsigned char b1 = byte(1);
  if (b0 < 0xF0) {
    const bool overlong = b0 == 0xE0 && b1 < 0xA0;
    const bool surrogate = b0 == 0xED && b1 > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  const bool out_of_range = (b0 == 0xF0 && b1 < 0x90) || (b0 == 0xF4 && b1 > 0x8F);
  return tail(3) && !out_of_range ? 4 : 0;
}

}  // namespace

bool FieldReader::Next() {
  const char* begin = reader_.data().data();
  if (!reader_.next()) return false;
  tag_ = reader_.tag();
  wire_type_ = reader_.wire_type();
  bytes_ = {};
  varint_ = 0;
  switch (wire_type_) {
    case protozero::pbf_wire_type::length_delimited:
      bytes_ = ToView(reader_.get_view());
      break;
    case protozero::pbf_wire_type::varint:
      varint_ = reader_.get_uint64();
      break;
    default:
      reader_.skip();
      break;
  }
  raw_ = std::string_view(begin, static_cast<size_t>(reader_.data().data() - begin));
  return true;
}

std::string_view FieldReader::Bytes() const {
  if (!is_bytes()) {
    throw WireFault("field " + std::to_string(tag_) + " has the wrong wire type: expected bytes");
  }
  return bytes_;
}

uint64_t FieldReader::Varint() const {
  if (wire_type_ != protozero::pbf_wire_type::varint) {
    throw WireFault("field " + std::to_string(tag_) + " has the wrong wire type: expected varint");
  }
  return varint_;
}

RawGraph ReadGraph(std::string_view bytes) {
  RawGraph graph;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() == field::kGraphNode) ReadNode(fields.Bytes(), &graph);
    if (fields.tag() == field::kGraphLibrary) ReadLibrary(fields.Bytes(), &graph);
  }
  return graph;
}

InputRef ParseInput(std::string_view text) {
  InputRef ref;
  ref.control = !text.empty() && text[0] == '^';
  ref.node = ref.control ? text.substr(1) : text;
  const size_t colon = ref.node.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view digits = ref.node.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), ref.port);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    if (ref.control || !whole || digits[0] == '-') {
      throw WireFault("input " + Quoted(text) +
                      " is malformed: expected \"name\", \"name:port\" or \"^name\"");
    }
    if (ref.port > kMaxPort) {
      throw WireFault("input " + Quoted(text) + " reads port " + std::to_string(ref.port) +
                      ": expected at most " + std::to_string(kMaxPort));
    }
    ref.node = ref.node.substr(0, colon);
  }
  if (ref.node.empty()) throw WireFault("input " + Quoted(text) + " names no node");
  return ref;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace tflms
