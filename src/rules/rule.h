// SPDX-License-Identifier: Apache-2.0
//
// The rewriting rules' shared types and their catalog. A rule is a free function Graph -> Graph
// (in place) that holds no state between runs; its file owns its name, summary, formal rule,
// side condition and cost, the catalog only the running order.
//
// What to swap is decided elsewhere and handed in as a SwapRequest in terms of nodes. Each rule
// does its own formal step on the graph; together, in catalog order:
//
//   recompute       u -> v          =>  u' -> v, w -> c u'         u' runs u a second time
//   swap            u -> v          =>  u -> out -> in -> v        one pair for each edge
//   fuse-swap-outs  u -> out1,out2  =>  u -> out                   same output, one copy out
//   fuse-swap-ins   out -> in1,in2  =>  out -> in                  near readers share a copy in
//   trigger         in              =>  w -> c in                  decides when it comes back
//   sync            x               =>  out -> c x, in -> c x      copies are done before x asks
//   serialise       a, b unordered  =>  a -> c b                   the peak holds for every order

#ifndef TFLMS_RULES_RULE_H_
#define TFLMS_RULES_RULE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/graph/graph.h"
#include "src/graph/topology.h"
#include "tflms/status.h"

namespace tflms {

// One reading edge whose tensor is to go by way of the host.
struct SwapEdge {
  NodeId reader = kNoNode;
  int32_t slot = 0;  // data input slot of `reader`
  // Readers of one output with the same group come back by one swap-in; groups count per output
  // from 0. Rule fuse-swap-ins joins them only as far as its gap allows.
  int32_t group = 0;
  NodeId trigger = kNoNode;  // planned trigger; kNoNode: rule trigger searches one
  NodeId sync = kNoNode;     // this node waits for the swap-out; kNoNode: nobody does
  NodeId sync_in = kNoNode;  // this node, before the reader, waits for the swap-in
};

// A node that is to run a second time. Clone i of a request is node `first_clone` + i.
struct NodeClone {
  NodeId source = kNoNode;
  NodeId trigger = kNoNode;  // the clone waits for this node or earlier clone; kNoNode: for none
  // By data input slot of the source: the earlier clone that is read there instead of its source;
  // kNoNode, or no entry: what the source reads.
  std::vector<NodeId> reads = {};
};

// A data input slot of a node of the graph that reads a clone from now on instead of its source.
struct ClonedRead {
  NodeId reader = kNoNode;
  int32_t slot = 0;
  NodeId clone = kNoNode;
};

enum class TriggerStrategy : uint8_t { kPlanned, kDirectOrder, kChainRule };

// Edges and orders may name clones as they name the graph's own nodes.
struct SwapRequest {
  std::vector<SwapEdge> edges;       // any order; no edge twice
  std::vector<NodeId> serial_order;  // consecutive pairs get an order edge; may be empty
  DeviceId host = kNoDevice;         // where the new nodes go
  int32_t fuse_gap = -1;             // levels; -1 = no limit within a group
  TriggerStrategy strategy = TriggerStrategy::kPlanned;
  int32_t lb = 1;      // trigger at least this many levels before the reader (>= 1)
  int32_t ub = 10000;  // and at most this many (>= lb)
  std::vector<NodeClone> clones = {};
  std::vector<ClonedRead> cloned_reads = {};  // no slot twice
  NodeId first_clone = kNoNode;               // size of the graph that the request is for
};

// The graph under rewriting and what rules must keep in step with it.
struct RewriteState {
  Graph* graph = nullptr;
  IncrementalOrder* order = nullptr;   // of `graph`, kept up to date by every rule
  std::vector<int32_t> level;          // of the graph as it came and of its clones
  const Contexts* contexts = nullptr;  // of the graph as it came
};

// What a rule did. A rule that changed nothing says so with `changes` = 0.
struct RuleEffect {
  int64_t changes = 0;  // nodes added or removed, edges redirected or added
  int64_t refused = 0;  // requested steps left out because the side condition did not hold
};

struct RuleEntry {
  std::string_view name;     // "fuse-swap-outs"
  std::string_view summary;  // one line
  std::string_view formula;  // the formal rule, one line of text
  Result<RuleEffect> (*apply)(const SwapRequest& request, RewriteState* state);
};

// All rules in running order.
std::span<const RuleEntry> RuleCatalog();

// The rule of that name, or null.
const RuleEntry* FindRule(std::string_view name);

}  // namespace tflms

#endif  // TFLMS_RULES_RULE_H_
