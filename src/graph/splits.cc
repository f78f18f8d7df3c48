// SPDX-License-Identifier: Apache-2.0
//
// See splits.h.

#include "src/graph/splits.h"

#include <algorithm>
#include <string>

#include "src/base/text.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

Status Fault(const Node& node, const std::string& what) {
  return LawBroken("L3 node " + Quoted(node.name) + ": " + what);
}

bool IsSplitNode(const Node& node, std::string_view op) {
  return node.role == NodeRole::kSplit && node.op == op;
}

// Follows one split operation back from its Concat and marks what belongs to it.
class Form {
 public:
  Form(const Graph& graph, std::vector<bool>* seen) : graph_(graph), seen_(*seen) {}

  Status Verify(NodeId concat) {
    const Node& join = graph_.node(concat);
    Mark(concat);
    if (join.inputs.size() < 3) return Fault(join, "joins fewer than two pieces");
    Mark(join.inputs.back().node);
    if (!IsSplitNode(graph_.node(join.inputs.back().node), "Const")) {
      return Fault(join, "its last input is no axis");
    }
    for (size_t i = 0; i + 1 < join.inputs.size(); ++i) {
      const Node& out = graph_.node(join.inputs[i].node);
      if (out.role != NodeRole::kSwapOut || out.inputs.size() != 1) {
        return Fault(join, "its input " + std::to_string(i) + " is no swap-out of a piece");
      }
      pieces_.push_back(out.inputs.front().node);
    }
    return VerifyPieces(join);
  }

 private:
  void Mark(NodeId id) { seen_[Index(id)] = true; }

  Status VerifyPieces(const Node& join) {
    const NodeId source = pieces_.back();
    const Node& v = graph_.node(source);
    const auto count = static_cast<int64_t>(pieces_.size());
    if (v.role != NodeRole::kOriginal || v.pieces != count || !v.Has(kBatchwise) ||
        v.outputs.size() != 1 || join.outputs.size() != 1 ||
        join.outputs.front().type != v.outputs.front().type) {
      return Fault(join, "does not join the pieces of one operation that may be split");
    }
    const Shape& shape = v.outputs.front().type.shape;
    if (!shape.rank_known || shape.extents.empty() || shape.extents[0] % count != 0) {
      return Fault(v, "its rows do not make " + std::to_string(count) + " equal pieces");
    }
    for (const NodeId piece : pieces_) {
      const Node& node = graph_.node(piece);
      if (seen_[Index(piece)] || node.pieces != count ||
          (piece != source && node.clone_of != source)) {
        return Fault(node, "is not one of the pieces of " + Quoted(v.name));
      }
      Mark(piece);
    }
    for (size_t slot = 0; slot < v.inputs.size(); ++slot) {
      TFLMS_RETURN_IF_ERROR(VerifySlot(slot));
    }
    return Status();
  }

  // The Split that an input of a piece comes from, through c_i and in_i; kNoNode when it does not.
  Input SplitBehind(Input in) {
    const Node& arrival = graph_.node(in.node);
    if (!IsSplitNode(arrival, "Identity") || arrival.inputs.size() != 1) return {};
    const Node& back = graph_.node(arrival.inputs.front().node);
    if (back.role != NodeRole::kSwapIn || back.inputs.size() != 1) return {};
    const Input from = back.inputs.front();
    if (!IsSplitNode(graph_.node(from.node), "Split")) return {};
    Mark(in.node);
    return from;
  }

  Status VerifySlot(size_t slot) {
    const Node& v = graph_.node(pieces_.back());
    const Input last = SplitBehind(v.inputs[slot]);
    if (last.node == kNoNode) {
      const OutputInfo& read = graph_.output(v.inputs[slot]);
      return UseOfSlot(read, v.outputs.front()) == SlotUse::kWhole
                 ? Status()
                 : Fault(v, "reads all of input " + std::to_string(slot) + " in each piece");
    }
    const Node& split = graph_.node(last.node);
    Mark(last.node);
    if (split.inputs.size() != 2 || split.outputs.size() != pieces_.size()) {
      return Fault(split, "does not split into the pieces of " + Quoted(v.name));
    }
    Mark(split.inputs.front().node);
    const Node& whole = graph_.node(split.inputs.back().node);
    if (whole.role != NodeRole::kSwapOut ||
        UseOfSlot(whole.outputs.front(), v.outputs.front()) != SlotUse::kRows) {
      return Fault(split, "splits something else than rows of a tensor on the host");
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Input from = SplitBehind(graph_.node(pieces_[i]).inputs[slot]);
      if (from.node == last.node && from.port == static_cast<int32_t>(i)) continue;
      return Fault(graph_.node(pieces_[i]), "does not read its own rows of input " +
                                                std::to_string(slot) + " of " + Quoted(v.name));
    }
    return Status();
  }

  const Graph& graph_;
  std::vector<bool>& seen_;
  std::vector<NodeId> pieces_;
};

}  // namespace

SlotUse UseOfSlot(const OutputInfo& input, const OutputInfo& output) {
  const Shape& in = input.type.shape;
  const Shape& out = output.type.shape;
  if (!in.rank_known || !out.rank_known || out.extents.empty()) return SlotUse::kUnknown;
  if (input.host_memory || in.extents.size() < out.extents.size()) return SlotUse::kWhole;
  if (in.extents.size() > out.extents.size()) return SlotUse::kUnknown;
  if (in.extents[0] == out.extents[0]) return SlotUse::kRows;
  return in.extents[0] == 1 ? SlotUse::kWhole : SlotUse::kUnknown;
}

TensorType MadeType(const Graph& graph, NodeId node, int32_t port) {
  const Node& maker = graph.node(node);
  TensorType type = maker.outputs[Index(port)].type;
  if (maker.pieces > 1 && type.shape.rank_known && !type.shape.extents.empty()) {
    type.shape.extents[0] /= maker.pieces;
  }
  return type;
}

bool IsSplitArrival(const Graph& graph, NodeId id) {
  return IsSplitNode(graph.node(id), "Identity") && graph.kind_of(id) == DeviceKind::kAccelerator;
}

Status VerifySplits(const Graph& graph) {
  std::vector<bool> seen(graph.nodes.size(), false);
  bool any = false;
  for (NodeId id = 0; id < graph.size(); ++id) {
    any |= graph.node(id).pieces > 1 || graph.node(id).role == NodeRole::kSplit;
    if (!IsSplitNode(graph.node(id), "ConcatV2")) continue;
    TFLMS_RETURN_IF_ERROR(Form(graph, &seen).Verify(id));
  }
  if (!any) return Status();
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const bool plain = IsSplitNode(node, "NoOp") || IsSplitArrival(graph, id);
    if (seen[Index(id)] || plain) continue;
    if (node.pieces > 1 || node.role == NodeRole::kSplit) {
      return Fault(node, "is part of no split operation");
    }
  }
  // A piece is read by its copy to the host and by nothing else.
  for (const Node& node : graph.nodes) {
    if (node.role == NodeRole::kSwapOut) continue;
    for (const Input& in : node.inputs) {
      if (graph.node(in.node).pieces <= 1) continue;
      return Fault(node, "reads a piece of " + Quoted(graph.node(in.node).name));
    }
  }
  return Status();
}

}  // namespace tflms
