// SPDX-License-Identifier: Apache-2.0
//
// Swapped buffers under a host limit. See host_room.h.

#include "src/planners/host_room.h"

#include <algorithm>
#include <vector>

#include "src/base/checked_math.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Sums over places 0 .. n - 1: add to a range, greatest of a range, each O(log n).
class RangeMax {
 public:
  explicit RangeMax(size_t n) : size_(std::max<size_t>(n, 1)) {
    added_.assign(4 * size_, 0);
    max_.assign(4 * size_, 0);
  }
  void Add(size_t from, size_t to, int64_t bytes) { Add(1, 0, size_ - 1, from, to, bytes); }
  int64_t Max(size_t from, size_t to) const { return Max(1, 0, size_ - 1, from, to); }

 private:
  void Add(size_t node, size_t low, size_t high, size_t from, size_t to, int64_t bytes) {
    if (from > high || to < low) return;
    if (from <= low && high <= to) {
      added_[node] = SaturatingAdd(added_[node], bytes);
      max_[node] = SaturatingAdd(max_[node], bytes);
      return;
    }
    const size_t middle = (low + high) / 2;
    Add(2 * node, low, middle, from, to, bytes);
    Add(2 * node + 1, middle + 1, high, from, to, bytes);
    max_[node] = SaturatingAdd(added_[node], std::max(max_[2 * node], max_[2 * node + 1]));
  }
  int64_t Max(size_t node, size_t low, size_t high, size_t from, size_t to) const {
    if (from > high || to < low) return 0;
    if (from <= low && high <= to) return max_[node];
    const size_t middle = (low + high) / 2;
    return SaturatingAdd(added_[node], std::max(Max(2 * node, low, middle, from, to),
                                                Max(2 * node + 1, middle + 1, high, from, to)));
  }

  size_t size_;
  std::vector<int64_t> added_, max_;  // by node of the tree
};

// A swapped buffer's time on the host.
struct HostStay {
  BufferId buffer = -1;
  int64_t size_bytes = 0;
  int32_t from = 0, to = 0;  // positions, both included
  double worth = 0;          // bytes x positions away from the device
};

std::vector<HostStay> FindStays(const Problem& problem, const Plan& plan) {
  const std::vector<int32_t> position = Positions(plan.order);
  std::vector<HostStay> stay_of(problem.buffers.size());
  for (const SwapGap& swap : plan.swaps) {
    const ProblemBuffer& buffer = problem.buffers[Index(swap.buffer)];
    HostStay& stay = stay_of[Index(swap.buffer)];
    const int32_t back = position[Index(swap.back_for)];
    stay.buffer = swap.buffer;
    stay.size_bytes = buffer.size_bytes;
    stay.from = position[Index(buffer.producer)];
    stay.to = std::max(stay.to, back);
    stay.worth +=
        static_cast<double>(buffer.size_bytes) * (back - position[Index(swap.leave_after)]);
  }
  std::erase_if(stay_of, [](const HostStay& stay) { return stay.buffer < 0; });
  return stay_of;
}

}  // namespace

bool KeepToHostRoom(const Problem& problem, int64_t host_bytes, Plan* plan) {
  if (host_bytes <= 0 || plan->swaps.empty()) return false;
  std::vector<HostStay> stays = FindStays(problem, *plan);
  std::stable_sort(stays.begin(), stays.end(),
                   [](const HostStay& a, const HostStay& b) { return a.worth > b.worth; });
  RangeMax host(plan->order.size());
  std::vector<bool> fits(problem.buffers.size(), false);
  for (const HostStay& stay : stays) {
    const int64_t there = host.Max(Index(stay.from), Index(stay.to));
    if (SaturatingAdd(there, stay.size_bytes) > host_bytes) continue;
    host.Add(Index(stay.from), Index(stay.to), stay.size_bytes);
    fits[Index(stay.buffer)] = true;
  }
  const size_t before = plan->swaps.size();
  std::erase_if(plan->swaps, [&](const SwapGap& swap) { return !fits[Index(swap.buffer)]; });
  return plan->swaps.size() < before;
}

}  // namespace tflms
