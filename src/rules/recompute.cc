// SPDX-License-Identifier: Apache-2.0
//
// Rule recompute: an operation runs a second time, and later readers read that.
//
//   u -> v   =>   u' -> v,   u ->c u',   w ->c u'
//
// for each requested clone u' of u with its readers v and its trigger w. u' is u once more: the
// same operation, device, outputs and sizes, reading what u reads, or clones of that. Side condition,
// each part checked here:
//   u came with the graph, is on an accelerator, runs once in every step (root frame, on no branch),
//   may run again (flag kRepeatable) and has none of the flags kRunsOnceFlags
//   u reads values only (no update edge, no reference), no buffer that a consumer writes in place,
//   and makes no reference
//   w takes order edges and is on u's accelerator
//   v came with the graph, is on u's accelerator, runs once in every step, only reads, and neither
//   joins nor tells apart branches
//   no buffer whose readers change is read by a node that picks its input (kPicksInput): which one
//   it may overwrite shows in its result
//   no cycle: no path v ~> u', v ~> w
// A request is carried out as a whole or, when one part is illegal, not at all: swaps of the same
// plan rely on every clone. Then all its clones and reads count as refused.
// The edge u ->c u' keeps every clone behind its source, and so behind all that the source waits
// for, and keeps any pass from merging the two.
// Buys: u's output is off the device between its near readers and v. Costs: u's run time again.
// Running time: O(V + E) when there is something to do, and, for each edge, the part of the kept
// order between its two ends.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/buffers.h"
#include "src/rules/edit.h"
#include "src/rules/rule.h"

namespace tflms {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id); }

// Carries a request out on copies, so that nothing is left of one that turns out illegal.
class Cloner {
 public:
  Cloner(const SwapRequest& request, const RewriteState& start, const BufferTable& buffers)
      : request_(request),
        buffers_(buffers),
        names_(*start.graph),
        graph_(*start.graph),
        order_(*start.order),
        state_(start) {
    state_.graph = &graph_;
    state_.order = &order_;
  }

  // False when a side condition does not hold.
  bool Run() {
    for (const NodeClone& clone : request_.clones) {
      if (!MayRunAgain(clone.source) || !AddClone(clone)) return false;
    }
    return std::all_of(request_.cloned_reads.begin(), request_.cloned_reads.end(),
                       [&](const ClonedRead& read) { return Redirect(read); });
  }

  void Keep(RewriteState* state) {
    *state->graph = std::move(graph_);
    *state->order = std::move(order_);
    state->level = std::move(state_.level);
  }

  int64_t changes() const { return changes_; }

 private:
  bool PicksInput(NodeId node, int32_t port) const {
    const Buffer& buffer = buffers_.at(node, port);
    return std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](const Reader& reader) {
      return graph_.node(reader.node).Has(kPicksInput);
    });
  }

  bool MayRead(const Input& in) const {
    const Buffer& buffer = buffers_.at(in.node, in.port);
    return in.action == EdgeAction::kRead && !buffer.ref && !buffer.updated &&
           (buffer.persistent || !PicksInput(in.node, in.port));
  }

  bool MayRunAgain(NodeId u) const {
    if (!CameWithGraph(state_, u) || !IsOperation(state_, u) || !RunsOnceAStep(state_, u)) {
      return false;
    }
    const Node& node = graph_.node(u);
    return node.role == NodeRole::kOriginal && graph_.kind_of(u) == DeviceKind::kAccelerator &&
           node.Has(kRepeatable) && !node.Has(kRunsOnceFlags) && node.sync_group == 0 &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Input& in) { return MayRead(in); }) &&
           std::none_of(node.outputs.begin(), node.outputs.end(),
                        [](const OutputInfo& output) { return output.type.is_ref; });
  }

  bool IsCloneOf(NodeId clone, NodeId source) const {
    return clone >= request_.first_clone && clone < graph_.size() &&
           graph_.node(clone).clone_of == source;
  }

  // Behind the trigger, or behind the source where there is none, and level by level with them.
  bool AddClone(const NodeClone& clone) {
    const NodeId u = clone.source;
    Node node = graph_.node(u);
    node.name = names_.Make("recompute", node.name);
    node.role = NodeRole::kRecompute;
    node.clone_of = u;
    node.cookie = -1;
    if (clone.reads.size() > node.inputs.size()) return false;
    for (size_t slot = 0; slot < clone.reads.size(); ++slot) {
      if (clone.reads[slot] == kNoNode) continue;
      if (!IsCloneOf(clone.reads[slot], node.inputs[slot].node)) return false;
      node.inputs[slot].node = clone.reads[slot];
    }
    node.control_inputs = {u};
    const NodeId w = clone.trigger;
    if (w != kNoNode) {
      if (!TakesOrderEdges(state_, w) || !OnSameAccelerator(graph_, w, u)) return false;
      const bool reads_w = std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](const Input& in) { return in.node == w; });
      if (w != u && !reads_w) node.control_inputs.push_back(w);
    }
    node.added_controls = static_cast<int32_t>(node.control_inputs.size());
    int32_t level = 0;
    for (const Input& in : node.inputs) level = std::max(level, Level(in.node) + 1);
    for (NodeId from : node.control_inputs) level = std::max(level, Level(from) + 1);
    changes_ += 1 + node.added_controls;
    graph_.nodes.push_back(std::move(node));
    order_.AddNode(graph_, graph_.size() - 1);
    state_.level.push_back(level);
    return true;
  }

  int32_t Level(NodeId id) const { return state_.level[Index(id)]; }

  bool Redirect(const ClonedRead& read) {
    if (!CameWithGraph(state_, read.reader) || read.slot < 0) return false;
    Node& reader = graph_.node(read.reader);
    const size_t slot = Index(read.slot);
    if (reader.role != NodeRole::kOriginal || slot >= reader.inputs.size()) return false;
    const Input from = reader.inputs[slot];
    const bool legal =
        IsCloneOf(read.clone, from.node) && from.action == EdgeAction::kRead &&
        OnSameAccelerator(graph_, from.node, read.reader) && RunsOnceAStep(state_, read.reader) &&
        !IsBranching(graph_, read.reader, read.slot) && !PicksInput(from.node, from.port);
    if (!legal || !order_.AddDataEdge(read.clone, read.reader)) return false;
    reader.inputs[slot].node = read.clone;
    ++changes_;
    return true;
  }

  const SwapRequest& request_;
  const BufferTable& buffers_;  // of the graph without clones
  NameMaker names_;
  Graph graph_;
  IncrementalOrder order_;
  RewriteState state_;
  int64_t changes_ = 0;
};

// True when the request's clones are there: it has been carried out.
bool AreMade(const SwapRequest& request, const Graph& graph) {
  for (size_t i = 0; i < request.clones.size(); ++i) {
    const NodeId id = request.first_clone + static_cast<NodeId>(i);
    if (id >= graph.size() || graph.node(id).role != NodeRole::kRecompute ||
        graph.node(id).clone_of != request.clones[i].source) {
      return false;
    }
  }
  return true;
}

Result<RuleEffect> Apply(const SwapRequest& request, RewriteState* state) {
  RuleEffect effect;
  if (request.clones.empty() && request.cloned_reads.empty()) return effect;
  if (AreMade(request, *state->graph)) return effect;
  const auto all = static_cast<int64_t>(request.clones.size() + request.cloned_reads.size());
  effect.refused = all;
  if (request.first_clone != state->graph->size()) return effect;
  TFLMS_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(*state->graph));
  const BufferTable buffers = FindBuffers(*state->graph, order);
  Cloner cloner(request, *state, buffers);
  if (!cloner.Run()) return effect;
  effect = {cloner.changes(), 0};
  cloner.Keep(state);
  return effect;
}

}  // namespace

RuleEntry RecomputeRule() {
  return {"recompute",
          "an operation runs a second time, so that later readers need not keep its first",
          "u -> v  =>  u' -> v, u ->c u', w ->c u'", Apply};
}

}  // namespace tflms
