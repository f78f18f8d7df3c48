// SPDX-License-Identifier: Apache-2.0
//
// The laws L3, L4 and L6 between a graph and its rewriting. See laws.h.

#include "src/graph/laws.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/graph/splits.h"
#include "src/graph/topology.h"
#include "src/graph/verifier.h"

namespace tflms {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id); }

Status Fault(std::string_view law, const Node& node, const std::string& what) {
  return LawBroken(std::string(law) + " node " + Quoted(node.name) + ": " + what);
}

bool IsAdded(const Node& node) { return node.role != NodeRole::kOriginal; }

// Where the data of `in` comes from, seen through added nodes: a clone gives what its source gives.
// A swap is two nodes deep; what is deeper than any rule builds gives no node.
Input SeeThrough(const Graph& graph, Input in) {
  constexpr int kMostDeep = 16;
  for (int depth = 0; depth < kMostDeep; ++depth) {
    const Node& from = graph.node(in.node);
    if (!IsAdded(from)) return in;
    if (from.role == NodeRole::kRecompute) {
      in.node = from.clone_of;
      continue;
    }
    if (from.inputs.empty()) break;
    // Of a Split the value is the last input; the pieces of a Concat all stand for one output.
    const bool value_last = from.role == NodeRole::kSplit && from.op == "Split";
    const Input& above = value_last ? from.inputs.back() : from.inputs.front();
    in.node = above.node;
    in.port = above.port;
  }
  return {kNoNode, 0, in.action};
}

// What a swap node must look like: u -> out -> in, identities in host memory.
Status VerifySwapNode(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.size() != 1 || node.outputs.size() != 1) {
    return Fault("L3", node,
                 "a swap node has one data input and one output, found " +
                     std::to_string(node.inputs.size()) + " and " +
                     std::to_string(node.outputs.size()));
  }
  if (graph.kind_of(id) != DeviceKind::kHost) return Fault("L3", node, "is not on a host device");
  const Input& in = node.inputs.front();
  const NodeRole above = graph.node(in.node).role;
  const bool of_split = above == NodeRole::kSplit && graph.kind_of(in.node) == DeviceKind::kHost;
  if (node.role == NodeRole::kSwapIn && above != NodeRole::kSwapOut && !of_split) {
    return Fault("L3", node,
                 "a swap-in reads a swap-out, found " + Quoted(graph.node(in.node).name));
  }
  if (node.role == NodeRole::kSwapOut && above != NodeRole::kOriginal &&
      above != NodeRole::kRecompute && !IsSplitArrival(graph, in.node)) {
    return Fault(
        "L3", node,
        "a swap-out reads an operation of the graph, found " + Quoted(graph.node(in.node).name));
  }
  if (node.outputs.front().type != MadeType(graph, in.node, in.port)) {
    return Fault("L3", node, "its output has another type than its input");
  }
  return Status();
}

// Names the first of the fields that a clone shares with its source in which two nodes differ,
// inputs and estimates aside; "" when none does.
std::string SharedFieldThatDiffers(const Node& a, const Node& b) {
  if (a.op != b.op) return "operation";
  if (a.device != b.device) return "device";
  if (a.flags != b.flags) return "flags";
  if (a.frame_name != b.frame_name) return "loop frame";
  if (a.sync_group != b.sync_group) return "sync group";
  if (a.inputs.size() != b.inputs.size()) return "number of data inputs";
  if (a.outputs != b.outputs) return "outputs";
  if (a.state_bytes != b.state_bytes) return "state size";
  if (a.pieces != b.pieces) return "number of pieces";
  return "";
}

// The same for two nodes of one name, which share all fields.
std::string FieldThatDiffers(const Node& a, const Node& b) {
  if (a.role != b.role) return "role";
  if (a.clone_of != b.clone_of) return "source";
  if (a.cookie != b.cookie) return "cookie";
  if (a.workspace_bytes != b.workspace_bytes) return "workspace";
  if (a.time_us != b.time_us) return "run time";
  return SharedFieldThatDiffers(a, b);
}

// What a clone must look like: its source once more, reading the same values, held by an edge.
Status VerifyClone(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Node& source = graph.node(node.clone_of);
  if (!source.Has(node.pieces > 1 ? kBatchwise : kRepeatable) || source.Has(kRunsOnceFlags)) {
    return Fault("L3", node, "runs " + Quoted(source.name) + " again, which may run only once");
  }
  const std::string field = SharedFieldThatDiffers(node, source);
  if (!field.empty()) {
    return Fault("L3", node, "differs from " + Quoted(source.name) + " in its " + field);
  }
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    const Input& in = source.inputs[slot];
    if (in.action == EdgeAction::kRead &&
        SeeThrough(graph, node.inputs[slot]) == SeeThrough(graph, in)) {
      continue;
    }
    return Fault(
        "L3", node,
        "its input " + std::to_string(slot) + " is not what " + Quoted(source.name) + " reads");
  }
  if (node.control_inputs.empty() || Index(node.added_controls) != node.control_inputs.size()) {
    return Fault("L3", node, "has no control input that holds it back, or one of its source's own");
  }
  return Status();
}

// L3 for what was added: the form of added nodes, and that every control edge out of one is
// counted.
Status VerifyAdded(const Graph& after) {
  for (NodeId id = 0; id < after.size(); ++id) {
    const Node& node = after.node(id);
    if (node.role == NodeRole::kSplit) continue;
    if (IsAdded(node)) {
      const bool clone = node.role == NodeRole::kRecompute;
      TFLMS_RETURN_IF_ERROR(clone ? VerifyClone(after, id) : VerifySwapNode(after, id));
      continue;
    }
    const size_t old_controls = node.control_inputs.size() - Index(node.added_controls);
    for (size_t i = 0; i < old_controls; ++i) {
      const Node& from = after.node(node.control_inputs[i]);
      if (!IsAdded(from)) continue;
      return Fault("L3", node, "its control input `^" + from.name + "` is not counted as added");
    }
  }
  return VerifySplits(after);
}

// L3 and L6 for one original node; `erased` is the node with what rules added taken away.
Status CompareNodes(const Graph& before, const Node& old_node, const Node& erased) {
  if (old_node.name != erased.name) {
    return Fault("L6", old_node, "after erasing, " + Quoted(erased.name) + " stands in its place");
  }
  const std::string field = FieldThatDiffers(old_node, erased);
  if (!field.empty()) return Fault("L3", old_node, "its " + field + " was changed");
  for (size_t slot = 0; slot < old_node.inputs.size(); ++slot) {
    if (old_node.inputs[slot] == erased.inputs[slot]) continue;
    const Input& in = old_node.inputs[slot];
    return Fault("L6", old_node,
                 "after erasing, its input " + std::to_string(slot) + " is no longer `" +
                     TensorName(before, in.node, in.port) + "`");
  }
  if (old_node.control_inputs != erased.control_inputs) {
    return Fault("L6", old_node,
                 "after erasing, its control inputs are not the old ones: an added control input "
                 "is not counted as added, or an old one is gone");
  }
  if (old_node != erased) return Fault("L6", old_node, "erasing does not give it back");
  return Status();
}

Status CompareGraphs(const Graph& before, const Graph& erased) {
  const auto old_devices = static_cast<std::ptrdiff_t>(before.devices.size());
  if (erased.devices.size() < before.devices.size() ||
      !std::equal(before.devices.begin(), before.devices.end(), erased.devices.begin(),
                  erased.devices.begin() + old_devices)) {
    return LawBroken("L3 the devices of the graph were changed");
  }
  const NodeId both = std::min(before.size(), erased.size());
  for (NodeId id = 0; id < both; ++id) {
    TFLMS_RETURN_IF_ERROR(CompareNodes(before, before.node(id), erased.node(id)));
  }
  if (before.size() > both) return Fault("L3", before.node(both), "the node is gone");
  if (erased.size() > both) {
    return Fault("L3", erased.node(both), "the node is new, but no added one");
  }
  return Status();
}

// L4 on the added edges of `graph`.
class AddedEdges {
 public:
  explicit AddedEdges(const Graph& graph, const Contexts& contexts)
      : graph_(graph), contexts_(contexts) {}

  Status Verify() const {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      const auto old_controls =
          IsAdded(node) ? 0 : node.control_inputs.size() - Index(node.added_controls);
      for (const Input& in : node.inputs) {
        if (IsAdded(node) || IsAdded(graph_.node(in.node))) {
          TFLMS_RETURN_IF_ERROR(VerifyEdge(in.node, id));
        }
      }
      for (size_t i = 0; i < node.control_inputs.size(); ++i) {
        const NodeId from = node.control_inputs[i];
        if (i >= old_controls || IsAdded(graph_.node(from))) {
          TFLMS_RETURN_IF_ERROR(VerifyEdge(from, id));
          TFLMS_RETURN_IF_ERROR(VerifyTakesOrder(from));
          TFLMS_RETURN_IF_ERROR(VerifyTakesOrder(id));
        }
      }
    }
    return Status();
  }

 private:
  Status VerifyEdge(NodeId from, NodeId to) const {
    for (NodeId end : {from, to}) {
      const bool in_loop = contexts_.frame[Index(end)] != 0;
      if (!in_loop && !contexts_.conditional[Index(end)]) continue;
      return Fault("L4", graph_.node(to),
                   "the added edge from " + Quoted(graph_.node(from).name) + " touches " +
                       Quoted(graph_.node(end).name) +
                       (in_loop ? ", which is in a loop" : ", which is on a conditional branch"));
    }
    return Status();
  }

  Status VerifyTakesOrder(NodeId id) const {
    if (!graph_.node(id).Has(kPinnedOutside)) return Status();
    return Fault("L4", graph_.node(id), "an added control edge touches it, though it may block");
  }

  const Graph& graph_;
  const Contexts& contexts_;
};

}  // namespace

Graph EraseRewrite(const Graph& after) {
  std::vector<NodeId> new_id(after.nodes.size(), kNoNode);
  NodeId next = 0;
  for (NodeId id = 0; id < after.size(); ++id) {
    if (!IsAdded(after.node(id))) new_id[Index(id)] = next++;
  }
  Graph graph;
  graph.devices = after.devices;
  graph.nodes.reserve(Index(next));
  for (const Node& node : after.nodes) {
    if (IsAdded(node)) continue;
    Node& copy = graph.nodes.emplace_back(node);
    for (Input& in : copy.inputs) {
      in = SeeThrough(after, in);
      if (in.node != kNoNode) in.node = new_id[Index(in.node)];
    }
    copy.control_inputs.resize(copy.control_inputs.size() - Index(copy.added_controls));
    copy.added_controls = 0;
    copy.pieces = 1;
    std::erase_if(copy.control_inputs, [&](NodeId from) { return IsAdded(after.node(from)); });
    for (NodeId& from : copy.control_inputs) from = new_id[Index(from)];
  }
  return graph;
}

Status VerifyRewrite(const Graph& before, const Graph& after) {
  const bool done_before =
      std::any_of(before.nodes.begin(), before.nodes.end(),
                  [](const Node& node) { return IsAdded(node) || node.added_controls > 0; });
  if (done_before) {
    if (before.nodes == after.nodes && before.devices == after.devices) return Status();
    return LawBroken("L5 the graph had been rewritten already and was changed again");
  }
  const Status well_formed = VerifyGraph(after);
  if (!well_formed.ok()) return LawBroken(well_formed.message());
  TFLMS_RETURN_IF_ERROR(VerifyAdded(after));
  TFLMS_RETURN_IF_ERROR(CompareGraphs(before, EraseRewrite(after)));
  TFLMS_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(after));
  const Contexts contexts = FindContexts(after, order);
  return AddedEdges(after, contexts).Verify();
}

}  // namespace tflms
