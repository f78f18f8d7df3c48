// SPDX-License-Identifier: Apache-2.0
//
// FunctionDef <-> GraphDef. Linear in the size of the function.

#include "src/cli/function_body.h"

#include <exception>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "src/base/text.h"
#include "src/cli/function_ports.h"
#include "src/graph/graph.h"
#include "src/tensorflow/wire.h"

namespace tflms::cli {
namespace {

// Field numbers of FunctionDef, OpDef and what is in them.
constexpr uint32_t kSignature = 1, kNode = 3, kReturn = 4, kControlReturn = 6, kArgAttr = 7;
constexpr uint32_t kInputArg = 2, kArgName = 1, kArgType = 3, kArgNumberAttr = 5, kArgListAttr = 6;
constexpr uint32_t kArgAttrEntry = 1;

struct Argument {
  std::string_view name;
  uint64_t type = 0;
  std::string attrs;  // fields NodeDef.attr
};

std::vector<Argument> ReadArguments(std::string_view signature) {
  std::vector<Argument> arguments;
  FieldReader fields(signature);
  while (fields.Next()) {
    if (fields.tag() != kInputArg) continue;
    Argument& argument = arguments.emplace_back();
    FieldReader arg(fields.Bytes());
    while (arg.Next()) {
      if (arg.tag() == kArgName) argument.name = arg.Bytes();
      if (arg.tag() == kArgType) argument.type = arg.Varint();
      if (arg.tag() == kArgNumberAttr || arg.tag() == kArgListAttr) {
        throw WireFault("argument " + Quoted(argument.name) + " has a variable length");
      }
    }
  }
  return arguments;
}

// One entry of FunctionDef.arg_attr: the attributes of an argument.
void ReadArgumentAttrs(std::string_view entry, std::vector<Argument>* arguments) {
  uint64_t index = 0;
  std::string_view attrs;
  FieldReader fields(entry);
  while (fields.Next()) {
    if (fields.tag() == field::kMapKey) index = fields.Varint();
    if (fields.tag() == field::kMapValue) attrs = fields.Bytes();
  }
  if (index >= arguments->size()) throw WireFault("attributes of an argument that is not there");
  FieldReader values(attrs);
  protozero::pbf_writer writer((*arguments)[index].attrs);
  while (values.Next()) {
    if (values.tag() == kArgAttrEntry) {
      const std::string_view bytes = values.Bytes();
      writer.add_message(field::kNodeAttr, bytes.data(), bytes.size());
    }
  }
}

std::string ArgumentNode(const Argument& argument) {
  std::string body, value, attr;
  protozero::pbf_writer(value).add_uint64(field::kAttrType, argument.type);
  protozero::pbf_writer entry(attr);
  entry.add_string(field::kMapKey, "T");
  entry.add_message(field::kMapValue, value);
  protozero::pbf_writer node(body);
  node.add_string(field::kNodeName, argument.name.data(), argument.name.size());
  node.add_string(field::kNodeOp, "_Arg");
  node.add_message(field::kNodeAttr, attr);
  return body + argument.attrs;
}

std::string CanonicalName(std::string_view node, int32_t port) {
  return std::string(node) + (port == 0 ? "" : ":" + std::to_string(port));
}

// Copies a NodeDef with every input passed through `translate`.
template <typename Translate>
std::string TranslateInputs(std::string_view node_def, Translate translate) {
  std::string out;
  FieldReader fields(node_def);
  while (fields.Next()) {
    if (fields.tag() == field::kNodeInput) {
      protozero::pbf_writer(out).add_string(field::kNodeInput, translate(fields.Bytes()));
    } else {
      out.append(fields.raw());
    }
  }
  return out;
}

class BodyReader {
 public:
  explicit BodyReader(std::string_view function_def) : function_def_(function_def) {}

  FunctionBody Run() {
    FieldReader fields(function_def_);
    std::string nodes;
    while (fields.Next()) {
      if (fields.tag() == kSignature) arguments_ = ReadArguments(fields.Bytes());
      if (fields.tag() == kNode) {
        const std::string_view bytes = fields.Bytes();
        protozero::pbf_writer(nodes).add_message(field::kGraphNode, bytes.data(), bytes.size());
      }
      if (fields.tag() == kReturn || fields.tag() == kControlReturn) AddReturn(fields.Bytes());
    }
    raw_ = ReadGraph(nodes);
    for (const RawNode& node : raw_.nodes) by_name_.emplace(node.name, &node);
    WriteArguments();
    for (const RawNode& node : raw_.nodes) {
      protozero::pbf_writer(body_.graph_def)
          .add_message(field::kGraphNode, TranslateInputs(node.bytes, [&](std::string_view text) {
                         return GraphInput(text);
                       }));
    }
    return std::move(body_);
  }

 private:
  void WriteArguments() {
    FieldReader fields(function_def_);
    while (fields.Next()) {
      if (fields.tag() == kArgAttr) ReadArgumentAttrs(fields.Bytes(), &arguments_);
    }
    for (const Argument& argument : arguments_) {
      protozero::pbf_writer(body_.graph_def).add_message(field::kGraphNode, ArgumentNode(argument));
    }
  }

  void AddReturn(std::string_view entry) {
    FieldReader fields(entry);
    while (fields.Next()) {
      if (fields.tag() != field::kMapValue) continue;
      const std::string_view text = fields.Bytes();
      body_.preserve.emplace(text.substr(0, text.find(':')));
    }
  }

  // An input of a FunctionDef's node as an input of a GraphDef's.
  std::string GraphInput(std::string_view text) {
    if (text.starts_with('^')) return std::string(text);
    const std::optional<BodyInput> input = ParseBodyInput(text);
    if (!input) throw WireFault("input " + Quoted(text) + " is not of a function's body");
    int32_t port = input->index;
    if (!input->argument.empty()) {
      const auto from = by_name_.find(input->node);
      if (from == by_name_.end()) throw WireFault("reads " + Quoted(text) + ", which is not there");
      const RawNode& node = *from->second;
      const auto first = FirstPort(node.op, input->argument, raw_.AttrsOf(node));
      if (!first) throw WireFault("operation " + Quoted(node.op) + " is not known");
      port += *first;
    }
    std::string name = CanonicalName(input->node, port);
    body_.spelling.emplace(name, std::string(text));
    return name;
  }

  std::string_view function_def_;
  FunctionBody body_;
  RawGraph raw_;
  std::vector<Argument> arguments_;
  std::unordered_map<std::string_view, const RawNode*> by_name_;
};

// NodeDefs of a GraphDef by name, in order.
struct NodeList {
  std::vector<std::string_view> names;
  std::unordered_map<std::string_view, std::string_view> bytes;
};

NodeList ListNodes(std::string_view graph_def) {
  NodeList list;
  for (const RawNode& node : ReadGraph(graph_def).nodes) {
    list.names.push_back(node.name);
    list.bytes.emplace(node.name, node.bytes);
  }
  return list;
}

class BodyWriter {
 public:
  BodyWriter(std::string_view function_def, const FunctionBody& body, std::string_view graph_def)
      : function_def_(function_def),
        body_(body),
        before_(ListNodes(body.graph_def)),
        after_(ListNodes(graph_def)) {}

  std::string Run() {
    size_t nodes = 0, written = 0;
    for (FieldReader fields(function_def_); fields.Next();) nodes += fields.tag() == kNode;
    std::string out;
    FieldReader fields(function_def_);
    while (fields.Next()) {
      if (fields.tag() != kNode) {
        out.append(fields.raw());
        continue;
      }
      WriteOld(fields, &out);
      if (++written == nodes) WriteNew(&out);
    }
    return out;
  }

 private:
  void WriteOld(const FieldReader& field, std::string* out) const {
    std::string_view name;
    FieldReader node(field.Bytes());
    while (node.Next()) {
      if (node.tag() == field::kNodeName) name = node.Bytes();
    }
    const auto before = before_.bytes.find(name);
    const auto after = after_.bytes.find(name);
    if (before == before_.bytes.end() || after == after_.bytes.end()) {
      throw WireFault("node " + Quoted(name) + " got lost");
    }
    if (before->second == after->second) {
      out->append(field.raw());
    } else {
      protozero::pbf_writer(*out).add_message(kNode, Translated(after->second));
    }
  }

  void WriteNew(std::string* out) const {
    for (const std::string_view name : after_.names) {
      if (before_.bytes.contains(name)) continue;
      protozero::pbf_writer(*out).add_message(kNode, Translated(after_.bytes.at(name)));
    }
  }

  std::string Translated(std::string_view node_def) const {
    return TranslateInputs(node_def, [&](std::string_view text) {
      if (text.starts_with('^')) return std::string(text);
      const auto found = body_.spelling.find(std::string(text));
      if (found != body_.spelling.end()) return found->second;
      // What was added: an Identity, whose one output is called "output".
      if (!text.starts_with(kReservedPrefix)) {
        throw WireFault("input " + Quoted(text) + " has no name in the function");
      }
      return std::string(text) + ":output:0";
    });
  }

  std::string_view function_def_;
  const FunctionBody& body_;
  NodeList before_, after_;
};

}  // namespace

Result<FunctionBody> ReadFunctionBody(std::string_view function_def) {
  try {
    return BodyReader(function_def).Run();
  } catch (const std::exception& fault) {
    return Unsupported(fault.what());
  }
}

Result<std::string> WriteFunctionBody(std::string_view function_def, const FunctionBody& body,
                                      std::string_view graph_def) {
  try {
    return BodyWriter(function_def, body, graph_def).Run();
  } catch (const std::exception& fault) {
    return InternalError(std::string("while a function was written: ") + fault.what());
  }
}

}  // namespace tflms::cli
