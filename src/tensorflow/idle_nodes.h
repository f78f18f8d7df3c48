// SPDX-License-Identifier: Apache-2.0
//
// Nodes of a session's graph that a run may leave out. A session runs what its fetches need; where
// a node in the middle of the graph is fed, what stands only before it does not run, and must not:
// it may wait for placeholders that nobody feeds. An order edge from such a node would make it run.
//
//   needed = nodes from which a fetch is reached, on paths that do not go through a fed node
//
// Cost: O(V + E).

#ifndef TFLMS_TENSORFLOW_IDLE_NODES_H_
#define TFLMS_TENSORFLOW_IDLE_NODES_H_

#include <optional>
#include <string>
#include <unordered_set>

#include "src/graph/graph.h"
#include "src/tensorflow/graphdef.h"

namespace tflms {

// Marks the nodes that are not needed with kPinnedOutside. Nothing when `fetched` is empty or the
// graph is a function's body, which runs as a whole.
void KeepIdleNodesOut(const std::unordered_set<std::string>& fetched, Graph* graph);

// Two operations of one graph, or of functions it calls, that meet outside of its edges: one waits
// until the other has put something into a queue or staging area. Order edges could close a circle
// through it. The sentence names both; nothing when there is no such pair.
std::optional<std::string> FindMeeting(const GraphDefImport& import);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_IDLE_NODES_H_
