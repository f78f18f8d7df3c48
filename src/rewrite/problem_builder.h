// SPDX-License-Identifier: Apache-2.0
//
// From a graph to the numbers a planner needs, for one accelerator.
//
// Every node becomes the op of the same number. Ops that order edges may hold ("orderable") run on
// the accelerator in every step, outside loops and branches, and touch its memory. Buffers on the
// accelerator become problem buffers when their size is known; each that may not be swapped is
// counted under its reason. Readers on other devices get their copy as soon as the tensor is made
// and do not count as uses.
//
// Of a split operation (src/graph/splits.h) each piece takes its part of the time and makes its
// part of the output; what comes back from the host is there from when it may begin to come, and
// what goes there until the operation that waits for it has run.
//
// Besides the graph's edges the problem holds one kind of its own: an op that writes a state comes
// after the readers of that state's value, unless the graph has it the other way. A write while
// someone still holds the old value would have to copy it. Cost: O((V + E) log V).

#ifndef TFLMS_REWRITE_PROBLEM_BUILDER_H_
#define TFLMS_REWRITE_PROBLEM_BUILDER_H_

#include <string>
#include <vector>

#include "src/graph/buffers.h"
#include "src/graph/graph.h"
#include "src/graph/topology.h"
#include "src/rewrite/filters.h"
#include "src/sim/problem.h"
#include "tflms/report.h"
#include "tflms/status.h"

namespace tflms {

// Facts of a graph that several stages need; valid until the graph changes.
struct GraphFacts {
  std::vector<NodeId> order;  // topological
  std::vector<int32_t> level;
  Contexts contexts;
  BufferTable buffers;
};

Result<GraphFacts> FindFacts(const Graph& graph);

struct ProblemMap {
  Problem problem;                        // op i is node i
  std::vector<BufferIndex> graph_buffer;  // by problem buffer
  std::vector<SkipCount> skipped;         // buffers that may not be swapped, by reason
  // By graph buffer: the reason it is counted under in `skipped`; "" when it may be swapped or is
  // no memory of the accelerator.
  std::vector<std::string> why_kept;
  int64_t unknown_size_tensors = 0;
  int64_t compiled_nodes = 0;
  bool unknown_peers = false;  // a collective whose peers are not known: no edge may be added
};

ProblemMap BuildProblem(const Graph& graph, const GraphFacts& facts, DeviceId accelerator,
                        const Filters& filters = {});

}  // namespace tflms

#endif  // TFLMS_REWRITE_PROBLEM_BUILDER_H_
