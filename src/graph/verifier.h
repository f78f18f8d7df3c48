// SPDX-License-Identifier: Apache-2.0
//
// The verifier: is this a graph that everything else may rely on? Run at every door, on graphs from
// outside as well as on our own.
//
//   L0  well-formed: names unique and legal, every edge ends at an output or node that exists,
//       sizes and extents in range, slots in range, devices known, each edge within one loop frame
//   L3  no control input twice, no added one beside a data input from the same node; added nodes,
//       and no others, have a name under kReservedPrefix
//   L4  acyclic once the back edges of loops are left out
//
// The message of an error begins with the law's name and names the node: "L4 node `a`: ...".

#ifndef TFLMS_GRAPH_VERIFIER_H_
#define TFLMS_GRAPH_VERIFIER_H_

#include "src/graph/graph.h"
#include "tflms/status.h"

namespace tflms {

// Extents a shape may have at most, as in TensorFlow's own shapes.
inline constexpr size_t kMaxRank = 254;

// The first fault found, as an invalid argument. Safe on any graph whatever: ids are checked before
// they are followed, and nothing recurses. O((V + E) log V).
Status VerifyGraph(const Graph& graph);

}  // namespace tflms

#endif  // TFLMS_GRAPH_VERIFIER_H_
