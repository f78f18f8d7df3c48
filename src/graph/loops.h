// SPDX-License-Identifier: Apache-2.0
//
// What loops make wait without an edge that says so.
//
//   x Exit, e Enter of the frame that x leaves   =>   x waits for e
//
// An Exit yields its value when the loop has ended, and every iteration needs what all Enter nodes
// bring in. With the back edges (NextIteration into Merge) left out, no path leads from most of the
// Enter nodes to an Exit: an order edge from behind the Exit to something in front of such an Enter
// would look legal, and the step would stop in the middle without an error.

#ifndef TFLMS_GRAPH_LOOPS_H_
#define TFLMS_GRAPH_LOOPS_H_

#include <unordered_map>
#include <vector>

#include "src/graph/graph.h"

namespace tflms {

// For each Exit, the Enter nodes it waits for, ascending. Frames are told apart by their name. The
// frame of an Exit is that of the Enter nodes from which it can be reached without passing another
// Enter or Exit. Empty for a graph without loops.
// Cost: O(V + E), and for each Exit the part of the loop behind it.
std::unordered_map<NodeId, std::vector<NodeId>> FindLoopWaits(const Graph& graph);

}  // namespace tflms

#endif  // TFLMS_GRAPH_LOOPS_H_
