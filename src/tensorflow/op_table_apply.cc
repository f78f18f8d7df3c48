// SPDX-License-Identifier: Apache-2.0
//
// The op table applied to a graph: flags, output facts, edge actions, sync groups, state.
//
//   size(reserve_space_3) <= 1 bit for each element of y when y is half or bfloat16, else 1 element
//   state_bytes(v) = bytes of the variable whose handle or reference v makes, of the constant v
//                    holds, or of the argument v hands in; each variable once
//
// The variable behind a handle that is an argument is known by its readers: the type that
// ReadVariableOp gives, that an assignment takes, or the largest input of a ResourceApply... (its
// gradient).

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "src/base/checked_math.h"
#include "src/tensorflow/op_table.h"

namespace tflms {
namespace {

// Shape inference does not know reserve_space_3 of a batch normalisation. It is empty or one
// element, but with cuDNN and 16-bit numbers, where it holds at most one bit for each element of
// output 0 (what a fused Relu lets through). Gives it that many elements of its own type, the most
// it can have.
void BoundReserveSpace(Node* node) {
  constexpr size_t kReserveSpace3 = 5;
  const bool has_one = node->op == "FusedBatchNormV3" || node->op == "_FusedBatchNormEx";
  if (!has_one || node->outputs.size() <= kReserveSpace3) return;
  TensorType& reserve = node->outputs[kReserveSpace3].type;
  const int64_t bits = 8 * ElementBytes(reserve.dtype);
  if (bits == 0 || SizeBytes(reserve)) return;
  const TensorType& y = node->outputs[0].type;
  int64_t most = 1;
  if (y.dtype == DataType::kFloat16 || y.dtype == DataType::kBFloat16) {
    const std::optional<int64_t> elements = ElementCount(y.shape);
    if (!elements) return;
    most = std::max<int64_t>(1, *elements / bits + (*elements % bits != 0 ? 1 : 0));
  }
  reserve.shape = Shape::Known({most});
}

class Applier {
 public:
  Applier(const RawGraph& raw, Graph* graph) : raw_(raw), graph_(*graph) {
    for (const RawFunction& function : raw.functions) {
      functions_.emplace(function.name, function.must_compile);
    }
  }

  void Run() {
    const NodeId n = graph_.size();
    for (NodeId id = 0; id < n; ++id) ApplyFlags(id);
    for (NodeId id = 0; id < n; ++id) ApplyActions(id);
    for (NodeId id = 0; id < n; ++id) ApplyOutputs(id);
    for (NodeId id = 0; id < n; ++id) ShareBuffers(id);
    for (NodeId id = 0; id < n; ++id) CollectVariable(id);
    for (NodeId id = 0; id < n; ++id) ApplyState(id);
    for (NodeId id = 0; id < n; ++id) CollectGroup(id);
    ApplyGroups();
  }

 private:
  AttrList AttrsOf(NodeId id) const { return raw_.AttrsOf(raw_.nodes[static_cast<size_t>(id)]); }
  bool OnAccelerator(NodeId id) const { return graph_.kind_of(id) == DeviceKind::kAccelerator; }

  void ApplyFlags(NodeId id);
  bool IsCompiled(NodeId id) const;
  void ApplyActions(NodeId id);
  void ApplyOutputs(NodeId id);
  void ShareBuffers(NodeId id);
  bool SameMemory(NodeId id, const OutputInfo& output, size_t slot) const;
  bool LivesOnHost(NodeId id, const OpFacts& facts, size_t port) const;

  NodeId HandleSource(Input handle) const;
  void CollectVariable(NodeId id);
  void ApplyState(NodeId id);
  int64_t HandleBytes(NodeId id);

  std::optional<int32_t> KeyInput(NodeId id, size_t slot) const;
  void CollectGroup(NodeId id);
  bool Independent(const std::vector<NodeId>& members) const;
  void ApplyGroups();

  const RawGraph& raw_;
  Graph& graph_;
  std::unordered_map<std::string_view, bool> functions_;  // name -> must compile
  std::unordered_map<NodeId, int64_t> variable_bytes_;    // by the node that makes the handle
  std::unordered_set<std::string> counted_;               // shared variables already counted

  struct Group {
    std::vector<NodeId> members;
    int64_t size = -1;  // how many members there are in all; -1 = not known
  };
  std::map<std::string, Group> groups_;
  std::vector<NodeId> no_instance_;  // collectives whose instance is not known
};

bool Applier::IsCompiled(NodeId id) const {
  const AttrList attrs = AttrsOf(id);
  if (BoolAttr(attrs, "_XlaMustCompile").value_or(false)) return true;
  if (BoolAttr(attrs, "_XlaCompile").value_or(false)) return true;
  const auto must_compile = [&](std::string_view function) {
    const auto found = functions_.find(function);
    return found != functions_.end() && found->second;
  };
  return must_compile(graph_.node(id).op) || must_compile(FunctionAttr(attrs, "f").value_or(""));
}

void Applier::ApplyFlags(NodeId id) {
  Node& node = graph_.node(id);
  node.flags |= FindFacts(node.op).flags;
  if (functions_.contains(node.op)) node.flags |= kCall | kSideEffect;
  if (IsCompiled(id)) node.flags |= kCompiled;
  if (IsRepeatableOp(node.op) && !functions_.contains(node.op)) node.flags |= kRepeatable;
  if (IsBatchwiseOp(node.op) && !functions_.contains(node.op)) node.flags |= kBatchwise;
  // The kernel moves the input whose buffer it takes over to the front of the sum. Two numbers give
  // the same sum either way; of more, the order shows in the last bit.
  const bool sum = node.op == "AddN" || node.op == "AccumulateNV2";
  if (sum && node.inputs.size() >= 3) node.flags |= kPicksInput;
  if (node.Has(kEnter)) {
    node.frame_name = std::string(StringAttr(AttrsOf(id), "frame_name").value_or(""));
  }
}

// An edge is an update when its consumer may write the state it stands for.
void Applier::ApplyActions(NodeId id) {
  Node& node = graph_.node(id);
  const OpSignature* signature = FindSignature(node.op);
  const uint16_t ref_inputs = signature == nullptr ? kAllRefInputs : signature->ref_inputs;
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    Input& in = node.inputs[slot];
    const TensorType& type = graph_.output(in).type;
    const bool takes_ref =
        ref_inputs == kAllRefInputs || (slot < 15 && ((ref_inputs >> slot) & 1) != 0);
    const bool writes_ref = type.is_ref && takes_ref;
    const bool writes_resource = type.dtype == DataType::kResource;
    const bool may_write = node.Has(kSideEffect | kCall);
    if (slot == 0 && FindFacts(node.op).sharing == Sharing::kWritesFirst) {
      in.action = EdgeAction::kUpdate;
    }
    if (may_write && (writes_ref || writes_resource)) in.action = EdgeAction::kUpdate;
  }
}

bool Applier::LivesOnHost(NodeId id, const OpFacts& facts, size_t port) const {
  if (!OnAccelerator(id)) return false;
  const bool by_row =
      facts.host_outputs == kAllHost || (port < 8 && ((facts.host_outputs >> port) & 1) != 0);
  if (by_row) return true;
  const Node& node = graph_.node(id);
  switch (node.outputs[port].type.dtype) {
    case DataType::kInt32:
    case DataType::kString:
    case DataType::kResource:
    case DataType::kVariant:
      return true;
    case DataType::kBool: {
      // Comparisons of int32 run on the host, and their results stay there.
      const std::optional<TensorType> compared = TypeAttr(AttrsOf(id), "T");
      return compared && compared->dtype == DataType::kInt32;
    }
    default:
      return false;
  }
}

// True when input `slot` lies in the memory where the output lies: on the way from one device to
// another, or between host and device memory, TensorFlow makes a copy.
bool Applier::SameMemory(NodeId id, const OutputInfo& output, size_t slot) const {
  const Input& in = graph_.node(id).inputs[slot];
  return graph_.node(in.node).device == graph_.node(id).device &&
         graph_.output(in).host_memory == output.host_memory;
}

void Applier::ShareBuffers(NodeId id) {
  Node& node = graph_.node(id);
  const Sharing sharing = FindFacts(node.op).sharing;
  const size_t limit = std::numeric_limits<int16_t>::max();
  for (size_t port = 0; port < node.outputs.size(); ++port) {
    OutputInfo& output = node.outputs[port];
    const size_t slot = sharing == Sharing::kAliasEach ? port : 0;
    if (slot >= std::min(node.inputs.size(), limit)) break;
    const bool aliases = sharing == Sharing::kAliasFirst || sharing == Sharing::kAliasEach ||
                         sharing == Sharing::kWritesFirst;
    const bool same_memory = SameMemory(id, output, slot);
    if (aliases && same_memory) output.alias_of = static_cast<int16_t>(slot);
    if (port != 0) continue;
    if (sharing == Sharing::kReuseFirst && same_memory) output.may_reuse = 0;
    if (sharing == Sharing::kReuseEqual) output.may_reuse = kReuseAny;
  }
}

void Applier::ApplyOutputs(NodeId id) {
  Node& node = graph_.node(id);
  const OpFacts facts = FindFacts(node.op);
  const bool holds_state = node.op == "ReadVariableOp" || node.op == "Const" ||
                           node.op == "HostConst" || node.op == "_Arg" || node.op == "_DeviceArg";
  for (size_t port = 0; port < node.outputs.size(); ++port) {
    OutputInfo& output = node.outputs[port];
    output.host_memory = LivesOnHost(id, facts, port);
    output.persistent = holds_state || output.type.is_ref;
  }
  BoundReserveSpace(&node);
}

// The node that makes the handle (or key) an input stands for, found through forwarding nodes.
NodeId Applier::HandleSource(Input handle) const {
  constexpr int kMaxSteps = 64;  // forwarding chains are short; a loop of them must end
  for (int step = 0; step < kMaxSteps; ++step) {
    const Node& from = graph_.node(handle.node);
    const Sharing sharing = FindFacts(from.op).sharing;
    const size_t slot =
        sharing == Sharing::kAliasEach ? static_cast<size_t>(handle.port) : size_t{0};
    const bool forwards = sharing == Sharing::kAliasFirst || sharing == Sharing::kAliasEach;
    if (!forwards || slot >= from.inputs.size()) return handle.node;
    handle = from.inputs[slot];
  }
  return kNoNode;
}

// Learns the size of a variable from a node that reads or writes it whole.
void Applier::CollectVariable(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.inputs.empty() || graph_.output(node.inputs[0]).type.dtype != DataType::kResource) {
    return;
  }
  std::optional<int64_t> bytes;
  if (node.op == "ReadVariableOp" && !node.outputs.empty()) {
    bytes = SizeBytes(node.outputs[0].type);
  } else if (node.op.starts_with("Assign") && node.inputs.size() == 2) {
    bytes = SizeBytes(graph_.output(node.inputs[1]).type);
  } else if (node.op.starts_with("ResourceApply")) {
    for (const Input& in : node.inputs) {
      const std::optional<int64_t> size = SizeBytes(graph_.output(in).type);
      if (size) bytes = std::max(bytes.value_or(0), *size);
    }
  }
  if (!bytes) return;
  // A slot of the optimizer has the variable's size too.
  for (const Input& in : node.inputs) {
    if (graph_.output(in).type.dtype != DataType::kResource) continue;
    const NodeId source = HandleSource(in);
    if (source != kNoNode) variable_bytes_.try_emplace(source, *bytes);
  }
}

// Bytes of the variable whose handle or reference the node makes; 0 when it is counted elsewhere
// or not known.
int64_t Applier::HandleBytes(NodeId id) {
  const AttrList attrs = AttrsOf(id);
  std::string shared(StringAttr(attrs, "shared_name").value_or(""));
  if (!shared.empty()) shared += '\0' + std::string(StringAttr(attrs, "container").value_or(""));
  if (const auto unique = IntAttr(attrs, "_resource_arg_unique_id")) {
    shared = "\0arg" + std::to_string(*unique);
  }
  if (!shared.empty() && !counted_.insert(shared).second) return 0;
  TensorType type = TypeAttr(attrs, "dtype").value_or(TensorType());
  type.shape = ShapeAttr(attrs, "shape").value_or(Shape());
  if (type.dtype == DataType::kResource) {
    const auto dtypes = TypeListAttr(attrs, "_handle_dtypes");
    const auto shapes = ShapeListAttr(attrs, "_handle_shapes");
    type = dtypes && !dtypes->empty() ? (*dtypes)[0] : TensorType();
    type.shape = shapes && !shapes->empty() ? (*shapes)[0] : Shape();
  }
  if (const std::optional<int64_t> bytes = SizeBytes(type)) return *bytes;
  const auto learnt = variable_bytes_.find(id);
  return learnt == variable_bytes_.end() ? 0 : learnt->second;
}

void Applier::ApplyState(NodeId id) {
  Node& node = graph_.node(id);
  if (node.outputs.empty()) return;
  const OutputInfo& output = node.outputs[0];
  const bool makes_handle = node.op == "VarHandleOp" || node.op == "VariableV2" ||
                            node.op == "Variable" ||
                            (node.Has(kSource) && output.type.dtype == DataType::kResource);
  if (makes_handle) {
    node.state_bytes = HandleBytes(id);
  } else if (node.Has(kSource) && output.persistent && !output.host_memory) {
    node.state_bytes = SizeBytes(output.type).value_or(0);
  }
}

// The value of an int32 scalar input that comes from a Const.
std::optional<int32_t> Applier::KeyInput(NodeId id, size_t slot) const {
  const Node& node = graph_.node(id);
  if (slot >= node.inputs.size()) return std::nullopt;
  const NodeId source = HandleSource(node.inputs[slot]);
  if (source == kNoNode || graph_.node(source).op != "Const") return std::nullopt;
  return Int32ScalarAttr(AttrsOf(source), "value");
}

void Applier::CollectGroup(NodeId id) {
  Node& node = graph_.node(id);
  if (!node.Has(kCollective)) return;
  node.sync_group = -1;
  const AttrList attrs = AttrsOf(id);
  std::optional<int64_t> group, instance, size;
  if (node.op == "NcclAllReduce") {
    const std::string_view name = StringAttr(attrs, "shared_name").value_or("");
    if (name.empty()) return;
    Group& found = groups_["nccl " + std::string(name)];
    found.members.push_back(id);
    found.size = IntAttr(attrs, "num_devices").value_or(-1);
    return;
  }
  if (IntAttr(attrs, "instance_key")) {
    group = IntAttr(attrs, "group_key");
    instance = IntAttr(attrs, "instance_key");
    size = IntAttr(attrs, "group_size");
  } else {
    // V2: (input, group_size, group_key, instance_key, ...); a receiver has no input.
    const size_t first = node.op == "CollectiveBcastRecvV2" ? 0 : 1;
    if (!node.op.ends_with("V2") || node.op == "CollectiveAssignGroupV2") return;
    size = KeyInput(id, first);
    group = KeyInput(id, first + 1);
    instance = KeyInput(id, first + 2);
  }
  if (!instance) {
    no_instance_.push_back(id);
    return;
  }
  if (!group) return;
  Group& found = groups_["key " + std::to_string(*group) + " " + std::to_string(*instance)];
  found.members.push_back(id);
  found.size = size.value_or(-1);
}

// True when no member waits for another along the graph's edges.
bool Applier::Independent(const std::vector<NodeId>& members) const {
  constexpr size_t kMostMembers = 64;  // a search through the graph for each
  if (members.size() > kMostMembers) return false;
  std::vector<bool> is_member(graph_.nodes.size(), false);
  for (const NodeId id : members) is_member[static_cast<size_t>(id)] = true;
  std::vector<bool> seen(graph_.nodes.size(), false);
  std::vector<NodeId> open = members;  // what the members wait for
  while (!open.empty()) {
    const Node& node = graph_.node(open.back());
    open.pop_back();
    const auto visit = [&](NodeId from) {
      if (!seen[static_cast<size_t>(from)]) open.push_back(from);
      seen[static_cast<size_t>(from)] = true;
      return !is_member[static_cast<size_t>(from)];
    };
    for (const Input& in : node.inputs) {
      if (!visit(in.node)) return false;
    }
    for (const NodeId from : node.control_inputs) {
      if (!visit(from)) return false;
    }
  }
  return true;
}

// Numbers the groups whose members are all in this graph. Collectives whose instance is only known
// when the step runs (an argument) become one group if none waits for another: then no order edge
// will make one wait for another either, whoever their peers are.
void Applier::ApplyGroups() {
  int32_t next = 1;
  if (!no_instance_.empty() && Independent(no_instance_)) {
    const int32_t number = no_instance_.size() == 1 ? 0 : next++;
    for (const NodeId id : no_instance_) graph_.node(id).sync_group = number;
  }
  for (const auto& [key, group] : groups_) {
    if (group.size != static_cast<int64_t>(group.members.size())) continue;
    const int32_t number = group.size == 1 ? 0 : next++;
    for (const NodeId id : group.members) graph_.node(id).sync_group = number;
  }
}

}  // namespace

void ApplyOpTable(const RawGraph& raw, Graph* graph) { Applier(raw, graph).Run(); }

}  // namespace tflms
