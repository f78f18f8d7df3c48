// SPDX-License-Identifier: Apache-2.0
//
// Clones read off a rewritten graph: the inverse of src/rewrite/clone_wiring.h.
//
//   clone i        a node of role recompute on the device whose source makes a buffer of the
//   problem reads          what an operation reads is followed through swap nodes and aliases to
//   the node
//                  that made the bytes: the first run, or a clone
//
// Clones of aliases are names, not ops. Cost: O(edges * length of alias chains).

#ifndef TFLMS_CLI_PLANNED_CLONES_H_
#define TFLMS_CLI_PLANNED_CLONES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/rewrite/problem_builder.h"
#include "src/sim/clones.h"

namespace tflms::cli {

class CloneReader {
 public:
  // All must outlive this. `facts` and `map` are of `before`.
  CloneReader(const Graph& before, const Graph& after, const GraphFacts& facts,
              const ProblemMap& map, DeviceId device);

  // By node of `after`: its op; clone i is op ops.size() + i, swap nodes and aliases' clones kNoOp.
  const std::vector<OpId>& op_of() const { return op_of_; }
  // Clones, and who reads them, for a plan.
  const std::vector<OpId>& clones() const { return clones_; }
  const std::vector<CloneRead>& reads() const { return reads_; }
  // Names of the ops and clones.
  std::vector<std::string> Names() const;

  // The run of a buffer that an input of `after` reads: clone -1 is the first. buffer = -1 when it
  // is no buffer of the problem.
  struct Run {
    BufferId buffer = -1;
    int32_t clone = -1;
  };
  Run RunBehind(Input in) const;

 private:
  NodeId SourceOf(NodeId node) const { return source_of_[static_cast<size_t>(node)]; }
  void FindClones(DeviceId device);
  void FindReads(DeviceId device);

  const Graph& before_;
  const Graph& after_;
  const GraphFacts& facts_;
  const ProblemMap& map_;
  std::vector<BufferId> problem_buffer_;  // by graph buffer, -1 = none
  std::vector<NodeId> source_of_;         // by node of `after`: the node of `before` that it runs
  std::vector<OpId> op_of_;
  std::vector<OpId> clones_;
  std::vector<NodeId> clone_nodes_;
  std::vector<CloneRead> reads_;
};

}  // namespace tflms::cli

#endif  // TFLMS_CLI_PLANNED_CLONES_H_
