// SPDX-License-Identifier: Apache-2.0
//
// Rule swap: a tensor goes to its reader by way of the host.
//
//   u -> v   =>   u -> out:id_h -> in:id_h -> v          one pair for each requested edge
//
// where id_h is Identity on the host: id_h after id_h is the identity, so v reads the same bits.
// Side condition, each part checked here:
//   action(u -> v) = read
//   u and v came with the graph or are clones, and no swap nodes
//   u and v are on the same accelerator
//   u's output is in device memory; its buffer is neither persistent, nor a reference, nor written
//     by a consumer; its dtype can be copied
//   u and v run once in every step: root frame, on no branch
//   the edge runs once in every step and is alone in what it brings: it does not come out of a
//   Switch, nor go into a Merge, which takes whichever value is there first
//   the edge is not a Switch's predicate: two Switches belong to one branch when they read one
//   predicate, and would no longer be seen to
// An edge that goes through a pair already is left alone and not counted as refused. Other readers
// of the same output, and its fetch if u is fetched, still read u.
// Buys: the buffer may leave the device between u's near readers and v. Costs: one copy out and one
// copy in for each edge, before the fuse rules.
// Running time: O(V + E) + O(k log k) for k edges.

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "src/graph/buffers.h"
#include "src/rules/edit.h"
#include "src/rules/rule.h"

namespace tflms {
namespace {

// True when `edge` names a data input of a node of the graph or of a clone.
bool Exists(const RewriteState& state, const SwapEdge& edge) {
  return IsOperation(state, edge.reader) && edge.slot >= 0 &&
         static_cast<size_t>(edge.slot) < state.graph->node(edge.reader).inputs.size();
}

bool BufferMayLeave(const Graph& graph, const BufferTable& buffers, const Input& in) {
  const OutputInfo& output = graph.output(in);
  const Buffer& buffer = buffers.at(in.node, in.port);
  return !output.host_memory && !output.persistent && !output.type.is_ref && !buffer.persistent &&
         !buffer.ref && !buffer.updated && IsCopyable(output.type.dtype);
}

// The side condition for an edge that exists and is not swapped yet.
bool MaySwap(const RewriteState& state, const BufferTable& buffers, const SwapEdge& edge) {
  const Graph& graph = *state.graph;
  const Input& in = graph.node(edge.reader).inputs[static_cast<size_t>(edge.slot)];
  return in.action == EdgeAction::kRead && IsOperation(state, in.node) &&
         OnSameAccelerator(graph, in.node, edge.reader) && RunsOnceAStep(state, in.node) &&
         RunsOnceAStep(state, edge.reader) && !IsBranching(graph, edge.reader, edge.slot) &&
         BufferMayLeave(graph, buffers, in);
}

NodeId AddIdentity(std::string name, NodeRole role, DeviceId host, const Input& in, Graph* graph) {
  Node node;
  node.name = std::move(name);
  node.op = "Identity";
  node.device = host;
  node.role = role;
  node.inputs.push_back({in.node, in.port, EdgeAction::kRead});
  OutputInfo output;
  output.type = graph->output(in).type;
  // The swap-in forwards the host buffer; the swap-out's own is new, as it comes from the device.
  if (role == NodeRole::kSwapIn) output.alias_of = 0;
  node.outputs.push_back(std::move(output));
  graph->nodes.push_back(std::move(node));
  return graph->size() - 1;
}

Status PutPairOnEdge(const SwapEdge& edge, DeviceId host, NameMaker* names, RewriteState* state) {
  Graph& graph = *state->graph;
  const size_t slot = static_cast<size_t>(edge.slot);
  const Input from = graph.node(edge.reader).inputs[slot];
  const std::string tensor = TensorName(graph, from.node, from.port);
  const NodeId out =
      AddIdentity(names->Make("swap_out", tensor), NodeRole::kSwapOut, host, from, &graph);
  state->order->AddNode(graph, out);
  const NodeId in =
      AddIdentity(names->Make("swap_in", tensor), NodeRole::kSwapIn, host, {out, 0}, &graph);
  state->order->AddNode(graph, in, edge.reader);
  graph.node(edge.reader).inputs[slot] = {in, 0, EdgeAction::kRead};
  if (state->order->AddDataEdge(in, edge.reader)) return Status();
  return InternalError("node `" + graph.node(edge.reader).name +
                       "`: swapping its input closes a cycle");
}

Status CheckHost(const SwapRequest& request, const Graph& graph) {
  const bool exists = request.host >= 0 && static_cast<size_t>(request.host) < graph.devices.size();
  if (exists && graph.devices[static_cast<size_t>(request.host)].kind == DeviceKind::kHost) {
    return Status();
  }
  return InvalidArgument("rule swap: the request's host, device " + std::to_string(request.host) +
                         ", is no host device of the graph");
}

Result<RuleEffect> Apply(const SwapRequest& request, RewriteState* state) {
  RuleEffect effect;
  if (request.edges.empty()) return effect;
  TFLMS_RETURN_IF_ERROR(CheckHost(request, *state->graph));
  TFLMS_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(*state->graph));
  const BufferTable buffers = FindBuffers(*state->graph, order);

  std::vector<std::pair<Input, const SwapEdge*>> edges;  // those that will be swapped
  for (const SwapEdge& edge : request.edges) {
    if (FindPair(*state->graph, edge.reader, edge.slot).in != kNoNode) continue;
    if (!Exists(*state, edge) || !MaySwap(*state, buffers, edge)) {
      ++effect.refused;
      continue;
    }
    edges.emplace_back(state->graph->node(edge.reader).inputs[static_cast<size_t>(edge.slot)],
                       &edge);
  }
  // Names and ids then depend on the graph alone, not on the order of the request.
  const auto key = [](const auto& e) {
    return std::tuple(e.first.node, e.first.port, e.second->reader, e.second->slot);
  };
  std::sort(edges.begin(), edges.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });

  NameMaker names(*state->graph);
  for (const auto& [from, edge] : edges) {
    if (FindPair(*state->graph, edge->reader, edge->slot).in != kNoNode) continue;  // asked twice
    TFLMS_RETURN_IF_ERROR(PutPairOnEdge(*edge, request.host, &names, state));
    effect.changes += 3;  // two nodes and one redirected edge
  }
  return effect;
}

}  // namespace

RuleEntry SwapRule() {
  return {"swap", "a tensor goes to a far reader by way of the host",
          "u -> v  =>  u -> out:id_h -> in:id_h -> v", Apply};
}

}  // namespace tflms
