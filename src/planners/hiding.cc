// SPDX-License-Identifier: Apache-2.0
//
// HidingLimits: how far apart from its ends a gap's copies have to lie to cost nothing. See gaps.h.
//
//   out   done(i) = max(end(producer i), done(i - 1)) + bytes / rate          by producer
//   in    start(i) = min(start(use i), start(i + 1)) - bytes / rate           by use, from the last

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "src/planners/gaps.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

int64_t CopyMicros(int64_t bytes, double bytes_per_us) {
  return bytes_per_us > 0
             ? static_cast<int64_t>(std::ceil(static_cast<double>(bytes) / bytes_per_us))
             : 0;
}

// When each op starts and ends in a run without waiting, by position.
struct Clock {
  std::vector<int64_t> start_us, end_us;
};

Clock MakeClock(const Problem& problem, const std::vector<OpId>& order) {
  Clock clock;
  int64_t now_us = 0;
  for (OpId op : order) {
    clock.start_us.push_back(now_us);
    if (problem.ops[Index(op)].on_device) now_us += problem.ops[Index(op)].time_us;
    clock.end_us.push_back(now_us);
  }
  return clock;
}

}  // namespace

std::vector<RelaxLimit> HidingLimits(const Problem& problem, const Steps& steps,
                                     const Machine& machine, const Plan& plan) {
  const Clock clock = MakeClock(problem, plan.order);
  const auto position = [&](OpId op) { return Index(steps.position[Index(op)]); };
  const auto bytes = [&](size_t i) {
    return problem.buffers[Index(plan.swaps[i].buffer)].size_bytes;
  };
  std::vector<size_t> swaps(plan.swaps.size());
  std::iota(swaps.begin(), swaps.end(), size_t{0});
  std::vector<RelaxLimit> limits(swaps.size());

  const auto producer = [&](size_t i) {
    return position(problem.buffers[Index(plan.swaps[i].buffer)].producer);
  };
  std::stable_sort(swaps.begin(), swaps.end(),
                   [&](size_t a, size_t b) { return producer(a) < producer(b); });
  int64_t done_us = 0;
  for (size_t i : swaps) {
    if (plan.swaps[i].sync == kNoOp) continue;
    done_us = std::max(done_us, clock.end_us[producer(i)]) +
              CopyMicros(bytes(i), machine.out_bytes_per_us);
    const auto sync = std::partition_point(steps.op.begin(), steps.op.end(), [&](OpId step) {
      return clock.start_us[position(step)] < done_us;
    });
    limits[i].latest_sync = static_cast<int32_t>(sync - steps.op.begin());
  }

  const auto use = [&](size_t i) { return position(plan.swaps[i].back_for); };
  std::stable_sort(swaps.begin(), swaps.end(), [&](size_t a, size_t b) { return use(a) > use(b); });
  int64_t start_us = std::numeric_limits<int64_t>::max();
  for (size_t i : swaps) {
    start_us =
        std::min(start_us, clock.start_us[use(i)]) - CopyMicros(bytes(i), machine.in_bytes_per_us);
    const auto behind = std::partition_point(steps.op.begin(), steps.op.end(), [&](OpId step) {
      return clock.end_us[position(step)] <= start_us;
    });
    limits[i].earliest_trigger = static_cast<int32_t>(behind - steps.op.begin()) - 1;
  }
  return limits;
}

}  // namespace tflms
