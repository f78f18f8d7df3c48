// SPDX-License-Identifier: Apache-2.0
//
// From the clones of a plan to nodes: which node each clone becomes, and which node everybody
// reads.
//
//   version   of a buffer: -1 the first run's, i >= 0 what clone i makes
//   wire      a data input slot that reads a version of a buffer, under one of its names
//
// A reader may know the buffer under the name of an alias (a Reshape of it). The alias reads one
// version itself; a reader that wants another one gets an alias of its own: the alias node is
// cloned behind that version, once for each version. Clones are numbered in the order of the plan,
// alias clones behind what they read, so that each reads and waits for earlier ones only. A clone
// waits for the operation that stands before it in the order. Cost: O(ops + clones * edges of their
// sources + readers of the buffers asked for, log).

#ifndef TFLMS_REWRITE_CLONE_WIRING_H_
#define TFLMS_REWRITE_CLONE_WIRING_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/rewrite/problem_builder.h"
#include "src/rules/rule.h"
#include "src/sim/clones.h"

namespace tflms {

struct Wire {
  NodeId reader = kNoNode;
  int32_t slot = 0;
  int32_t position = 0;  // of the reader in the plan's order; of an alias clone: when it can run
  // Where the name that it reads is made; -1 for the buffer's first name.
  int32_t name_position = -1;
};

class CloneWiring {
 public:
  // All must outlive this; `plan` is a valid plan for map.problem and `expansion` is Expand of
  // both.
  CloneWiring(const Graph& graph, const GraphFacts& facts, const ProblemMap& map, const Plan& plan,
              const Expansion& expansion);

  // The node that an op or clone of the plan is or becomes; kNoNode for kNoOp.
  NodeId NodeOf(OpId op) const;
  // All wires of an expanded buffer on its own device.
  std::vector<Wire> WiresOf(BufferId expanded) const;
  // Fills clones, cloned_reads and first_clone of the request.
  void AddTo(SwapRequest* request) const;

 private:
  struct Alias {
    NodeId node = kNoNode;  // the clone
    NodeId of = kNoNode;    // the alias node it runs again
    BufferId buffer = -1;
    int32_t version = -1;
  };

  const Buffer& GraphBuffer(BufferId buffer) const;
  int32_t VersionOf(OpId reader, BufferId buffer) const;
  bool IsRoot(NodeId name, BufferId buffer) const { return GraphBuffer(buffer).node == name; }
  int32_t VersionOfName(NodeId name, BufferId buffer) const;
  int32_t NamePosition(NodeId name, BufferId buffer, int32_t version) const;
  NodeId NameNode(NodeId name, BufferId buffer, int32_t version);
  NodeId AddClone(NodeClone clone);
  void AddClones();
  void AddReads();

  const Graph& graph_;
  const GraphFacts& facts_;
  const ProblemMap& map_;
  const Plan& plan_;
  const Expansion& expansion_;
  const std::vector<int32_t> position_;
  std::vector<BufferId> problem_buffer_;                      // by graph buffer, -1 = none
  std::vector<std::vector<int32_t>> clones_of_;               // by op
  std::vector<NodeId> clone_node_;                            // by clone of the plan
  std::map<std::pair<NodeId, int32_t>, NodeId> alias_clone_;  // by (alias node, version)
  std::vector<Alias> aliases_;
  std::vector<NodeClone> clones_;
  std::vector<ClonedRead> reads_;
};

// By op: the op that stands before it among those on the device that order edges may hold.
std::vector<OpId> OpsBefore(const Problem& problem, const std::vector<OpId>& order);

}  // namespace tflms

#endif  // TFLMS_REWRITE_CLONE_WIRING_H_
