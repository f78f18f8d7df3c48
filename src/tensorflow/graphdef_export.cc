// SPDX-License-Identifier: Apache-2.0
//
// Graph -> GraphDef: the imported bytes again, with what has changed put in its place.

#include <algorithm>
#include <exception>
#include <protozero/pbf_writer.hpp>
#include <unordered_set>

#include "src/base/text.h"
#include "src/tensorflow/graphdef.h"
#include "src/tensorflow/wire.h"

namespace tflms {
namespace {

std::string InputText(const Graph& graph, const Input& in) {
  return TensorName(graph, in.node, in.port);
}

// What the NodeDef says about a node's inputs, as it came.
struct OldInputs {
  std::vector<std::string_view> data;
  std::vector<std::string_view> control;  // with '^'
  std::vector<std::string_view> added;    // of kAddedControlsAttr
};

class Exporter {
 public:
  Exporter(const Graph& graph, const GraphDefImport& import, std::string* out)
      : graph_(graph), import_(import), out_(out) {}

  Status Run();

 private:
  Status IndexCookies();
  Status WriteImported(NodeId id, std::string_view field, std::string_view node_def);
  Status WriteNewNodes();
  Status WriteNewNode(const Node& node);
  Status WriteClone(const Node& node);
  Status WriteSplitNode(const Node& node);

  OldInputs ReadOldInputs(std::string_view node_def) const;
  bool SameData(const Node& node, const OldInputs& old) const;
  std::vector<std::string> NewInputs(const Node& node, const OldInputs& old) const;
  std::vector<std::string_view> NewAdded(const Node& node) const;
  bool SameAdded(const OldInputs& old, const std::vector<std::string_view>& added) const;

  const Graph& graph_;
  const GraphDefImport& import_;
  std::string* out_;
  std::vector<NodeId> by_cookie_;
  std::vector<NodeId> new_nodes_;
};

Status Exporter::IndexCookies() {
  by_cookie_.assign(import_.node_defs.size(), kNoNode);
  for (NodeId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_.node(id);
    if (node.cookie == -1) {
      new_nodes_.push_back(id);
      continue;
    }
    if (node.cookie < 0 || node.cookie >= static_cast<int64_t>(by_cookie_.size())) {
      return InternalError("node " + Quoted(node.name) + " is not of the imported graph");
    }
    NodeId& slot = by_cookie_[static_cast<size_t>(node.cookie)];
    if (slot != kNoNode) {
      return InternalError("nodes " + Quoted(graph_.node(slot).name) + " and " + Quoted(node.name) +
                           " stand for the same imported node");
    }
    slot = id;
  }
  return {};
}

OldInputs Exporter::ReadOldInputs(std::string_view node_def) const {
  OldInputs old;
  FieldReader fields(node_def);
  while (fields.Next()) {
    if (fields.tag() == field::kNodeInput) {
      const std::string_view text = fields.Bytes();
      (text.starts_with('^') ? old.control : old.data).push_back(text);
    }
    if (fields.tag() != field::kNodeAttr) continue;
    Attr attr;
    FieldReader entry(fields.Bytes());
    while (entry.Next()) {
      if (entry.tag() == field::kMapKey) attr.key = entry.Bytes();
      if (entry.tag() == field::kMapValue) attr.value = entry.Bytes();
    }
    if (attr.key != kAddedControlsAttr) continue;
    old.added = StringListAttr(AttrList(&attr, 1), attr.key).value_or(old.added);
  }
  return old;
}

bool Exporter::SameData(const Node& node, const OldInputs& old) const {
  if (old.data.size() != node.inputs.size()) return false;
  for (size_t i = 0; i < old.data.size(); ++i) {
    const InputRef ref = ParseInput(old.data[i]);
    const Input& in = node.inputs[i];
    if (ref.port != in.port || ref.node != graph_.node(in.node).name) return false;
  }
  return true;
}

// The input strings to write. Inputs that are as they came keep their spelling and their order;
// control inputs that are new stand behind them.
std::vector<std::string> Exporter::NewInputs(const Node& node, const OldInputs& old) const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Input& in = node.inputs[i];
    texts.push_back(InputText(graph_, in));
    if (i >= old.data.size()) continue;
    const InputRef ref = ParseInput(old.data[i]);
    if (ref.port == in.port && ref.node == graph_.node(in.node).name) texts.back() = old.data[i];
  }
  std::unordered_set<std::string_view> wanted;
  for (const NodeId from : node.control_inputs) wanted.insert(graph_.node(from).name);
  std::unordered_set<std::string_view> written;
  for (const std::string_view text : old.control) {
    const std::string_view name = text.substr(1);
    if (!wanted.contains(name)) continue;
    texts.emplace_back(text);
    written.insert(name);
  }
  for (const NodeId from : node.control_inputs) {
    const std::string& name = graph_.node(from).name;
    if (written.insert(name).second) texts.push_back("^" + name);
  }
  return texts;
}

// The sources of the order edges that rules have added. Nodes of tflms need no such list.
std::vector<std::string_view> Exporter::NewAdded(const Node& node) const {
  std::vector<std::string_view> names;
  if (node.role != NodeRole::kOriginal) return names;
  const size_t count =
      std::min(static_cast<size_t>(std::max(node.added_controls, 0)), node.control_inputs.size());
  for (size_t i = node.control_inputs.size() - count; i < node.control_inputs.size(); ++i) {
    names.push_back(graph_.node(node.control_inputs[i]).name);
  }
  return names;
}

// True when the old attribute says the same: names in it that are no control inputs do not count.
bool Exporter::SameAdded(const OldInputs& old, const std::vector<std::string_view>& added) const {
  if (old.added.empty()) return added.empty();
  std::unordered_set<std::string_view> controls;
  for (const std::string_view text : old.control) controls.insert(text.substr(1));
  std::unordered_set<std::string_view> before;
  for (const std::string_view name : old.added) {
    if (controls.contains(name)) before.insert(name);
  }
  return before == std::unordered_set<std::string_view>(added.begin(), added.end());
}

void AddBytes(uint32_t tag, std::string_view bytes, protozero::pbf_writer* writer) {
  writer->add_bytes(tag, bytes.data(), bytes.size());
}

void AddAttr(std::string_view key, const std::string& value, std::string* body) {
  protozero::pbf_writer node_def(*body);
  protozero::pbf_writer entry(node_def, field::kNodeAttr);
  AddBytes(field::kMapKey, key, &entry);
  entry.add_message(field::kMapValue, value);
}

void AddBoolAttr(std::string_view key, bool flag, std::string* body) {
  std::string value;
  protozero::pbf_writer(value).add_bool(field::kAttrBool, flag);
  AddAttr(key, value, body);
}

void AddIntAttr(std::string_view key, int64_t number, std::string* body) {
  std::string value;
  protozero::pbf_writer(value).add_int64(field::kAttrInt, number);
  AddAttr(key, value, body);
}

void AddTypeAttr(std::string_view key, int32_t type, std::string* body) {
  std::string value;
  protozero::pbf_writer(value).add_enum(field::kAttrType, type);
  AddAttr(key, value, body);
}

// A tensor of one 32-bit number, 0.
void AddZeroAttr(std::string_view key, std::string* body) {
  std::string value;
  protozero::pbf_writer attr(value);
  protozero::pbf_writer tensor(attr, field::kAttrTensor);
  tensor.add_enum(field::kTensorDtype, TypeToWire(DataType::kInt32));
  tensor.add_message(field::kTensorShape, std::string());
  tensor.add_int32(field::kTensorInt, 0);
  tensor.commit();
  AddAttr(key, value, body);
}

void AddStringAttr(std::string_view key, std::string_view text, std::string* body) {
  std::string value;
  protozero::pbf_writer attr(value);
  AddBytes(field::kAttrString, text, &attr);
  AddAttr(key, value, body);
}

std::string StringListValue(const std::vector<std::string_view>& strings) {
  std::string value;
  protozero::pbf_writer attr(value);
  protozero::pbf_writer list(attr, field::kAttrList);
  for (const std::string_view text : strings) AddBytes(field::kListString, text, &list);
  list.commit();
  return value;
}

// The name of the attribute that the field holds; "" for other fields.
std::string_view AttrKey(const FieldReader& fields) {
  std::string_view key;
  if (fields.tag() != field::kNodeAttr) return key;
  FieldReader entry(fields.Bytes());
  while (entry.Next()) {
    if (entry.tag() == field::kMapKey) key = entry.Bytes();
  }
  return key;
}

// The NodeDef with other inputs and, unless `added` is null, another list of added controls. All
// other fields stay as they are, in their order. Inputs go where the first one was, or behind name
// and op; the list goes behind the attributes.
std::string ReplaceInputs(std::string_view node_def, const std::vector<std::string>& inputs,
                          const std::vector<std::string_view>* added) {
  std::string body;
  bool inputs_due = true;
  bool list_due = added != nullptr && !added->empty();
  const auto write_inputs = [&] {
    protozero::pbf_writer writer(body);
    for (const std::string& text : inputs) writer.add_string(field::kNodeInput, text);
    inputs_due = false;
  };
  const auto write_list = [&] {
    AddAttr(kAddedControlsAttr, StringListValue(*added), &body);
    list_due = false;
  };
  FieldReader fields(node_def);
  while (fields.Next()) {
    if (inputs_due && fields.tag() >= field::kNodeInput) write_inputs();
    if (list_due && fields.tag() > field::kNodeAttr) write_list();
    if (fields.tag() == field::kNodeInput) continue;
    if (added != nullptr && AttrKey(fields) == kAddedControlsAttr) continue;
    body.append(fields.raw());
  }
  if (inputs_due) write_inputs();
  if (list_due) write_list();
  return body;
}

// Writes one node of the import: its field as it came, or a new NodeDef.
Status Exporter::WriteImported(NodeId id, std::string_view field, std::string_view node_def) {
  const Node& node = graph_.node(id);
  const OldInputs old = ReadOldInputs(node_def);
  const std::vector<std::string_view> added = NewAdded(node);
  const bool same_list = SameAdded(old, added);
  const bool no_controls = old.control.empty() && node.control_inputs.empty();
  if (same_list && no_controls && SameData(node, old)) {
    out_->append(field);
    return {};
  }
  const std::vector<std::string> inputs = NewInputs(node, old);
  std::vector<std::string_view> before = old.data;
  before.insert(before.end(), old.control.begin(), old.control.end());
  if (same_list && std::equal(inputs.begin(), inputs.end(), before.begin(), before.end())) {
    out_->append(field);
    return {};
  }
  protozero::pbf_writer(*out_).add_message(
      field::kGraphNode, ReplaceInputs(node_def, inputs, same_list ? nullptr : &added));
  return {};
}

// A clone is its source's NodeDef as it came, name and inputs aside, with its role behind it.
Status Exporter::WriteClone(const Node& node) {
  const bool has_source =
      node.clone_of >= 0 && node.clone_of < graph_.size() && node.name.starts_with(kReservedPrefix);
  const int64_t cookie = has_source ? graph_.node(node.clone_of).cookie : -1;
  if (cookie < 0 || cookie >= static_cast<int64_t>(import_.node_defs.size())) {
    return InternalError("clone " + Quoted(node.name) + " is of no imported node");
  }
  std::string body;
  protozero::pbf_writer writer(body);
  writer.add_string(field::kNodeName, node.name);
  bool inputs_due = true;
  const auto write_inputs = [&] {
    for (const std::string& text : NewInputs(node, {})) writer.add_string(field::kNodeInput, text);
    inputs_due = false;
  };
  FieldReader fields(import_.node_defs[static_cast<size_t>(cookie)]);
  while (fields.Next()) {
    if (inputs_due && fields.tag() > field::kNodeInput) write_inputs();
    if (fields.tag() == field::kNodeName || fields.tag() == field::kNodeInput) continue;
    const std::string_view key = AttrKey(fields);
    if (key == kAddedControlsAttr || key == kDoNotRemoveAttr || key == kPiecesAttr) continue;
    body.append(fields.raw());
  }
  if (inputs_due) write_inputs();
  AddBoolAttr(kDoNotRemoveAttr, true, &body);
  AddStringAttr(kRoleAttr, "recompute", &body);
  AddStringAttr(kCloneOfAttr, graph_.node(node.clone_of).name, &body);
  if (node.pieces > 1) AddIntAttr(kPiecesAttr, node.pieces, &body);
  protozero::pbf_writer(*out_).add_message(field::kGraphNode, body);
  return {};
}

// The nodes of a split operation that are neither swap nodes nor pieces.
Status Exporter::WriteSplitNode(const Node& node) {
  const int32_t dtype = node.outputs.empty() ? 0 : TypeToWire(node.outputs.front().type.dtype);
  if (!node.name.starts_with(kReservedPrefix) || node.device == kNoDevice ||
      (dtype == 0 && node.op != "NoOp")) {
    return InternalError("new node " + Quoted(node.name) + " has no device or element type");
  }
  std::string body;
  protozero::pbf_writer writer(body);
  writer.add_string(field::kNodeName, node.name);
  writer.add_string(field::kNodeOp, node.op);
  for (const std::string& text : NewInputs(node, {})) writer.add_string(field::kNodeInput, text);
  writer.add_string(field::kNodeDevice, graph_.devices[static_cast<size_t>(node.device)].name);
  if (node.op == "Const") {
    AddTypeAttr("dtype", dtype, &body);
    AddZeroAttr("value", &body);
  } else if (node.op != "NoOp") {
    AddTypeAttr("T", dtype, &body);
  }
  if (node.op == "Split") {
    AddIntAttr("num_split", static_cast<int64_t>(node.outputs.size()), &body);
  } else if (node.op == "ConcatV2") {
    AddIntAttr("N", static_cast<int64_t>(node.inputs.size()) - 1, &body);
    AddTypeAttr("Tidx", TypeToWire(DataType::kInt32), &body);
  }
  AddBoolAttr(kDoNotRemoveAttr, true, &body);
  AddStringAttr(kRoleAttr, "split", &body);
  protozero::pbf_writer(*out_).add_message(field::kGraphNode, body);
  return {};
}

Status Exporter::WriteNewNode(const Node& node) {
  if (node.role == NodeRole::kRecompute) return WriteClone(node);
  if (node.role == NodeRole::kSplit) return WriteSplitNode(node);
  const bool has_role = node.role != NodeRole::kOriginal && node.name.starts_with(kReservedPrefix);
  if (!has_role || node.inputs.size() != 1 || node.outputs.size() != 1 ||
      node.device == kNoDevice) {
    return InternalError("new node " + Quoted(node.name) +
                         " is not a swap node with one input, one output and a device");
  }
  const int32_t dtype = TypeToWire(node.outputs[0].type.dtype);
  if (dtype == 0) return InternalError("new node " + Quoted(node.name) + " has no element type");
  std::string body;
  protozero::pbf_writer writer(body);
  writer.add_string(field::kNodeName, node.name);
  writer.add_string(field::kNodeOp, "Identity");
  for (const std::string& text : NewInputs(node, {})) writer.add_string(field::kNodeInput, text);
  writer.add_string(field::kNodeDevice, graph_.devices[static_cast<size_t>(node.device)].name);
  AddTypeAttr("T", dtype, &body);
  AddBoolAttr(kDoNotRemoveAttr, true, &body);
  AddStringAttr(kRoleAttr, node.role == NodeRole::kSwapOut ? "swap-out" : "swap-in", &body);
  protozero::pbf_writer(*out_).add_message(field::kGraphNode, body);
  return {};
}

Status Exporter::WriteNewNodes() {
  for (const NodeId id : new_nodes_) TFLMS_RETURN_IF_ERROR(WriteNewNode(graph_.node(id)));
  new_nodes_.clear();
  return {};
}

Status Exporter::Run() {
  TFLMS_RETURN_IF_ERROR(IndexCookies());
  out_->clear();
  out_->reserve(import_.bytes.size() + new_nodes_.size() * 256);
  size_t cookie = 0;
  FieldReader fields(import_.bytes);
  while (fields.Next()) {
    if (fields.tag() != field::kGraphNode) {
      out_->append(fields.raw());
      continue;
    }
    const NodeId id = by_cookie_[cookie++];
    if (id != kNoNode) TFLMS_RETURN_IF_ERROR(WriteImported(id, fields.raw(), fields.Bytes()));
    if (cookie == by_cookie_.size()) TFLMS_RETURN_IF_ERROR(WriteNewNodes());
  }
  return WriteNewNodes();
}

}  // namespace

Status ExportGraphDef(const Graph& graph, const GraphDefImport& import, std::string* out) {
  try {
    return Exporter(graph, import, out).Run();
  } catch (const std::bad_alloc&) {
    return InternalError("out of host memory while a GraphDef was written");
  } catch (const std::exception& e) {
    return InternalError(std::string("while a GraphDef was written: ") + e.what());
  }
}

}  // namespace tflms
