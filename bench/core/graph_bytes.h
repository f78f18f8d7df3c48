// SPDX-License-Identifier: Apache-2.0
//
// A graph as a GraphDef, for benchmarks of the importer and exporter: names, operations, inputs,
// devices and element types. Shapes go into the import context, as shape inference gives them.
// Cost: O(V + E).

#ifndef TFLMS_BENCH_CORE_GRAPH_BYTES_H_
#define TFLMS_BENCH_CORE_GRAPH_BYTES_H_

#include <string>

#include "src/graph/graph.h"
#include "src/tensorflow/graphdef.h"

namespace tflms {

// `graph`, whose tensors are float or resources, as a serialised GraphDef.
std::string GraphDefBytes(const Graph& graph);

// Its output types and preserved nodes.
ImportContext ContextOf(const Graph& graph);

}  // namespace tflms

#endif  // TFLMS_BENCH_CORE_GRAPH_BYTES_H_
