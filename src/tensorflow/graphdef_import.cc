// SPDX-License-Identifier: Apache-2.0
//
// GraphDef -> Graph. Four passes over the nodes: names, output types, edges, meaning (op_table.h).

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "src/base/text.h"
#include "src/graph/topology.h"
#include "src/tensorflow/graphdef.h"
#include "src/tensorflow/graphdef_device.h"
#include "src/tensorflow/idle_nodes.h"
#include "src/tensorflow/op_table.h"
#include "src/tensorflow/symbols.h"
#include "src/tensorflow/wire.h"

namespace tflms {
namespace {

// Outputs that exist only because a short text claims them ("x:65000", num_split = 65000) are paid
// for with input bytes, so that a small file cannot ask for gigabytes.
constexpr size_t kFreeOutputs = 65536;

class Importer {
 public:
  Importer(std::string_view bytes, const ImportContext& context)
      : context_(context),
        raw_(ReadGraph(bytes)),
        devices_(context, &result_.graph),
        claimable_outputs_(kFreeOutputs + bytes.size()) {
    result_.bytes = bytes;
  }

  Result<GraphDefImport> Run() {
    const size_t n = raw_.nodes.size();
    if (n > static_cast<size_t>(std::numeric_limits<NodeId>::max())) {
      return InvalidArgument("graph of more than 2^31 - 1 nodes");
    }
    result_.graph.nodes.resize(n);
    result_.node_defs.reserve(n);
    by_name_.reserve(n);
    output_count_known_.assign(n, false);
    seen_by_.assign(n, kNoNode);
    TFLMS_RETURN_IF_ERROR(ForEachNode(&Importer::ImportName));
    TFLMS_RETURN_IF_ERROR(ForEachNode(&Importer::ImportSource));
    TFLMS_RETURN_IF_ERROR(ForEachNode(&Importer::ImportOutputs));
    TFLMS_RETURN_IF_ERROR(ForEachNode(&Importer::ImportInputs));
    ResolveSymbols(context_.batch_size, &result_.graph);
    ApplyOpTable(raw_, &result_.graph);
    CopyFactsOfSources();
    KeepIdleNodesOut(context_.fetched, &result_.graph);
    const Result<std::vector<NodeId>> order = TopologicalOrder(result_.graph);
    if (!order.ok()) return InvalidArgument(order.status().message());
    for (const RawFunction& function : raw_.functions) {
      result_.functions.push_back({function.name, function.bytes, function.must_compile});
    }
    return std::move(result_);
  }

 private:
  const RawNode& raw(NodeId id) const { return raw_.nodes[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return result_.graph.node(id); }

  // Runs one pass; a fault is given the node it is about.
  Status ForEachNode(Status (Importer::*pass)(NodeId)) {
    for (NodeId id = 0; id < result_.graph.size(); ++id) {
      Status status;
      try {
        status = (this->*pass)(id);
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception& e) {
        status = InvalidArgument(e.what());
      }
      if (!status.ok()) {
        return Status(status.code(), "node " + Quoted(raw(id).name) + " (number " +
                                         std::to_string(id) + ", op " + Quoted(raw(id).op) +
                                         "): " + status.message());
      }
    }
    return {};
  }

  Status ImportName(NodeId id);
  Status ImportRole(NodeId id);
  Status ImportSource(NodeId id);
  void CopyFactsOfSources();
  Status ImportOutputs(NodeId id);
  void ImportShapes(AttrList attrs, std::vector<OutputInfo>* outputs);
  Status ClaimOutputs(size_t count);
  Status ImportInputs(NodeId id);
  Status AddDataInput(NodeId id, const InputRef& ref);
  void OrderControls(NodeId id, AttrList attrs);

  const ImportContext& context_;
  RawGraph raw_;
  GraphDefImport result_;
  DeviceTable devices_;
  std::unordered_map<std::string_view, NodeId> by_name_;
  std::vector<bool> output_count_known_;
  std::vector<NodeId> seen_by_;  // the last node that had this one as control input
  size_t claimable_outputs_;
};

Status Importer::ImportName(NodeId id) {
  const RawNode& from = raw(id);
  if (from.name.empty()) return InvalidArgument("has no name");
  if (from.name.front() == '^') {
    return InvalidArgument("name begins with '^', which marks control inputs");
  }
  if (from.name.find(':') != std::string_view::npos) {
    return InvalidArgument("name contains ':', which marks output ports");
  }
  if (from.op.empty()) return InvalidArgument("has no op");
  if (!by_name_.emplace(from.name, id).second) {
    return InvalidArgument("name is used twice: node names must be unique");
  }
  Node& to = node(id);
  to.name = std::string(from.name);
  to.op = std::string(from.op);
  TFLMS_ASSIGN_OR_RETURN(to.device, devices_.Find(from.device));
  to.cookie = id;
  if (context_.preserve.contains(to.name)) to.flags |= kPreserved;
  result_.node_defs.push_back(from.bytes);
  return ImportRole(id);
}

Status Importer::ImportRole(NodeId id) {
  Node& to = node(id);
  if (!to.name.starts_with(kReservedPrefix)) return {};
  const std::string_view role =
      StringAttr(raw_.AttrsOf(raw(id)), kRoleAttr).value_or(std::string_view());
  if (to.op == "Identity" && role == "swap-out") {
    to.role = NodeRole::kSwapOut;
  } else if (to.op == "Identity" && role == "swap-in") {
    to.role = NodeRole::kSwapIn;
  } else if (role == "recompute") {
    to.role = NodeRole::kRecompute;
  } else if (role == "split") {
    to.role = NodeRole::kSplit;
  } else {
    return InvalidArgument("name begins with the reserved prefix " + Quoted(kReservedPrefix) +
                           " but the node was not made by tflms: rename it");
  }
  return {};
}

// The node that a clone runs again.
Status Importer::ImportSource(NodeId id) {
  Node& to = node(id);
  if (to.role != NodeRole::kRecompute) return {};
  const std::optional<std::string_view> name = StringAttr(raw_.AttrsOf(raw(id)), kCloneOfAttr);
  if (!name) return InvalidArgument("runs an operation again but does not say which");
  const auto found = by_name_.find(*name);
  if (found == by_name_.end()) {
    return InvalidArgument("runs " + Quoted(*name) + " again, which is not in the graph");
  }
  const Node& source = node(found->second);
  if (source.role != NodeRole::kOriginal || source.op != to.op || source.device != to.device) {
    return InvalidArgument("runs " + Quoted(*name) + " again, which is another operation");
  }
  to.clone_of = found->second;
  const std::optional<int64_t> pieces = IntAttr(raw_.AttrsOf(raw(id)), kPiecesAttr);
  if (pieces) {
    if (*pieces < 2) return InvalidArgument("is one of fewer than two pieces");
    to.pieces = node(found->second).pieces = *pieces;
  }
  return {};
}

// What is known of a source is known of its clones: they make the same values.
void Importer::CopyFactsOfSources() {
  for (Node& to : result_.graph.nodes) {
    if (to.role != NodeRole::kRecompute) continue;
    const Node& source = node(to.clone_of);
    if (source.inputs.size() == to.inputs.size()) to.outputs = source.outputs;
  }
}

Status Importer::ClaimOutputs(size_t count) {
  if (count > claimable_outputs_) {
    return InvalidArgument("claims more outputs than a GraphDef of this size can have");
  }
  claimable_outputs_ -= count;
  return {};
}

// Output types: inferred if there are any, else by the operation's signature; unknown shapes are
// looked up in the attributes.
Status Importer::ImportOutputs(NodeId id) {
  const AttrList attrs = raw_.AttrsOf(raw(id));
  const size_t limit = std::min<size_t>(claimable_outputs_, kMaxPort + 1);
  const std::optional<std::vector<TensorType>> by_signature =
      SignatureOutputs(raw(id).op, attrs, limit);
  const auto inferred = context_.inferred.find(node(id).name);
  std::vector<OutputInfo>& outputs = node(id).outputs;
  if (inferred != context_.inferred.end() && !inferred->second.empty()) {
    for (const TensorType& type : inferred->second) outputs.push_back({.type = type});
    output_count_known_[static_cast<size_t>(id)] = true;
  } else if (by_signature) {
    TFLMS_RETURN_IF_ERROR(ClaimOutputs(by_signature->size()));
    outputs.resize(by_signature->size());
    output_count_known_[static_cast<size_t>(id)] = true;
  }
  for (size_t port = 0; by_signature && port < std::min(outputs.size(), by_signature->size());
       ++port) {
    TensorType& type = outputs[port].type;
    if (type.dtype == DataType::kInvalid) type.dtype = (*by_signature)[port].dtype;
    type.is_ref = type.is_ref || (*by_signature)[port].is_ref;
  }
  ImportShapes(attrs, &outputs);
  return {};
}

void Importer::ImportShapes(AttrList attrs, std::vector<OutputInfo>* outputs) {
  const auto improve = [](const Shape& shape, TensorType* type) {
    const bool better = shape.rank_known && !ElementCount(type->shape) &&
                        (!type->shape.rank_known || ElementCount(shape));
    if (better) type->shape = shape;
  };
  const std::optional<std::vector<Shape>> annotated = ShapeListAttr(attrs, "_output_shapes");
  if (annotated && annotated->size() == outputs->size()) {
    for (size_t i = 0; i < outputs->size(); ++i) improve((*annotated)[i], &(*outputs)[i].type);
  }
  if (outputs->size() != 1) return;
  TensorType* type = &outputs->front().type;
  if (const std::optional<TensorType> value = TensorAttr(attrs, "value")) {
    if (value->dtype == type->dtype) improve(value->shape, type);
  }
  // Of a handle the attribute is the variable's shape.
  if (type->dtype == DataType::kResource) return;
  if (const std::optional<Shape> shape = ShapeAttr(attrs, "shape")) improve(*shape, type);
}

Status Importer::AddDataInput(NodeId id, const InputRef& ref) {
  const auto found = by_name_.find(ref.node);
  if (found == by_name_.end()) {
    return InvalidArgument("reads " + Quoted(ref.node) + ", which is not in the graph");
  }
  const NodeId from = found->second;
  std::vector<OutputInfo>& outputs = node(from).outputs;
  const auto port = static_cast<size_t>(ref.port);
  if (port >= outputs.size()) {
    if (output_count_known_[static_cast<size_t>(from)]) {
      return InvalidArgument("reads output " + std::to_string(ref.port) + " of node " +
                             Quoted(ref.node) + " (op " + Quoted(node(from).op) + "), which has " +
                             std::to_string(outputs.size()));
    }
    TFLMS_RETURN_IF_ERROR(ClaimOutputs(port + 1 - outputs.size()));
    outputs.resize(port + 1);
  }
  node(id).inputs.push_back({from, ref.port, EdgeAction::kRead});
  return {};
}

Status Importer::ImportInputs(NodeId id) {
  Node& to = node(id);
  bool control_seen = false;
  for (const std::string_view text : raw_.InputsOf(raw(id))) {
    const InputRef ref = ParseInput(text);
    if (!ref.control) {
      if (control_seen) {
        return InvalidArgument("data input " + Quoted(text) + " stands behind a control input");
      }
      TFLMS_RETURN_IF_ERROR(AddDataInput(id, ref));
      continue;
    }
    control_seen = true;
    const auto found = by_name_.find(ref.node);
    if (found == by_name_.end()) {
      return InvalidArgument("waits for " + Quoted(ref.node) + ", which is not in the graph");
    }
    NodeId& seen_by = seen_by_[static_cast<size_t>(found->second)];
    if (seen_by != id) to.control_inputs.push_back(found->second);
    seen_by = id;
  }
  const bool swaps = to.role == NodeRole::kSwapOut || to.role == NodeRole::kSwapIn;
  if (swaps && to.inputs.size() != 1) {
    return InvalidArgument("a swap node must read one tensor, this one reads " +
                           std::to_string(to.inputs.size()));
  }
  OrderControls(id, raw_.AttrsOf(raw(id)));
  return {};
}

// Puts the control inputs that rules have added behind the others and counts them.
void Importer::OrderControls(NodeId id, AttrList attrs) {
  Node& to = node(id);
  if (to.role != NodeRole::kOriginal) {
    to.added_controls = static_cast<int32_t>(to.control_inputs.size());
    return;
  }
  const std::optional<std::vector<std::string_view>> added =
      StringListAttr(attrs, kAddedControlsAttr);
  if (!added) return;
  const std::unordered_set<std::string_view> names(added->begin(), added->end());
  const auto first_added =
      std::stable_partition(to.control_inputs.begin(), to.control_inputs.end(),
                            [&](NodeId from) { return !names.contains(node(from).name); });
  to.added_controls = static_cast<int32_t>(to.control_inputs.end() - first_added);
}

}  // namespace

Result<GraphDefImport> ImportGraphDef(std::string_view bytes, const ImportContext& context) {
  try {
    return Importer(bytes, context).Run();
  } catch (const WireFault& e) {
    return InvalidArgument(e.what());
  } catch (const protozero::exception& e) {
    return InvalidArgument(std::string("damaged GraphDef: ") + e.what());
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kInternal, "out of host memory while a GraphDef was read");
  } catch (const std::exception& e) {
    return InternalError(std::string("while a GraphDef was read: ") + e.what());
  }
}

Result<TensorType> ParseTensorProperties(std::string_view bytes) {
  try {
    TensorType type;
    // Inference adds extents one by one: of a scalar the shape is never mentioned. An unknown rank
    // is.
    if (!bytes.empty()) type.shape = Shape::Known({});
    FieldReader fields(bytes);
    while (fields.Next()) {
      if (fields.tag() == field::kTensorDtype) {
        const TensorType read = TypeFromWire(fields.Varint());
        type.dtype = read.dtype;
        type.is_ref = read.is_ref;
      }
      if (fields.tag() == field::kTensorShape) {
        type.shape = ReadShape(fields.Bytes(), Symbols::kKept);
      }
    }
    return type;
  } catch (const std::exception& e) {
    return InvalidArgument(std::string("damaged TensorProperties: ") + e.what());
  }
}

}  // namespace tflms
