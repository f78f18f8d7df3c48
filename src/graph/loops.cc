// SPDX-License-Identifier: Apache-2.0
//
// Walks back from each Exit to the Enter nodes of its frame. See loops.h.

#include "src/graph/loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

namespace tflms {
namespace {

// Names of the frames whose Enter nodes lead to `exit`.
std::set<std::string> FramesLeft(const Graph& graph, NodeId exit) {
  std::set<std::string> frames;
  std::unordered_set<NodeId> seen = {exit};
  std::vector<NodeId> path = {exit};
  while (!path.empty()) {
    const NodeId at = path.back();
    path.pop_back();
    for (const Input& in : graph.node(at).inputs) {
      const Node& from = graph.node(in.node);
      if (from.Has(kEnter)) {
        frames.insert(from.frame_name);
      } else if (!from.Has(kExit) && seen.insert(in.node).second) {
        path.push_back(in.node);
      }
    }
  }
  return frames;
}

}  // namespace

std::unordered_map<NodeId, std::vector<NodeId>> FindLoopWaits(const Graph& graph) {
  std::map<std::string, std::vector<NodeId>> entries;
  std::vector<NodeId> exits;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).Has(kEnter)) entries[graph.node(id).frame_name].push_back(id);
    if (graph.node(id).Has(kExit)) exits.push_back(id);
  }
  std::unordered_map<NodeId, std::vector<NodeId>> waits;
  for (NodeId exit : exits) {
    std::vector<NodeId>& for_exit = waits[exit];
    for (const std::string& frame : FramesLeft(graph, exit)) {
      const std::vector<NodeId>& of_frame = entries[frame];
      for_exit.insert(for_exit.end(), of_frame.begin(), of_frame.end());
    }
    std::sort(for_exit.begin(), for_exit.end());
  }
  return waits;
}

}  // namespace tflms
