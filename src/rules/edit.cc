// SPDX-License-Identifier: Apache-2.0
//
// What the rules share. See edit.h.

#include "src/rules/edit.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tflms {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id); }

// Puts the earliest reader first.
void SortReaders(const RewriteState& state, const std::vector<int32_t>& serial_place,
                 std::vector<const SwapEdge*>* edges) {
  const bool all_placed =
      !serial_place.empty() && std::all_of(edges->begin(), edges->end(), [&](const SwapEdge* edge) {
        return serial_place[Index(edge->reader)] >= 0;
      });
  const auto key = [&](const SwapEdge* edge) {
    const int32_t place =
        all_placed ? serial_place[Index(edge->reader)] : state.level[Index(edge->reader)];
    return std::tuple(place, edge->reader, edge->slot);
  };
  std::sort(edges->begin(), edges->end(),
            [&](const SwapEdge* a, const SwapEdge* b) { return key(a) < key(b); });
}

// Rewrites every input that reads a replaced node, and records the new edges in the order.
Status RedirectReaders(const std::vector<NodeId>& keep, RewriteState* state) {
  Graph& graph = *state->graph;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const bool removed = keep[Index(id)] != id;
    for (Input& in : graph.node(id).inputs) {
      const NodeId kept = keep[Index(in.node)];
      if (kept == in.node) continue;
      in.node = kept;
      if (!removed && !state->order->AddDataEdge(kept, id)) {
        return InternalError("node `" + graph.node(id).name + "`: reading `" +
                             graph.node(kept).name + "` instead of its double closes a cycle");
      }
    }
  }
  return Status();
}

}  // namespace

std::vector<int32_t> SerialPlaces(const std::vector<NodeId>& serial_order, int32_t size) {
  std::vector<int32_t> place(Index(size), -1);
  int32_t next = 0;
  for (NodeId id : serial_order) {
    if (id >= 0 && id < size) place[Index(id)] = next++;
  }
  return place;
}

SwapPair FindPair(const Graph& graph, NodeId reader, int32_t slot) {
  if (reader < 0 || reader >= graph.size() || slot < 0) return {};
  const Node& node = graph.node(reader);
  const bool operation = node.role == NodeRole::kOriginal || node.role == NodeRole::kRecompute;
  if (!operation || static_cast<size_t>(slot) >= node.inputs.size()) return {};
  const NodeId in = node.inputs[static_cast<size_t>(slot)].node;
  if (graph.node(in).role != NodeRole::kSwapIn || graph.node(in).inputs.size() != 1) return {};
  const NodeId out = graph.node(in).inputs.front().node;
  if (graph.node(out).role != NodeRole::kSwapOut || graph.node(out).inputs.size() != 1) return {};
  return {out, in};
}

std::vector<SwapInReaders> ReadersBySwapIn(const SwapRequest& request, const RewriteState& state,
                                           const std::vector<int32_t>& serial_place) {
  std::map<NodeId, std::vector<const SwapEdge*>> by_in;
  for (const SwapEdge& edge : request.edges) {
    const SwapPair pair = FindPair(*state.graph, edge.reader, edge.slot);
    if (pair.in == kNoNode || CameWithGraph(state, pair.in)) continue;
    by_in[pair.in].push_back(&edge);
  }
  std::vector<SwapInReaders> result;
  for (auto& [in, edges] : by_in) {
    SortReaders(state, serial_place, &edges);
    result.push_back({in, std::move(edges)});
  }
  return result;
}

bool CameWithGraph(const RewriteState& state, NodeId id) {
  return id >= 0 && Index(id) < state.contexts->frame.size();
}

bool IsOperation(const RewriteState& state, NodeId id) {
  if (id < 0 || id >= state.graph->size()) return false;
  const NodeRole role = state.graph->node(id).role;
  if (role == NodeRole::kRecompute) return true;
  const bool runs = role == NodeRole::kOriginal ||
                    (role == NodeRole::kSplit &&
                     state.graph->kind_of(id) == DeviceKind::kAccelerator);
  return runs && CameWithGraph(state, id);
}

bool RunsOnceAStep(const RewriteState& state, NodeId id) {
  if (!CameWithGraph(state, id)) return state.graph->node(id).role == NodeRole::kRecompute;
  return state.contexts->frame[Index(id)] == 0 && !state.contexts->conditional[Index(id)];
}

bool IsBranching(const Graph& graph, NodeId reader, int32_t slot) {
  const Node& node = graph.node(reader);
  const Input& in = node.inputs[static_cast<size_t>(slot)];
  const bool predicate = node.Has(kSwitch) && static_cast<size_t>(slot) + 1 == node.inputs.size();
  return predicate || node.Has(kMerge) || graph.node(in.node).Has(kSwitch);
}

bool TakesOrderEdges(const RewriteState& state, NodeId id) {
  if (!IsOperation(state, id)) return false;
  const Node& node = state.graph->node(id);
  return RunsOnceAStep(state, id) && node.sync_group >= 0 &&
         !node.Has(kSource | kPinnedOutside | kCompiled | kControlFlowFlags);
}

std::span<const NodeId> OwnControls(const Node& node) {
  const auto added = static_cast<size_t>(node.added_controls);
  return std::span(node.control_inputs).first(node.control_inputs.size() - added);
}

bool OnSameAccelerator(const Graph& graph, NodeId a, NodeId b) {
  return graph.kind_of(a) == DeviceKind::kAccelerator &&
         graph.node(a).device == graph.node(b).device;
}

bool HasEdge(const Graph& graph, NodeId from, NodeId to) {
  const Node& node = graph.node(to);
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Input& in) { return in.node == from; }) ||
         std::find(node.control_inputs.begin(), node.control_inputs.end(), from) !=
             node.control_inputs.end();
}

std::vector<bool> HaveControlEdges(const Graph& graph) {
  std::vector<bool> have(graph.nodes.size(), false);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (NodeId from : graph.node(id).control_inputs) have[Index(from)] = have[Index(id)] = true;
  }
  return have;
}

NameMaker::NameMaker(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.name.starts_with(kReservedPrefix)) taken_.insert(node.name);
  }
}

std::string NameMaker::Make(std::string_view kind, std::string tensor_name) {
  std::replace(tensor_name.begin(), tensor_name.end(), ':', '_');
  const std::string base =
      std::string(kReservedPrefix) + std::string(kind) + "/" + std::move(tensor_name);
  int64_t& next = next_[base];
  std::string name = base;
  while (!taken_.insert(name).second) name = base + "_" + std::to_string(++next);
  return name;
}

Status MergeNodes(const std::vector<NodeId>& keep, RewriteState* state) {
  Graph& graph = *state->graph;
  TFLMS_RETURN_IF_ERROR(RedirectReaders(keep, state));
  std::vector<NodeId> new_id(graph.nodes.size(), kNoNode);
  NodeId next = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (keep[Index(id)] == id) new_id[Index(id)] = next++;
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (new_id[Index(id)] == kNoNode) continue;
    Node& node = graph.node(id);
    for (Input& in : node.inputs) in.node = new_id[Index(in.node)];
    for (NodeId& from : node.control_inputs) from = new_id[Index(from)];
    if (new_id[Index(id)] != id) graph.node(new_id[Index(id)]) = std::move(node);
  }
  graph.nodes.resize(Index(next));
  state->order->Renumber(new_id);
  return Status();
}

}  // namespace tflms
