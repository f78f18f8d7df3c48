// SPDX-License-Identifier: Apache-2.0
//
// Clones of a plan as nodes, and who reads them. See clone_wiring.h.

#include "src/rewrite/clone_wiring.h"

#include <algorithm>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// The slot under whose buffer the alias node makes its one output.
size_t AliasSlot(const Node& alias) { return Index(alias.outputs.front().alias_of); }

}  // namespace

std::vector<OpId> OpsBefore(const Problem& problem, const std::vector<OpId>& order) {
  std::vector<OpId> before(problem.ops.size(), kNoOp);
  OpId last = kNoOp;
  for (OpId op : order) {
    before[Index(op)] = last;
    if (problem.ops[Index(op)].on_device && problem.ops[Index(op)].orderable) last = op;
  }
  return before;
}

CloneWiring::CloneWiring(const Graph& graph, const GraphFacts& facts, const ProblemMap& map,
                         const Plan& plan, const Expansion& expansion)
    : graph_(graph),
      facts_(facts),
      map_(map),
      plan_(plan),
      expansion_(expansion),
      position_(Positions(plan.order)),
      problem_buffer_(facts.buffers.buffers.size(), -1),
      clones_of_(graph.nodes.size()),
      clone_node_(plan.clones.size(), kNoNode) {
  for (size_t id = 0; id < map.graph_buffer.size(); ++id) {
    problem_buffer_[Index(map.graph_buffer[id])] = static_cast<BufferId>(id);
  }
  for (size_t i = 0; i < plan.clones.size(); ++i) {
    clones_of_[Index(plan.clones[i])].push_back(static_cast<int32_t>(i));
  }
  if (plan.clones.empty()) return;
  AddClones();
  AddReads();
}

NodeId CloneWiring::NodeOf(OpId op) const {
  if (op == kNoOp || op < graph_.size()) return op;
  return clone_node_[Index(op - graph_.size())];
}

const Buffer& CloneWiring::GraphBuffer(BufferId buffer) const {
  return facts_.buffers.buffers[Index(map_.graph_buffer[Index(buffer)])];
}

int32_t CloneWiring::VersionOf(OpId reader, BufferId buffer) const {
  const auto key = std::pair(buffer, reader);
  const auto at = std::lower_bound(
      plan_.clone_reads.begin(), plan_.clone_reads.end(), key,
      [](const CloneRead& read, const auto& k) { return std::pair(read.buffer, read.reader) < k; });
  const bool found = at != plan_.clone_reads.end() && at->buffer == buffer && at->reader == reader;
  return found ? at->clone : -1;
}

// The version behind a name of the graph as it came: the first run's, or what the alias reads.
int32_t CloneWiring::VersionOfName(NodeId name, BufferId buffer) const {
  return IsRoot(name, buffer) ? -1 : VersionOf(name, buffer);
}

int32_t CloneWiring::NamePosition(NodeId name, BufferId buffer, int32_t version) const {
  if (IsRoot(name, buffer)) return -1;
  const int32_t own = position_[Index(name)];
  if (version < 0 || VersionOfName(name, buffer) == version) return own;
  return std::max(own, position_[Index(graph_.size() + version)]);
}

NodeId CloneWiring::AddClone(NodeClone clone) {
  clones_.push_back(std::move(clone));
  return graph_.size() + static_cast<NodeId>(clones_.size()) - 1;
}

// The node that carries `version` of the buffer under the name; made if need be. kNoNode: the
// name's own node does.
NodeId CloneWiring::NameNode(NodeId name, BufferId buffer, int32_t version) {
  if (VersionOfName(name, buffer) == version) return kNoNode;
  if (IsRoot(name, buffer)) return clone_node_[Index(version)];
  // The names from this one back to one that has its node, then forward again: a name needs those
  // before it.
  std::vector<NodeId> missing;
  NodeId read = kNoNode;
  for (NodeId at = name;;) {
    const auto made = alias_clone_.find({at, version});
    if (made != alias_clone_.end()) {
      read = made->second;
      break;
    }
    if (VersionOfName(at, buffer) == version) break;
    if (IsRoot(at, buffer)) {
      read = clone_node_[Index(version)];
      break;
    }
    missing.push_back(at);
    at = graph_.node(at).inputs[AliasSlot(graph_.node(at))].node;
  }
  for (; !missing.empty(); missing.pop_back()) {
    const NodeId at = missing.back();
    NodeClone clone{at, kNoNode, std::vector<NodeId>(graph_.node(at).inputs.size(), kNoNode)};
    clone.reads[AliasSlot(graph_.node(at))] = read;
    read = AddClone(std::move(clone));
    alias_clone_[{at, version}] = read;
    aliases_.push_back({read, at, buffer, version});
  }
  return read;
}

void CloneWiring::AddClones() {
  const std::vector<OpId> before = OpsBefore(expansion_.problem, plan_.order);
  for (OpId op : plan_.order) {
    if (op < graph_.size()) continue;
    const size_t i = Index(op - graph_.size());
    NodeClone clone;
    clone.source = plan_.clones[i];
    clone.trigger = NodeOf(before[Index(op)]);
    for (const Input& in : graph_.node(clone.source).inputs) {
      const BufferId buffer = problem_buffer_[Index(facts_.buffers.Of(in.node, in.port))];
      clone.reads.push_back(buffer < 0 ? kNoNode
                                       : NameNode(in.node, buffer, VersionOf(op, buffer)));
    }
    clone_node_[i] = AddClone(std::move(clone));
  }
}

void CloneWiring::AddReads() {
  BufferId last = -1;
  for (const CloneRead& read : plan_.clone_reads) {  // ordered by buffer
    if (read.buffer == last) continue;
    last = read.buffer;
    const Buffer& buffer = GraphBuffer(last);
    for (const Reader& reader : buffer.readers) {
      if (graph_.node(reader.node).device != graph_.node(buffer.node).device) continue;
      const NodeId name = graph_.node(reader.node).inputs[Index(reader.slot)].node;
      const NodeId clone = NameNode(name, last, VersionOf(reader.node, last));
      if (clone != kNoNode) reads_.push_back({reader.node, reader.slot, clone});
    }
  }
}

std::vector<Wire> CloneWiring::WiresOf(BufferId expanded) const {
  const BufferId id = expansion_.original[Index(expanded)];
  const int32_t version = expansion_.clone[Index(expanded)];
  const Buffer& buffer = GraphBuffer(id);
  std::vector<Wire> wires;
  const auto add = [&](NodeId reader, OpId op, const Reader& as, NodeId name) {
    if (VersionOf(op, id) != version) return;
    wires.push_back({reader, as.slot, position_[Index(op)], NamePosition(name, id, version)});
  };
  for (const Reader& reader : buffer.readers) {
    if (graph_.node(reader.node).device != graph_.node(buffer.node).device) continue;
    const NodeId name = graph_.node(reader.node).inputs[Index(reader.slot)].node;
    add(reader.node, reader.node, reader, name);
    for (int32_t clone : clones_of_[Index(reader.node)]) {
      const OpId op = graph_.size() + clone;
      add(NodeOf(op), op, reader, name);
    }
  }
  for (const Alias& alias : aliases_) {
    if (alias.buffer != id || alias.version != version) continue;
    const Node& of = graph_.node(alias.of);
    const NodeId name = of.inputs[AliasSlot(of)].node;
    wires.push_back({alias.node, static_cast<int32_t>(AliasSlot(of)),
                     NamePosition(alias.of, id, version), NamePosition(name, id, version)});
  }
  return wires;
}

void CloneWiring::AddTo(SwapRequest* request) const {
  request->clones = clones_;
  request->cloned_reads = reads_;
  request->first_clone = graph_.size();
}

}  // namespace tflms
