// SPDX-License-Identifier: Apache-2.0
//
// List scheduling with three priorities. See order.h.
//
// All policies share one loop: keep the set of ready units, take the best, release what it made
// ready. A unit is an op, or all ops of one group. Units whose ops take no device memory and no
// device time run as soon as they are ready, in every policy: delaying them gains nothing.

#include "src/planners/order.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Ops this close to the end of the graph are leaves for kDepthFirst.
constexpr int32_t kLeafHeight = 3;

class ListScheduler {
 public:
  ListScheduler(const Problem& problem, OrderPolicy policy) : problem_(problem), policy_(policy) {
    MakeUnits();
    CountWaits();
    FindHeights();
    IndexBuffers();
  }

  std::vector<OpId> Run() {
    std::vector<int32_t> roots;  // found before any is placed, which makes others ready
    for (int32_t unit = 0; unit < UnitCount(); ++unit) {
      if (waits_[Index(unit)] == 0) roots.push_back(unit);
    }
    for (int32_t unit : roots) MakeReady(unit);
    while (!ready_.empty()) {
      const int32_t unit = std::get<2>(*ready_.begin());
      ready_.erase(ready_.begin());
      Place(unit);
    }
    if (order_.size() != problem_.ops.size()) order_.clear();
    return std::move(order_);
  }

 private:
  // (priority, recency, unit): the smallest is taken first.
  using Key = std::tuple<int64_t, int64_t, int32_t>;

  int32_t UnitCount() const { return static_cast<int32_t>(members_.size()); }

  void MakeUnits() {
    std::map<int32_t, int32_t> unit_of_group;
    unit_.resize(problem_.ops.size());
    for (size_t op = 0; op < problem_.ops.size(); ++op) {
      const int32_t group = problem_.ops[op].group;
      int32_t unit = UnitCount();
      if (group > 0) unit = unit_of_group.emplace(group, unit).first->second;
      if (unit == UnitCount()) members_.emplace_back();
      members_[Index(unit)].push_back(static_cast<OpId>(op));
      unit_[op] = unit;
    }
  }

  void CountWaits() {
    waits_.assign(members_.size(), 0);
    for (size_t op = 0; op < problem_.ops.size(); ++op) {
      for (OpId next : problem_.successors[op]) {
        if (unit_[Index(next)] != unit_[op]) ++waits_[Index(unit_[Index(next)])];
      }
    }
  }

  // height(unit) = edges on the longest way to the end of the graph.
  void FindHeights() {
    std::vector<int32_t> waits = waits_, topological;
    for (int32_t unit = 0; unit < UnitCount(); ++unit) {
      if (waits[Index(unit)] == 0) topological.push_back(unit);
    }
    for (size_t head = 0; head < topological.size(); ++head) {
      ForEachNext(topological[head], [&](int32_t next) {
        if (--waits[Index(next)] == 0) topological.push_back(next);
      });
    }
    height_.assign(members_.size(), 0);
    for (size_t i = topological.size(); i-- > 0;) {
      const int32_t unit = topological[i];
      ForEachNext(unit, [&](int32_t next) {
        height_[Index(unit)] = std::max(height_[Index(unit)], height_[Index(next)] + 1);
      });
    }
  }

  template <typename Visit>
  void ForEachNext(int32_t unit, Visit visit) const {
    for (OpId op : members_[Index(unit)]) {
      for (OpId next : problem_.successors[Index(op)]) {
        if (unit_[Index(next)] != unit) visit(unit_[Index(next)]);
      }
    }
  }

  void IndexBuffers() {
    made_bytes_.assign(members_.size(), 0);
    reads_.resize(members_.size());
    remaining_.resize(problem_.buffers.size());
    readers_.resize(problem_.buffers.size());
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      const ProblemBuffer& buffer = problem_.buffers[id];
      made_bytes_[Index(unit_[Index(buffer.producer)])] += buffer.size_bytes;
      for (OpId use : buffer.uses) {
        const int32_t unit = unit_[Index(use)];
        if (!readers_[id].insert(unit).second) continue;
        reads_[Index(unit)].push_back(static_cast<BufferId>(id));
        ++remaining_[id];
      }
      if (buffer.live_at_end) ++remaining_[id];
    }
  }

  bool IsFree(int32_t unit) const {
    for (OpId op : members_[Index(unit)]) {
      if (problem_.ops[Index(op)].on_device && problem_.ops[Index(op)].orderable) return false;
    }
    return made_bytes_[Index(unit)] == 0;
  }

  int64_t FreedBytes(int32_t unit) const {
    int64_t bytes = 0;
    for (BufferId id : reads_[Index(unit)]) {
      if (remaining_[Index(id)] == 1) bytes += problem_.buffers[Index(id)].size_bytes;
    }
    return bytes;
  }

  int64_t Priority(int32_t unit) const {
    switch (policy_) {
      case OrderPolicy::kReadyFirst:
        return 0;
      case OrderPolicy::kDepthFirst:
        return height_[Index(unit)] <= kLeafHeight ? height_[Index(unit)] : kLeafHeight + 1;
      case OrderPolicy::kGreedyBytes:
        return made_bytes_[Index(unit)] - FreedBytes(unit);
    }
    return 0;
  }

  void MakeReady(int32_t unit) {
    if (IsFree(unit)) {
      Place(unit);
      return;
    }
    ++clock_;
    const int64_t recency = policy_ == OrderPolicy::kReadyFirst ? clock_ : -clock_;
    key_[unit] = {Priority(unit), recency, unit};
    ready_.insert(key_[unit]);
  }

  void Place(int32_t first) {
    // An own stack: a chain of free units may be as long as the graph.
    std::vector<int32_t> placing = {first};
    while (!placing.empty()) {
      const int32_t unit = placing.back();
      placing.pop_back();
      order_.insert(order_.end(), members_[Index(unit)].begin(), members_[Index(unit)].end());
      for (BufferId id : reads_[Index(unit)]) UseUp(id, unit);
      std::vector<int32_t> woken;
      ForEachNext(unit, [&](int32_t next) {
        if (--waits_[Index(next)] == 0) woken.push_back(next);
      });
      // Taller units first, so that the lower ones are the more recent.
      std::stable_sort(woken.begin(), woken.end(),
                       [&](int32_t a, int32_t b) { return height_[Index(a)] > height_[Index(b)]; });
      for (int32_t next : woken) {
        if (IsFree(next)) {
          placing.push_back(next);
        } else {
          MakeReady(next);
        }
      }
    }
  }

  // One reader of the buffer has run. The last one left now frees it: its priority changes.
  void UseUp(BufferId id, int32_t reader) {
    readers_[Index(id)].erase(reader);
    if (--remaining_[Index(id)] != 1 || policy_ != OrderPolicy::kGreedyBytes) return;
    if (readers_[Index(id)].empty()) return;
    const int32_t last = *readers_[Index(id)].begin();
    const auto it = key_.find(last);
    if (it == key_.end() || ready_.erase(it->second) == 0) return;
    std::get<0>(it->second) = Priority(last);
    ready_.insert(it->second);
  }

  const Problem& problem_;
  const OrderPolicy policy_;
  std::vector<int32_t> unit_;                 // by op
  std::vector<std::vector<OpId>> members_;    // by unit
  std::vector<int32_t> waits_, height_;       // by unit
  std::vector<int64_t> made_bytes_;           // by unit
  std::vector<std::vector<BufferId>> reads_;  // by unit
  std::vector<int32_t> remaining_;            // by buffer: readers that have not run
  std::vector<std::set<int32_t>> readers_;    // by buffer: those readers
  std::set<Key> ready_;
  std::map<int32_t, Key> key_;
  std::vector<OpId> order_;
  int64_t clock_ = 0;
};

}  // namespace

std::string_view OrderPolicyName(OrderPolicy policy) {
  switch (policy) {
    case OrderPolicy::kReadyFirst:
      return "ready-first";
    case OrderPolicy::kDepthFirst:
      return "depth-first";
    case OrderPolicy::kGreedyBytes:
      return "greedy-bytes";
  }
  return "unknown";
}

std::vector<OpId> MakeOrder(const Problem& problem, OrderPolicy policy) {
  return ListScheduler(problem, policy).Run();
}

}  // namespace tflms
