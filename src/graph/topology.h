// SPDX-License-Identifier: Apache-2.0
//
// Order facts of a graph: topological order and levels, loop frames, conditional branches.
//
//   level(v) = 0 when v has no inputs, else 1 + max over inputs u of level(u)
//
// Back edges (NextIteration into Merge) are left out. Members of one sync group count as one node:
// they get one level and stand next to one another in every order, since none of them can end
// before all have begun. All functions are O(V + E).

#ifndef TFLMS_GRAPH_TOPOLOGY_H_
#define TFLMS_GRAPH_TOPOLOGY_H_

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

// An order kept up to date while edges are added: the incremental topological order of Pearce and
// Kelly (J. Exp. Algorithmics 11, 2006). Edges that already agree with the order cost O(1).
class IncrementalOrder {
 public:
  // `order` must be a topological order of `graph`.
  IncrementalOrder(const Graph& graph, const std::vector<NodeId>& order);
  // Makes room for a node just added to the graph; it is placed right behind node `after`
  // (or last when kNoNode). O(1) amortised.
  void AddNode(NodeId id, NodeId after);
  // Tries to add the control edge from -> to, to the graph and to the order. Returns false and
  // changes nothing when the edge would close a cycle or stands already (as data or control).
  bool AddControlEdge(Graph* graph, NodeId from, NodeId to);
  // True when a path of one or more edges leads from `from` to `to`.
  bool Reaches(const Graph& graph, NodeId from, NodeId to) const;

 private:
  bool Reorder(const Graph& graph, NodeId from, NodeId to);
  std::vector<double> key_;                     // position; smaller = earlier
  std::vector<std::vector<NodeId>> successors_;  // data and control, no back edges
};

}  // namespace tflms

#endif  // TFLMS_GRAPH_TOPOLOGY_H_
