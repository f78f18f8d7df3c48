// SPDX-License-Identifier: Apache-2.0
//
// DTR: a run-time that drops results when memory runs out and makes them again when they are read.
//
//   before an op runs, while used + what it makes > budget: drop the resident buffer with least
//     h = (time of its op + times of its dropped neighbourhood) / (bytes x time since last access)
//   the neighbourhood is kept as a union of dropped buffers next to one another, as in the paper's
//   approximation h_eq: joined when one is dropped, its own time taken off when it is made again
//   what has no reader left in the program is dropped at once
//
// The run is a trace of ops, so it is a plan with clones: the simulator gives the same time, and a
// peak that is not larger (it also frees what is only kept because nobody knows the future).
//
// Source: Kirisame et al., "Dynamic tensor rematerialization" (ICLR 2021) and its public prototype.
// Simplified: every op of the order is known to be the program; dead buffers that cannot be made
// again stay while one of their readers can be asked for again; the cost of searching for a victim
// is not counted. Cost: O(drops x (resident buffers + their neighbours)).

#include <algorithm>

#include "bench/core/peers/building.h"
#include "bench/core/peers/peers.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

class Runtime {
 public:
  Runtime(const Problem& problem, const PeerOptions& options)
      : problem_(problem),
        options_(options),
        touches_(FindTouches(problem)),
        used_(problem.persistent_bytes),
        peak_(used_) {
    const size_t n = problem.buffers.size();
    here_.assign(n, false), dropped_.assign(n, false);
    pins_.assign(n, 0), last_access_.assign(n, 0);
    member_.assign(n, 0);
    for (const ProblemBuffer& buffer : problem.buffers) {
      readers_left_.push_back(static_cast<int32_t>(buffer.uses.size()) + buffer.live_at_end);
    }
    constant_.assign(problem.ops.size(), false);
    for (const auto& [reader, writer] : problem.writes_after_reads) constant_[Index(reader)] = true;
  }

  DtrRun Run() {
    for (OpId op : options_.order) {
      RunOp(op);
      for (BufferId id : touches_.reads[Index(op)]) --readers_left_[Index(id)];
      for (const auto* ids : {&touches_.reads[Index(op)], &touches_.makes[Index(op)]}) {
        for (BufferId id : *ids) DropIfDead(id);
      }
    }
    Plan plan = PlanFromTrace(problem_, trace_);
    return {std::move(plan), now_us_, peak_, peak_ <= options_.budget_bytes};
  }

 private:
  int64_t Bytes(BufferId id) const { return problem_.buffers[Index(id)].size_bytes; }
  OpId Producer(BufferId id) const { return problem_.buffers[Index(id)].producer; }
  int64_t Time(OpId op) const {
    return problem_.ops[Index(op)].on_device ? problem_.ops[Index(op)].time_us : 0;
  }
  bool CanRerun(BufferId id) const {
    const OpId op = Producer(id);
    return problem_.buffers[Index(id)].recomputable && problem_.ops[Index(op)].repeatable &&
           !constant_[Index(op)];
  }

  void RunOp(OpId op) {
    const std::vector<BufferId>& reads = touches_.reads[Index(op)];
    for (BufferId id : reads) ++pins_[Index(id)];
    for (BufferId id : reads) {
      if (!here_[Index(id)] && dropped_[Index(id)]) RunOp(Producer(id));
    }
    int64_t need = problem_.ops[Index(op)].workspace_bytes;
    for (BufferId id : touches_.makes[Index(op)]) {
      ++pins_[Index(id)];
      if (!here_[Index(id)]) need += Bytes(id);
    }
    while (used_ + need > options_.budget_bytes && DropWorst()) {
    }
    peak_ = std::max(peak_, used_ + need);
    now_us_ += Time(op);
    trace_.push_back(op);
    for (BufferId id : touches_.makes[Index(op)]) Make(id);
    for (BufferId id : reads) {
      last_access_[Index(id)] = now_us_;
      --pins_[Index(id)];
      // Made again only for this.
      if (readers_left_[Index(id)] == 0) DropIfDead(id);
    }
    for (BufferId id : touches_.makes[Index(op)]) --pins_[Index(id)];
  }

  void Make(BufferId id) {
    last_access_[Index(id)] = now_us_;
    if (here_[Index(id)]) return;
    here_[Index(id)] = true;
    used_ += Bytes(id);
    resident_.push_back(id);
    if (!dropped_[Index(id)]) return;
    dropped_[Index(id)] = false;
    class_us_[Find(id)] -= Time(Producer(id));
  }

  void DropIfDead(BufferId id) {
    if (readers_left_[Index(id)] > 0 || pins_[Index(id)] > 0 || !here_[Index(id)]) return;
    if (CanRerun(id)) return Drop(id);
    for (OpId use : problem_.buffers[Index(id)].uses) {
      if (problem_.ops[Index(use)].repeatable) return;
    }
    Drop(id);
  }

  void Drop(BufferId id) {
    here_[Index(id)] = false;
    used_ -= Bytes(id);
    std::erase(resident_, id);
    if (!CanRerun(id)) return;
    dropped_[Index(id)] = true;
    member_[Index(id)] = parent_.size();
    parent_.push_back(parent_.size());
    class_us_.push_back(Time(Producer(id)));
    ForNeighbours(id, [&](BufferId other) { Join(id, other); });
  }

  // Dropped buffers that `id` is made from, and that are made from it.
  template <class Function>
  void ForNeighbours(BufferId id, Function function) const {
    for (BufferId input : touches_.reads[Index(Producer(id))]) {
      if (dropped_[Index(input)]) function(input);
    }
    for (OpId use : problem_.buffers[Index(id)].uses) {
      for (BufferId output : touches_.makes[Index(use)]) {
        if (dropped_[Index(output)]) function(output);
      }
    }
  }

  // The root of a dropped buffer's class.
  size_t Find(BufferId id) {
    size_t node = member_[Index(id)];
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

  void Join(BufferId a, BufferId b) {
    const size_t from = Find(a), to = Find(b);
    if (from == to) return;
    parent_[from] = to;
    class_us_[to] += class_us_[from];
  }

  bool DropWorst() {
    BufferId worst = -1;
    double least = 0;
    for (BufferId id : resident_) {
      if (pins_[Index(id)] > 0 || !CanRerun(id)) continue;
      double cost = static_cast<double>(Time(Producer(id)));
      std::vector<size_t> seen;
      ForNeighbours(id, [&](BufferId other) {
        const size_t root = Find(other);
        if (std::find(seen.begin(), seen.end(), root) != seen.end()) return;
        seen.push_back(root);
        cost += static_cast<double>(class_us_[root]);
      });
      const double staleness = static_cast<double>(now_us_ - last_access_[Index(id)] + 1);
      const double h = cost / (static_cast<double>(Bytes(id)) * staleness);
      if (worst >= 0 && h >= least) continue;
      worst = id;
      least = h;
    }
    if (worst >= 0) Drop(worst);
    return worst >= 0;
  }

  const Problem& problem_;
  const PeerOptions& options_;
  const Touches touches_;
  std::vector<bool> here_, dropped_;  // dropped: was made, is away, can be made again
  std::vector<int32_t> pins_, readers_left_;
  std::vector<int64_t> last_access_;
  std::vector<BufferId> resident_;
  // Classes of dropped buffers: every drop is a node of its own, so that what was made again leaves
  // its place in the old class empty.
  std::vector<size_t> member_;     // by buffer: its node
  std::vector<size_t> parent_;     // by node
  std::vector<int64_t> class_us_;  // by root
  std::vector<bool> constant_;     // by op: reads a state that is written later
  std::vector<OpId> trace_;
  int64_t used_, peak_, now_us_ = 0;
};

}  // namespace

DtrRun RunDtr(const Problem& problem, const PeerOptions& options) {
  return Runtime(problem, options).Run();
}

Plan PlanDtr(const Problem& problem, const PeerOptions& options) {
  return RunDtr(problem, options).plan;
}

}  // namespace tflms
