// SPDX-License-Identifier: Apache-2.0
//
// Order facts of a graph: topological order and levels, loop frames, conditional branches.
//
//   level(v) = 0 when v has no inputs, else 1 + max over inputs u of level(u)
//
// Back edges (NextIteration into Merge) are left out; an Exit counts as reading all Enter nodes of its
// loop (loops.h). Members of one sync group count as one node:
// they get one level and stand next to one another in every order, since none of them can end
// before all have begun. Cost: O((V + E) log V).

#ifndef TFLMS_GRAPH_TOPOLOGY_H_
#define TFLMS_GRAPH_TOPOLOGY_H_

#include <compare>
#include <vector>

#include "src/graph/graph.h"
#include "tflms/status.h"

namespace tflms {

// A topological order of all nodes: among the nodes that are ready, the one with the smallest id
// first. A cycle (law L4) is an error that names a node on it.
Result<std::vector<NodeId>> TopologicalOrder(const Graph& graph);

// level(v) for every node. `order` must be a topological order of `graph`.
std::vector<int32_t> Levels(const Graph& graph, const std::vector<NodeId>& order);

struct Contexts {
  // Frame of each node: 0 outside any loop; nodes of one frame share a number. Enter nodes belong
  // to the frame they open, Exit nodes to the one they leave into.
  std::vector<int32_t> frame;
  // True when the node may be skipped in a run (it hangs on one side of a Switch). Conservative:
  // a node downstream of a Switch counts as conditional until a Merge has joined both sides.
  std::vector<bool> conditional;
};

// Frames and conditional parts, along `order`.
Contexts FindContexts(const Graph& graph, const std::vector<NodeId>& order);

// An order kept up to date while nodes and control edges are added: the incremental topological
// order of Pearce and Kelly (J. Exp. Algorithmics 11, 2006). An edge that agrees with the order
// already costs O(1); another costs the part of the order between its two ends.
class IncrementalOrder {
 public:
  // `order` must be a topological order of `graph`.
  IncrementalOrder(const Graph& graph, const std::vector<NodeId>& order);

  // Takes in the node `id` just added to the end of `graph`, with its inputs: right before the node
  // `before`, or, when there is none or an input stands behind that place, right behind the last of
  // its inputs. Nothing may depend on it yet.
  void AddNode(const Graph& graph, NodeId id, NodeId before = kNoNode);
  // Follows a renumbering of the graph's nodes: new_id[old id], kNoNode for removed nodes. What is
  // left keeps its order; edges of removed nodes are dropped. Ids stay ascending. O(V + E).
  void Renumber(const std::vector<NodeId>& new_id);
  // Takes in a data edge from -> to that the caller has made. False when it closes a cycle: then
  // nothing is recorded.
  bool AddDataEdge(NodeId from, NodeId to);
  // Adds the control edge from -> to to `graph` and to the order, and counts it in
  // Node::added_controls. Returns false and changes nothing when it would close a cycle, joins a
  // node to itself, or `to` waits for `from` already by a data or control input.
  bool AddControlEdge(Graph* graph, NodeId from, NodeId to);
  // True when a path of one or more edges leads from `from` to `to`. Looks only at the part of the
  // order between the two.
  bool Reaches(NodeId from, NodeId to) const;

 private:
  // A place in the order. No two nodes ever have the same one: nodes of the start have tie 0, each
  // node added later a tie of its own.
  struct Place {
    int32_t at = -1;
    int32_t tie = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  NodeId Rep(NodeId id) const { return rep_[static_cast<size_t>(id)]; }
  Place Key(NodeId rep) const { return key_[static_cast<size_t>(rep)]; }
  bool Record(NodeId from, NodeId to);
  bool CollectForward(NodeId from, Place upper, NodeId forbidden, std::vector<NodeId>* out) const;
  void CollectBackward(NodeId from, Place lower, std::vector<NodeId>* out) const;

  std::vector<NodeId> rep_;  // of a node: itself, or the first member of its sync group
  std::vector<Place> key_;   // of a representative; smaller = earlier
  int32_t last_tie_ = 0;
  std::vector<std::vector<NodeId>> successors_, predecessors_;  // among representatives
};

}  // namespace tflms

#endif  // TFLMS_GRAPH_TOPOLOGY_H_
