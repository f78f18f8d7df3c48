// SPDX-License-Identifier: Apache-2.0
//
// Direct order and chain rule. See trigger_search.h.

#include "src/rules/trigger_search.h"

#include <queue>
#include <utility>

#include "src/rules/edit.h"

namespace tflms {
namespace {

// The operation that a value read from `from` was computed by: `from` itself,
// or, behind a swap pair, the node in front of it. kNoNode when there is none.
NodeId Origin(const RewriteState& state, NodeId from) {
  const Graph& graph = *state.graph;
  while (!IsOperation(state, from)) {
    if (graph.node(from).inputs.empty()) return kNoNode;
    from = graph.node(from).inputs.front().node;
  }
  return from;
}

}  // namespace

bool TriggerSearch::Visit(NodeId id) {
  if (visited_in_[static_cast<size_t>(id)] == walk_) return false;
  visited_in_[static_cast<size_t>(id)] = walk_;
  return true;
}

NodeId TriggerSearch::DirectOrder(NodeId reader, NodeId in, LevelWindow window,
                                  const std::function<bool(NodeId)>& legal) {
  ++walk_;
  const Graph& graph = *state_.graph;
  using Entry = std::pair<int32_t, NodeId>;  // (level, -id): the largest comes first
  std::priority_queue<Entry> open;
  int32_t edges = 0, tests = 0;
  const auto enter = [&](NodeId from, NodeId to) {
    ++edges;
    if (from == in || IsBackEdge(graph, from, to)) return;
    const NodeId origin = Origin(state_, from);
    if (origin == kNoNode || Level(origin) < window.lowest || !Visit(origin)) return;
    open.emplace(Level(origin), -origin);
  };
  const auto expand = [&](NodeId id) {
    for (const Input& input : graph.node(id).inputs) enter(input.node, id);
    for (NodeId from : OwnControls(graph.node(id))) enter(from, id);
  };
  expand(reader);
  while (!open.empty() && edges < kMaxDirectEdges && tests < kMaxTests) {
    const NodeId id = -open.top().second;
    open.pop();
    if (Level(id) <= window.highest) {
      ++tests;
      if (legal(id)) return id;
    }
    expand(id);
  }
  return kNoNode;
}

NodeId TriggerSearch::ChainRule(NodeId reader, LevelWindow window,
                                const std::function<bool(NodeId)>& legal) {
  const Graph& graph = *state_.graph;
  int32_t edges = 0, tests = 0;
  NodeId at = reader;
  while (edges < kMaxChainEdges && tests < kMaxTests) {
    NodeId next = kNoNode;
    for (const Input& input : graph.node(at).inputs) {
      ++edges;
      const NodeId from = input.node;
      if (!IsOperation(state_, from)) continue;
      if (graph.node(from).Has(kSource) || IsBackEdge(graph, from, at)) continue;
      const bool higher = next == kNoNode || Level(from) > Level(next) ||
                          (Level(from) == Level(next) && from < next);
      if (higher) next = from;
    }
    if (next == kNoNode || Level(next) < window.lowest) return kNoNode;
    if (Level(next) <= window.highest) {
      ++tests;
      if (legal(next)) return next;
    }
    at = next;
  }
  return kNoNode;
}

}  // namespace tflms
