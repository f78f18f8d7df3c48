// SPDX-License-Identifier: Apache-2.0
//
// The laws that a rewriting must keep and that two graphs, before and after, can show:
//
//   L3 nothing else touched   every node of `before` keeps all it has; of its inputs, only those
//                             that now go through added nodes differ; its control inputs are the
//                             old ones and, behind them, added ones; every other node is added
//   L4 acyclic                and every added edge joins nodes that run once in every step: outside
//                             loop frames and conditional branches, and not closed to order edges
//   L6 erasable               erase(after) = before
//
// erase takes away every added node, every added control input, and leads a data input that reads
// an added node to where that one's own data comes from:
//
//   u -> out -> in -> v   =>   u -> v
//   u' -> v               =>   u -> v        u' a clone of u
//
// Of a clone L3 says besides: it is its source once more (operation, device, flags, outputs,
// sizes), the source may run again, each of its inputs is erased to what the source's is, and an
// added control edge holds it.

#ifndef TFLMS_GRAPH_LAWS_H_
#define TFLMS_GRAPH_LAWS_H_

#include "src/graph/graph.h"
#include "tflms/status.h"

namespace tflms {

// `after` without what rules added. Nodes keep their sequence; ids close up. Devices stay as they
// are. `after` must have valid ids (VerifyGraph). An input that only added nodes in a circle would
// feed becomes {kNoNode, 0}. O(V + E).
Graph EraseRewrite(const Graph& after);

// Checks the laws above; the first fault found, as "law broken", names the law and the node.
// `before` must be a graph that VerifyGraph accepts. When it holds added nodes already, nothing may
// differ (L5: once is enough). O((V + E) log V).
Status VerifyRewrite(const Graph& before, const Graph& after);

}  // namespace tflms

#endif  // TFLMS_GRAPH_LAWS_H_
