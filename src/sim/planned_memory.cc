// SPDX-License-Identifier: Apache-2.0
//
// PlannedMemory: memory by position with no clock. Each stay of a buffer on the device is an
// interval of positions; the intervals are summed by differences, O(ops + accesses * log).

#include <algorithm>

#include "src/base/checked_math.h"
#include "src/sim/residency.h"
#include "src/sim/simulator.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Sums of intervals over positions 0 .. n - 1.
class Intervals {
 public:
  explicit Intervals(size_t n) : delta_(n + 1, 0) {}
  // Adds `bytes` to the positions from .. to, both included; nothing when from > to.
  void Add(int32_t from, int32_t to, int64_t bytes) {
    if (from > to) return;
    delta_[Index(from)] += bytes;
    delta_[Index(to) + 1] -= bytes;
  }
  std::vector<int64_t> Sums(int64_t base) const {
    std::vector<int64_t> sums(delta_.size() - 1);
    int64_t at = base;
    for (size_t i = 0; i < sums.size(); ++i) {
      at = SaturatingAdd(at, delta_[i]);
      sums[i] = at;
    }
    return sums;
  }

 private:
  std::vector<int64_t> delta_;
};

}  // namespace

MemoryView PlannedMemory(const Problem& problem, const Plan& plan) {
  const int32_t n = static_cast<int32_t>(plan.order.size());
  const std::vector<int32_t> position = Positions(plan.order);
  const Residency residency = FindResidency(problem, plan, position);
  Intervals running(Index(n)), waiting(Index(n)), host(Index(n));
  for (const Stay& stay : residency.on_device) {
    running.Add(stay.from, stay.to, stay.size_bytes);
    // Made by the op at `from`: not there while that op waits, unless in the place of another.
    const bool made_here = stay.made && stay.takes_from < 0;
    const int32_t to = stay.until_sync ? stay.to + 1 : stay.to;
    waiting.Add(made_here ? stay.from + 1 : stay.from, to, stay.size_bytes);
  }
  for (const Stay& stay : residency.on_host) host.Add(stay.from, stay.to, stay.size_bytes);
  for (int32_t p = 0; p < n; ++p) {
    running.Add(p, p, problem.ops[Index(plan.order[Index(p)])].workspace_bytes);
  }
  MemoryView view;
  view.running = running.Sums(problem.persistent_bytes);
  view.waiting = waiting.Sums(problem.persistent_bytes);
  view.peak_bytes = problem.persistent_bytes;
  for (int32_t p = 0; p < n; ++p) {
    const int64_t bytes = std::max(view.running[Index(p)], view.waiting[Index(p)]);
    if (bytes > view.peak_bytes || view.peak_position < 0) {
      view.peak_bytes = std::max(view.peak_bytes, bytes);
      view.peak_position = p;
    }
  }
  view.host = host.Sums(0);
  for (int64_t bytes : view.host) view.host_peak_bytes = std::max(view.host_peak_bytes, bytes);
  return view;
}

}  // namespace tflms
