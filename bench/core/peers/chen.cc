// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: of the forward part only some results stay, the segments between them run again when
// the backward part first needs something of them, each once.
//
//   sqrt     every k-th forward op is a checkpoint, k = floor(sqrt(n))
//   greedy   the op at which a segment's bytes pass b is one; of 60 values of b, 0 .. 3 x the peak
//            of the sqrt rule, the fastest plan that fits, or the one with the smallest peak
//
// Source: Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost" (2016); the
// sweep over b is that of Checkmate's public evaluation. Simplified: any forward op may be a
// checkpoint, also where the graph has parallel branches ("linearised" in Checkmate's words); a
// checkpoint leaves when its last reader has run. Cost: O(values of b x (ops + accesses)).

#include <cmath>
#include <functional>
#include <limits>

#include "bench/core/peers/building.h"
#include "bench/core/peers/peers.h"

namespace tflms {
namespace {

constexpr int kSweep = 60;
constexpr double kSweepEnd = 3;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Forward ops with results, in order.
std::vector<OpId> ForwardOps(const Problem& problem, const PeerOptions& options, int32_t turn) {
  const Touches touches = FindTouches(problem);
  std::vector<OpId> ops;
  for (int32_t p = 0; p <= turn; ++p) {
    const OpId op = options.order[Index(p)];
    if (problem.ops[Index(op)].on_device && !touches.makes[Index(op)].empty()) ops.push_back(op);
  }
  return ops;
}

// The plan with those checkpoints; the ops behind the last one keep what they make.
Plan WithCheckpoints(const Problem& problem, const PeerOptions& options,
                     const std::vector<OpId>& forward, int32_t turn,
                     const std::vector<bool>& checkpoint) {
  TraceBuilder builder(problem, options.order);
  const std::vector<int32_t> position = Positions(options.order);
  const Touches touches = FindTouches(problem);
  std::vector<OpId> segment;
  for (OpId op : forward) {
    if (!checkpoint[Index(op)]) {
      segment.push_back(op);
      continue;
    }
    for (OpId member : segment) {
      for (BufferId id : touches.makes[Index(member)]) {
        const std::vector<OpId> accesses = Accesses(problem.buffers[Index(id)], position);
        OpId leave = accesses.front();
        for (OpId access : accesses) {
          if (position[Index(access)] <= turn) leave = access;
        }
        if (position[Index(accesses.back())] > turn) builder.Drop(id, leave);
      }
    }
    builder.AddSegment(segment);
    segment.clear();
  }
  return PlanFromTrace(problem, builder.Build());
}

}  // namespace

Plan PlanChenSqrt(const Problem& problem, const PeerOptions& options) {
  const int32_t turn = FindTurn(problem, options.order);
  const std::vector<OpId> forward = ForwardOps(problem, options, turn);
  const size_t k = static_cast<size_t>(std::sqrt(static_cast<double>(forward.size())));
  std::vector<bool> checkpoint(problem.ops.size(), false);
  for (size_t i = 0; i < forward.size(); ++i) checkpoint[Index(forward[i])] = (i + 1) % k == 0;
  return WithCheckpoints(problem, options, forward, turn, checkpoint);
}

Plan PlanChenGreedy(const Problem& problem, const PeerOptions& options) {
  const int32_t turn = FindTurn(problem, options.order);
  const std::vector<OpId> forward = ForwardOps(problem, options, turn);
  const Touches touches = FindTouches(problem);
  const double base = static_cast<double>(PeakOf(problem, PlanChenSqrt(problem, options)) -
                                          problem.persistent_bytes);
  Plan best;
  int64_t best_peak = std::numeric_limits<int64_t>::max(), best_time = best_peak;
  for (int value = 0; value < kSweep; ++value) {
    const double limit = base * kSweepEnd * value / kSweep;
    std::vector<bool> checkpoint(problem.ops.size(), false);
    double bytes = 0;
    for (OpId op : forward) {
      for (BufferId id : touches.makes[Index(op)]) {
        bytes += static_cast<double>(problem.buffers[Index(id)].size_bytes);
      }
      if (bytes <= limit) continue;
      checkpoint[Index(op)] = true;
      bytes = 0;
    }
    Plan plan = WithCheckpoints(problem, options, forward, turn, checkpoint);
    const int64_t peak = PeakOf(problem, plan);
    const int64_t time = SimulateExpanded(problem, plan, options.machine).time_us;
    const bool fits = peak <= options.budget_bytes, fitted = best_peak <= options.budget_bytes;
    const bool better = fits != fitted ? fits : fits ? time < best_time : peak < best_peak;
    if (!better) continue;
    best = std::move(plan);
    best_peak = peak;
    best_time = time;
  }
  return best;
}

}  // namespace tflms
