// SPDX-License-Identifier: Apache-2.0
//
// Topological order and levels, and the order that is kept while edges are added. See topology.h.

#include "src/graph/topology.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "src/graph/loops.h"

namespace tflms {
namespace {

using LoopWaits = std::unordered_map<NodeId, std::vector<NodeId>>;

size_t Index(NodeId id) { return static_cast<size_t>(id); }

// The representative of every node: the first member of its sync group, else itself.
std::vector<NodeId> Representatives(const Graph& graph) {
  std::vector<NodeId> rep(graph.nodes.size());
  std::unordered_map<int32_t, NodeId> first;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const int32_t group = graph.node(id).sync_group;
    rep[Index(id)] = group > 0 ? first.emplace(group, id).first->second : id;
  }
  return rep;
}

// Calls visit(u) for everything `id` waits for: its inputs, data and control, that are no back edges,
// and what its loop makes it wait for.
template <typename Visit>
void ForEachInput(const Graph& graph, const LoopWaits& loops, NodeId id, Visit visit) {
  const Node& node = graph.node(id);
  for (const Input& in : node.inputs) {
    if (!IsBackEdge(graph, in.node, id)) visit(in.node);
  }
  for (NodeId from : node.control_inputs) {
    if (!IsBackEdge(graph, from, id)) visit(from);
  }
  if (!node.Has(kExit)) return;
  if (const auto it = loops.find(id); it != loops.end()) {
    for (NodeId from : it->second) visit(from);
  }
}

// A node on a cycle: walks back over unplaced inputs until one comes twice.
NodeId NodeOnCycle(const Graph& graph, const LoopWaits& loops, const std::vector<NodeId>& rep,
                   const std::vector<bool>& placed) {
  NodeId at = kNoNode;
  for (NodeId id = 0; id < graph.size() && at == kNoNode; ++id) {
    if (!placed[Index(id)]) at = id;
  }
  std::vector<std::vector<NodeId>> members(graph.nodes.size());
  for (NodeId id = 0; id < graph.size(); ++id) members[Index(rep[Index(id)])].push_back(id);
  std::unordered_set<NodeId> seen;
  while (seen.insert(rep[Index(at)]).second) {
    NodeId next = kNoNode;
    for (NodeId member : members[Index(rep[Index(at)])]) {
      ForEachInput(graph, loops, member, [&](NodeId from) {
        if (!placed[Index(from)] && next == kNoNode) next = from;
      });
    }
    if (next == kNoNode) break;
    at = next;
  }
  return at;
}

}  // namespace

Result<std::vector<NodeId>> TopologicalOrder(const Graph& graph) {
  const size_t n = graph.nodes.size();
  const std::vector<NodeId> rep = Representatives(graph);
  const LoopWaits loops = FindLoopWaits(graph);
  std::vector<std::vector<NodeId>> members(n);
  std::vector<int64_t> waiting(n, 0);  // by representative
  std::vector<std::vector<NodeId>> successors(n);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const NodeId r = rep[Index(id)];
    members[Index(r)].push_back(id);
    ForEachInput(graph, loops, id, [&](NodeId from) {
      successors[Index(rep[Index(from)])].push_back(r);
      ++waiting[Index(r)];
    });
  }
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (rep[Index(id)] == id && waiting[Index(id)] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  order.reserve(n);
  std::vector<bool> placed(n, false);
  while (!ready.empty()) {
    const NodeId r = ready.top();
    ready.pop();
    for (NodeId member : members[Index(r)]) {
      order.push_back(member);
      placed[Index(member)] = true;
    }
    for (NodeId next : successors[Index(r)]) {
      if (--waiting[Index(next)] == 0) ready.push(next);
    }
  }
  if (order.size() != n) {
    const NodeId bad = NodeOnCycle(graph, loops, rep, placed);
    return LawBroken("L4 node `" + graph.node(bad).name +
                     "`: lies on a cycle; only NextIteration -> Merge edges may close one");
  }
  return order;
}

std::vector<int32_t> Levels(const Graph& graph, const std::vector<NodeId>& order) {
  const std::vector<NodeId> rep = Representatives(graph);
  const LoopWaits loops = FindLoopWaits(graph);
  std::vector<int32_t> level(graph.nodes.size(), 0);  // by representative while walking
  for (NodeId id : order) {
    int32_t at = level[Index(rep[Index(id)])];
    ForEachInput(graph, loops, id,
                 [&](NodeId from) { at = std::max(at, level[Index(rep[Index(from)])] + 1); });
    level[Index(rep[Index(id)])] = at;
  }
  for (NodeId id = 0; id < graph.size(); ++id) level[Index(id)] = level[Index(rep[Index(id)])];
  return level;
}

IncrementalOrder::IncrementalOrder(const Graph& graph, const std::vector<NodeId>& order)
    : rep_(Representatives(graph)),
      key_(graph.nodes.size()),
      successors_(graph.nodes.size()),
      predecessors_(graph.nodes.size()) {
  int32_t next = 0;
  for (NodeId id : order) {
    if (Rep(id) == id) key_[Index(id)] = {next++, 0};
  }
  const LoopWaits loops = FindLoopWaits(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    ForEachInput(graph, loops, id, [&](NodeId from) {
      if (Rep(from) == Rep(id)) return;
      successors_[Index(Rep(from))].push_back(Rep(id));
      predecessors_[Index(Rep(id))].push_back(Rep(from));
    });
  }
}

void IncrementalOrder::AddNode(const Graph& graph, NodeId id, NodeId before) {
  rep_.push_back(id);
  key_.emplace_back();
  successors_.emplace_back();
  predecessors_.emplace_back();
  Place last;
  // Added nodes are never Exit nodes.
  ForEachInput(graph, LoopWaits(), id, [&](NodeId from) {
    last = std::max(last, Key(Rep(from)));
    successors_[Index(Rep(from))].push_back(id);
    predecessors_[Index(id)].push_back(Rep(from));
  });
  ++last_tie_;
  Place place = {last.at, last_tie_};
  if (before != kNoNode) {
    const Place in_front = {Key(Rep(before)).at, -last_tie_};
    if (in_front > last) place = in_front;
  }
  key_[Index(id)] = place;
}

void IncrementalOrder::Renumber(const std::vector<NodeId>& new_id) {
  const auto rename = [&](std::vector<NodeId>* ids) {
    for (NodeId& id : *ids) id = new_id[Index(id)];
    std::erase(*ids, kNoNode);
  };
  size_t kept = 0;
  for (size_t old = 0; old < new_id.size(); ++old) {
    if (new_id[old] == kNoNode) continue;
    rep_[kept] = new_id[Index(rep_[old])];
    key_[kept] = key_[old];
    // Guarded: a self-move would empty the list.
    if (kept != old) {
      successors_[kept] = std::move(successors_[old]);
      predecessors_[kept] = std::move(predecessors_[old]);
    }
    rename(&successors_[kept]);
    rename(&predecessors_[kept]);
    ++kept;
  }
  rep_.resize(kept);
  key_.resize(kept);
  successors_.resize(kept);
  predecessors_.resize(kept);
}

bool IncrementalOrder::AddDataEdge(NodeId from, NodeId to) { return Record(from, to); }

bool IncrementalOrder::AddControlEdge(Graph* graph, NodeId from, NodeId to) {
  Node& node = graph->node(to);
  for (const Input& in : node.inputs) {
    if (in.node == from) return false;
  }
  const auto& controls = node.control_inputs;
  if (std::find(controls.begin(), controls.end(), from) != controls.end()) return false;
  if (!Record(from, to)) return false;
  node.control_inputs.push_back(from);
  ++node.added_controls;
  return true;
}

bool IncrementalOrder::Reaches(NodeId from, NodeId to) const {
  const NodeId a = Rep(from), b = Rep(to);
  if (a == b) return from != to;
  if (Key(a) > Key(b)) return false;
  std::vector<NodeId> visited;
  return !CollectForward(a, Key(b), b, &visited);
}

// Records rep(from) -> rep(to), reordering the affected region; false on a cycle.
bool IncrementalOrder::Record(NodeId from, NodeId to) {
  const NodeId a = Rep(from), b = Rep(to);
  if (a == b) return false;
  if (Key(a) >= Key(b)) {
    // Everything reachable from b up to a's place must move behind everything that leads to a.
    std::vector<NodeId> forward, backward;
    if (!CollectForward(b, Key(a), a, &forward)) return false;
    CollectBackward(a, Key(b), &backward);
    const auto by_key = [&](NodeId x, NodeId y) { return Key(x) < Key(y); };
    std::sort(forward.begin(), forward.end(), by_key);
    std::sort(backward.begin(), backward.end(), by_key);
    std::vector<Place> pool;
    for (NodeId x : backward) pool.push_back(Key(x));
    for (NodeId x : forward) pool.push_back(Key(x));
    std::sort(pool.begin(), pool.end());
    size_t next = 0;
    for (NodeId x : backward) key_[Index(x)] = pool[next++];
    for (NodeId x : forward) key_[Index(x)] = pool[next++];
  }
  successors_[Index(a)].push_back(b);
  predecessors_[Index(b)].push_back(a);
  return true;
}

// Everything reachable from `from` with a key <= upper, itself included. False when `forbidden` is
// among it.
bool IncrementalOrder::CollectForward(NodeId from, Place upper, NodeId forbidden,
                                      std::vector<NodeId>* out) const {
  std::unordered_set<NodeId> seen = {from};
  out->push_back(from);
  for (size_t head = 0; head < out->size(); ++head) {
    for (NodeId next : successors_[Index((*out)[head])]) {
      if (next == forbidden) return false;
      if (Key(next) <= upper && seen.insert(next).second) out->push_back(next);
    }
  }
  return true;
}

// Everything that leads to `from` with a key >= lower, itself included.
void IncrementalOrder::CollectBackward(NodeId from, Place lower, std::vector<NodeId>* out) const {
  std::unordered_set<NodeId> seen = {from};
  out->push_back(from);
  for (size_t head = 0; head < out->size(); ++head) {
    for (NodeId next : predecessors_[Index((*out)[head])]) {
      if (Key(next) >= lower && seen.insert(next).second) out->push_back(next);
    }
  }
}

}  // namespace tflms
