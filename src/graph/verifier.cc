// SPDX-License-Identifier: Apache-2.0
//
// The checks of the verifier: devices, then each node by itself, then cycles, then loop frames,
// each relying on those before it.

#include "src/graph/verifier.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/base/text.h"
#include "src/graph/topology.h"

namespace tflms {
namespace {

constexpr uint32_t kAllFlags = 2 * kBatchwise - 1;

size_t Index(NodeId id) { return static_cast<size_t>(id); }

Status Fault(std::string_view law, const Node& node, const std::string& what) {
  return InvalidArgument(std::string(law) + " node " + Quoted(node.name) + ": " + what);
}

Status VerifyDevices(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const Device& device : graph.devices) {
    const std::string place = "L0 device " + Quoted(device.name) + ": ";
    if (device.name.empty()) return InvalidArgument(place + "has no name");
    if (!names.insert(device.name).second) return InvalidArgument(place + "is there twice");
    if (device.host == kNoDevice) continue;
    const bool exists = device.host >= 0 && Index(device.host) < graph.devices.size();
    if (!exists || graph.devices[Index(device.host)].kind != DeviceKind::kHost) {
      return InvalidArgument(place + "expected a host device as its host, found device number " +
                             std::to_string(device.host));
    }
  }
  return Status();
}

Status VerifyName(const Node& node) {
  if (node.name.empty())
    return InvalidArgument("L0 node ``: a node of op " + Quoted(node.op) + " has no name");
  if (node.name.front() == '^') {
    return Fault("L0", node, "a name may not begin with `^`, the sign of a control input");
  }
  if (node.name.find(':') != std::string::npos) {
    return Fault("L0", node, "a name may not hold `:`, the sign of an output's number");
  }
  if (node.op.empty()) return Fault("L0", node, "has no operation");
  const bool reserved = node.name.starts_with(kReservedPrefix);
  if (reserved && node.role == NodeRole::kOriginal) {
    return Fault("L3", node,
                 "names under `" + std::string(kReservedPrefix) +
                     "` are for nodes that tflms adds: rename it");
  }
  if (!reserved && node.role != NodeRole::kOriginal) {
    return Fault(
        "L3", node,
        "a node that tflms added needs a name under `" + std::string(kReservedPrefix) + "`");
  }
  return Status();
}

Status VerifyNumbers(const Graph& graph, const Node& node) {
  if (node.device != kNoDevice && (node.device < 0 || Index(node.device) >= graph.devices.size())) {
    return Fault("L0", node,
                 "expected one of " + std::to_string(graph.devices.size()) +
                     " devices, found number " + std::to_string(node.device));
  }
  if ((node.flags & ~kAllFlags) != 0) return Fault("L0", node, "has unknown flags");
  if (node.Has(kEnter) && node.frame_name.empty()) {
    return Fault("L0", node, "enters a loop whose frame has no name");
  }
  if (!node.Has(kEnter) && !node.frame_name.empty()) {
    return Fault("L0", node, "names a loop frame but is no Enter");
  }
  const bool clone = node.role == NodeRole::kRecompute;
  if (clone != (node.clone_of != kNoNode) || node.clone_of < kNoNode ||
      node.clone_of >= graph.size()) {
    return Fault("L0", node, "a recompute, and no other node, says which node it runs again");
  }
  if (clone && graph.node(node.clone_of).role != NodeRole::kOriginal) {
    return Fault("L0", node,
                 "runs " + Quoted(graph.node(node.clone_of).name) +
                     " again, which is no node of the graph as it came");
  }
  if (node.sync_group < -1) return Fault("L0", node, "expected a sync group of at least -1");
  if (node.state_bytes < 0) return Fault("L0", node, "the size of its state is below 0");
  if (node.workspace_bytes < 0) return Fault("L0", node, "the size of its workspace is below 0");
  if (node.pieces < 1) return Fault("L0", node, "runs in fewer than one piece");
  if (node.time_us < 0) return Fault("L0", node, "its run time is below 0");
  return Status();
}

Status VerifyOutput(const Node& node, size_t port) {
  const OutputInfo& output = node.outputs[port];
  const auto place = [port] { return "output " + std::to_string(port) + ": "; };
  const auto slots = static_cast<int64_t>(node.inputs.size());
  if (output.alias_of < -1 || output.alias_of >= slots) {
    return Fault("L0", node,
                 place() + "shares the buffer of input " + std::to_string(output.alias_of) +
                     ", which is not there");
  }
  if (output.may_reuse < kReuseAny || output.may_reuse >= slots) {
    return Fault("L0", node,
                 place() + "may reuse the buffer of input " + std::to_string(output.may_reuse) +
                     ", which is not there");
  }
  const Shape& shape = output.type.shape;
  if (!shape.rank_known && !shape.extents.empty()) {
    return Fault("L0", node, place() + "has extents though its rank is unknown");
  }
  if (shape.extents.size() > kMaxRank) {
    return Fault("L0", node,
                 place() + "expected at most " + std::to_string(kMaxRank) + " extents, found " +
                     std::to_string(shape.extents.size()));
  }
  for (int64_t extent : shape.extents) {
    if (extent >= 0 || extent == kUnknownExtent) continue;
    return Fault(
        "L0", node,
        place() + "expected extents of at least 0 or unknown, found " + std::to_string(extent));
  }
  return Status();
}

Status VerifyDataInputs(const Graph& graph, const Node& node) {
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    const Input& in = node.inputs[slot];
    const auto place = [slot] { return "input " + std::to_string(slot) + ": "; };
    if (in.node < 0 || in.node >= graph.size()) {
      return Fault("L0", node, place() + "names no node (number " + std::to_string(in.node) + ")");
    }
    const Node& from = graph.node(in.node);
    if (in.port < 0 || Index(in.port) >= from.outputs.size()) {
      return Fault("L0", node,
                   place() + "expected one of the " + std::to_string(from.outputs.size()) +
                       " outputs of " + Quoted(from.name) + ", found " + std::to_string(in.port));
    }
  }
  return Status();
}

// Control inputs, with a mark for each node that says who named it last: O(inputs).
class ControlChecker {
 public:
  explicit ControlChecker(const Graph& graph)
      : graph_(graph), data_mark_(graph.nodes.size(), kNoNode), control_mark_(data_mark_) {}

  Status Check(NodeId id) {
    const Node& node = graph_.node(id);
    const auto controls = static_cast<int64_t>(node.control_inputs.size());
    if (node.added_controls < 0 || node.added_controls > controls) {
      return Fault("L3", node,
                   "counts " + std::to_string(node.added_controls) + " added among " +
                       std::to_string(controls) + " control inputs");
    }
    for (const Input& in : node.inputs) data_mark_[Index(in.node)] = id;
    for (int64_t i = 0; i < controls; ++i) {
      const NodeId from = node.control_inputs[static_cast<size_t>(i)];
      if (from < 0 || from >= graph_.size()) {
        return Fault("L0", node,
                     "a control input names no node (number " + std::to_string(from) + ")");
      }
      const std::string name = "`^" + graph_.node(from).name + "`";
      if (control_mark_[Index(from)] == id) {
        return Fault("L3", node, "has the control input " + name + " twice");
      }
      control_mark_[Index(from)] = id;
      const bool added = i >= controls - node.added_controls;
      if ((added || node.role != NodeRole::kOriginal) && data_mark_[Index(from)] == id) {
        return Fault("L3", node,
                     "the added control input " + name + " stands beside a data input " +
                         "from the same node");
      }
    }
    return Status();
  }

 private:
  const Graph& graph_;
  std::vector<NodeId> data_mark_, control_mark_;  // by node: the last node that named it
};

// Every edge stays within one loop frame, but for those into Enter nodes, which come from one frame
// further out. Exit nodes leave their frame, so their inputs only have to agree.
Status VerifyFrames(const Graph& graph, const std::vector<NodeId>& order) {
  const auto is_enter = [](const Node& node) { return node.Has(kEnter); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_enter)) return Status();
  const Contexts contexts = FindContexts(graph, order);
  for (NodeId id : order) {
    const Node& node = graph.node(id);
    NodeId first = kNoNode;
    Status status;
    const auto visit = [&](NodeId from) {
      if (!status.ok() || IsBackEdge(graph, from, id)) return;
      if (first == kNoNode) first = from;
      const int32_t found = contexts.frame[Index(from)];
      const bool crosses = node.Has(kEnter | kExit) ? found != contexts.frame[Index(first)]
                                                    : found != contexts.frame[Index(id)];
      if (!crosses) return;
      status = Fault("L0", node,
                     "its input " + Quoted(graph.node(from).name) +
                         " is in another loop frame; only Enter and Exit lead from "
                         "one frame to another");
    };
    for (const Input& in : node.inputs) visit(in.node);
    for (NodeId from : node.control_inputs) visit(from);
    TFLMS_RETURN_IF_ERROR(status);
  }
  return Status();
}

}  // namespace

Status VerifyGraph(const Graph& graph) {
  TFLMS_RETURN_IF_ERROR(VerifyDevices(graph));
  std::unordered_map<std::string_view, NodeId> names;
  names.reserve(graph.nodes.size());
  ControlChecker controls(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    TFLMS_RETURN_IF_ERROR(VerifyName(node));
    if (!names.emplace(node.name, id).second) {
      return Fault("L0", node, "there are two nodes of this name");
    }
    TFLMS_RETURN_IF_ERROR(VerifyNumbers(graph, node));
    TFLMS_RETURN_IF_ERROR(VerifyDataInputs(graph, node));
    TFLMS_RETURN_IF_ERROR(controls.Check(id));
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      TFLMS_RETURN_IF_ERROR(VerifyOutput(node, port));
    }
  }
  const Result<std::vector<NodeId>> order = TopologicalOrder(graph);
  if (!order.ok()) return InvalidArgument(order.status().message());
  return VerifyFrames(graph, *order);
}

}  // namespace tflms
