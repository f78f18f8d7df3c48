// SPDX-License-Identifier: Apache-2.0
//
// Loop frames and conditional parts of a graph, found along a topological order.
//
//   frame(Enter e)  = the frame named e.frame_name inside frame(input of e)
//   frame(Exit x)   = the parent of frame(input of x)
//   frame(v)        = the deepest frame among v's inputs
//   branch(v)       = union over inputs u of branch(u); a Switch output adds (switch predicate,
//                     side); a Merge keeps what all its inputs share
//
// A node is conditional when branch(v) is not empty. Inside loop frames the loop's own Switches
// make everything conditional, which is what we want: no order edge may touch a loop's inside.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/graph/topology.h"

namespace tflms {
namespace {

// (node that yields the predicate, its port, side), packed for comparison.
using Literal = std::pair<std::pair<NodeId, int32_t>, int32_t>;
using LiteralSet = std::set<Literal>;

class ContextFinder {
 public:
  explicit ContextFinder(const Graph& graph)
      : graph_(graph),
        frame_(graph.nodes.size(), 0),
        set_of_(graph.nodes.size(), 0),
        sets_{LiteralSet{}},
        parent_{0} {
    set_ids_.emplace(LiteralSet{}, 0);
  }

  Contexts Run(const std::vector<NodeId>& order) {
    for (NodeId id : order) {
      PlaceInFrame(id);
      PlaceInBranch(id);
    }
    Contexts contexts;
    contexts.frame = std::move(frame_);
    contexts.conditional.resize(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) contexts.conditional[i] = set_of_[i] != 0;
    return contexts;
  }

 private:
  int32_t& FrameOf(NodeId id) { return frame_[static_cast<size_t>(id)]; }

  void PlaceInFrame(NodeId id) {
    const Node& node = graph_.node(id);
    int32_t frame = 0;
    const auto deepen = [&](NodeId from) {
      if (IsBackEdge(graph_, from, id)) return;
      const int32_t below = FrameOf(from);
      if (depth_[static_cast<size_t>(below)] > depth_[static_cast<size_t>(frame)]) frame = below;
    };
    for (const Input& in : node.inputs) deepen(in.node);
    for (NodeId from : node.control_inputs) deepen(from);
    if (node.Has(kEnter)) {
      const auto [it, added] = frame_ids_.try_emplace({frame, node.frame_name},
                                                      static_cast<int32_t>(parent_.size()));
      if (added) {
        parent_.push_back(frame);
        depth_.push_back(depth_[static_cast<size_t>(frame)] + 1);
      }
      frame = it->second;
    } else if (node.Has(kExit)) {
      frame = parent_[static_cast<size_t>(frame)];
    }
    FrameOf(id) = frame;
  }

  // The branch set that the edge from `in` carries.
  int32_t SetOfEdge(const Input& in) {
    const Node& from = graph_.node(in.node);
    const int32_t base = set_of_[static_cast<size_t>(in.node)];
    if (!from.Has(kSwitch) || from.inputs.empty()) return base;
    const Input& predicate = from.inputs.back();
    return With(base, {{predicate.node, predicate.port}, in.port});
  }

  void PlaceInBranch(NodeId id) {
    const Node& node = graph_.node(id);
    // What leaves a loop always comes out: an Exit runs as often as the loop's Enter nodes do, so
    // the loop's own Switch does not count. Conservative on the rest: a loop inside a branch has
    // its Exit in the parent's branch only if the Enter nodes are.
    if (node.Has(kExit)) {
      set_of_[static_cast<size_t>(id)] = ExitSet(id);
      return;
    }
    bool first = true;
    int32_t set = 0;
    const auto take = [&](int32_t other) {
      set = first ? other : node.Has(kMerge) ? Intersect(set, other) : Unite(set, other);
      first = false;
    };
    for (const Input& in : node.inputs) {
      if (!IsBackEdge(graph_, in.node, id)) take(SetOfEdge(in));
    }
    for (NodeId from : node.control_inputs) {
      if (!IsBackEdge(graph_, from, id)) {
        const int32_t other = set_of_[static_cast<size_t>(from)];
        set = first ? other : Unite(set, other);
        first = false;
      }
    }
    set_of_[static_cast<size_t>(id)] = set;
    if (node.Has(kEnter)) {
      auto& entry = enter_sets_[FrameOf(id)];
      entry = Unite(entry, set);
    }
  }

  int32_t ExitSet(NodeId id) {
    for (const Input& in : graph_.node(id).inputs) {
      const auto it = enter_sets_.find(FrameOf(in.node));
      if (it != enter_sets_.end()) return it->second;
    }
    return 0;
  }

  int32_t Intern(LiteralSet set) {
    const auto [it, added] = set_ids_.try_emplace(std::move(set), static_cast<int32_t>(sets_.size()));
    if (added) sets_.push_back(it->first);
    return it->second;
  }
  int32_t With(int32_t base, const Literal& literal) {
    const auto key = std::make_pair(base, literal);
    if (const auto it = with_.find(key); it != with_.end()) return it->second;
    LiteralSet set = sets_[static_cast<size_t>(base)];
    set.insert(literal);
    return with_[key] = Intern(std::move(set));
  }
  int32_t Unite(int32_t a, int32_t b) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    const auto key = std::minmax(a, b);
    if (const auto it = unite_.find(key); it != unite_.end()) return it->second;
    LiteralSet set = sets_[static_cast<size_t>(a)];
    set.insert(sets_[static_cast<size_t>(b)].begin(), sets_[static_cast<size_t>(b)].end());
    return unite_[key] = Intern(std::move(set));
  }
  int32_t Intersect(int32_t a, int32_t b) {
    if (a == b) return a;
    const LiteralSet& x = sets_[static_cast<size_t>(a)];
    const LiteralSet& y = sets_[static_cast<size_t>(b)];
    LiteralSet set;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::inserter(set, set.end()));
    return Intern(std::move(set));
  }

  const Graph& graph_;
  std::vector<int32_t> frame_;
  std::vector<int32_t> set_of_;
  std::vector<LiteralSet> sets_;
  std::map<LiteralSet, int32_t> set_ids_;
  std::map<std::pair<int32_t, Literal>, int32_t> with_;
  std::map<std::pair<int32_t, int32_t>, int32_t> unite_;
  std::map<std::pair<int32_t, std::string>, int32_t> frame_ids_;
  std::map<int32_t, int32_t> enter_sets_;  // by frame: what its Enter nodes hang on
  std::vector<int32_t> parent_;            // by frame
  std::vector<int32_t> depth_ = {0};       // by frame
};

}  // namespace

Contexts FindContexts(const Graph& graph, const std::vector<NodeId>& order) {
  return ContextFinder(graph).Run(order);
}

}  // namespace tflms
