// SPDX-License-Identifier: Apache-2.0
//
// Stays of buffers on device and host. See residency.h.

#include "src/sim/residency.h"

#include <algorithm>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// The plan's gaps of one buffer, in the order of their return.
std::vector<SwapGap> SortedGaps(const std::vector<SwapGap>& swaps,
                                const std::vector<int32_t>& position) {
  std::vector<SwapGap> gaps = swaps;
  std::sort(gaps.begin(), gaps.end(), [&](const SwapGap& a, const SwapGap& b) {
    if (a.buffer != b.buffer) return a.buffer < b.buffer;
    return position[Index(a.back_for)] < position[Index(b.back_for)];
  });
  return gaps;
}

}  // namespace

std::vector<BufferId> FindTakeovers(const Problem& problem, const std::vector<int32_t>& position) {
  std::vector<BufferId> giver_of(problem.buffers.size(), -1);
  std::vector<bool> taken(problem.buffers.size(), false);
  const auto qualifies = [&](const ProblemBuffer& taker, BufferId id) {
    const ProblemBuffer& giver = problem.buffers[Index(id)];
    if (taken[Index(id)] || giver.live_at_end || giver.size_bytes != taker.size_bytes) return false;
    const int32_t made = position[Index(taker.producer)];
    bool reads = false;
    for (OpId use : giver.uses) {
      if (position[Index(use)] > made) return false;
      reads = reads || use == taker.producer;
    }
    return reads;
  };
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    for (BufferId giver : problem.buffers[id].may_reuse) {
      if (!qualifies(problem.buffers[id], giver)) continue;
      giver_of[id] = giver;
      taken[Index(giver)] = true;
      break;
    }
  }
  return giver_of;
}

Residency FindResidency(const Problem& problem, const Plan& plan,
                        const std::vector<int32_t>& position) {
  Residency residency;
  const std::vector<SwapGap> gaps = SortedGaps(plan.swaps, position);
  const int32_t end = static_cast<int32_t>(plan.order.size()) - 1;
  const std::vector<BufferId> giver_of = FindTakeovers(problem, position);
  std::vector<bool> handed_on(problem.buffers.size(), false);
  for (BufferId giver : giver_of) {
    if (giver >= 0) handed_on[Index(giver)] = true;
  }
  std::vector<int64_t> first_stay(problem.buffers.size(), -1), last_stay = first_stay;
  size_t next = 0;
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    const BufferId self = static_cast<BufferId>(id);
    int32_t last = position[Index(buffer.producer)];
    for (OpId use : buffer.uses) last = std::max(last, position[Index(use)]);
    if (buffer.live_at_end) last = end;
    if (handed_on[id]) --last;
    int32_t from = position[Index(buffer.producer)];
    const int32_t first = from;
    bool on_host = false;
    int32_t host_until = 0;
    first_stay[id] = static_cast<int64_t>(residency.on_device.size());
    for (; next < gaps.size() && gaps[next].buffer == self; ++next) {
      const SwapGap& gap = gaps[next];
      const int32_t back = position[Index(gap.back_for)];
      const int32_t leave = position[Index(gap.leave_after)];
      const int32_t gone = on_host             ? leave
                           : gap.sync == kNoOp ? back
                                               : position[Index(gap.sync)] - 1;
      const int32_t again = position[Index(gap.trigger)] + 1;
      const bool until_sync = !on_host && gap.sync != kNoOp;
      on_host = true;
      host_until = back;
      if (gone >= again - 1) continue;  // no position without it
      residency.on_device.push_back({self, from, gone, buffer.size_bytes, -1, false, from == first,
                                     until_sync, std::max(from, leave)});
      from = again;
    }
    last_stay[id] = static_cast<int64_t>(residency.on_device.size());
    residency.on_device.push_back(
        {self, from, last, buffer.size_bytes, -1, false, from == first, false, last});
    if (on_host) residency.on_host.push_back({self, first, host_until, buffer.size_bytes});
  }
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    if (giver_of[id] < 0) continue;
    const size_t giver = static_cast<size_t>(last_stay[Index(giver_of[id])]);
    // A stay of no position at all: the giver came back just for this op, in the taker's memory.
    if (residency.on_device[giver].from > residency.on_device[giver].to) continue;
    residency.on_device[static_cast<size_t>(first_stay[id])].takes_from =
        static_cast<int64_t>(giver);
    residency.on_device[giver].handed_on = true;
  }
  return residency;
}

}  // namespace tflms
