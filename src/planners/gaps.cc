// SPDX-License-Identifier: Apache-2.0
//
// Finding, placing and relaxing swap gaps. See gaps.h.

#include "src/planners/gaps.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/sim/simulator.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Memory by position under change, and the swaps that cause it.
class Relaxer {
 public:
  Relaxer(const Problem& problem, const Steps& steps, std::vector<int64_t> limit_bytes, Plan* plan)
      : problem_(problem), steps_(steps), limit_bytes_(std::move(limit_bytes)), plan_(plan) {
    view_ = PlannedMemory(problem, *plan);
    first_.resize(plan->swaps.size());
    for (size_t i = 0; i < first_.size(); ++i) {
      first_[i] = i == 0 || plan->swaps[i - 1].buffer != plan->swaps[i].buffer;
    }
    keep_.assign(plan->swaps.size(), true);
  }

  void DropWhatCanStay() {
    std::vector<size_t> by_length(plan_->swaps.size());
    std::iota(by_length.begin(), by_length.end(), size_t{0});
    std::stable_sort(by_length.begin(), by_length.end(), [&](size_t a, size_t b) {
      return Length(plan_->swaps[a]) < Length(plan_->swaps[b]);
    });
    for (size_t i : by_length) {
      // The first gap holds the copy out that later gaps of the buffer live on.
      if (first_[i] && HasKeptLaterGap(i)) continue;
      if (TryStay(AwayPositions(i), Bytes(i))) keep_[i] = false;
    }
  }

  void TriggersEarlier(int32_t max_ahead) {
    for (size_t i = plan_->swaps.size(); i-- > 0;) {
      TriggerEarlier(i, Step(plan_->swaps[i].back_for) - max_ahead);
    }
  }

  // As far as the limits say, the first to return first.
  void TriggersEarlier(const std::vector<RelaxLimit>& limits) {
    std::vector<size_t> by_return(plan_->swaps.size());
    std::iota(by_return.begin(), by_return.end(), size_t{0});
    std::stable_sort(by_return.begin(), by_return.end(), [&](size_t a, size_t b) {
      return Step(plan_->swaps[a].back_for) < Step(plan_->swaps[b].back_for);
    });
    for (size_t i : by_return) TriggerEarlier(i, limits[i].earliest_trigger);
  }

  void TriggerEarlier(size_t i, int32_t earliest) {
    if (keep_[i]) {
      SwapGap& swap = plan_->swaps[i];
      const int32_t limit = swap.sync != kNoOp ? Step(swap.sync) : Step(swap.leave_after);
      int32_t trigger = Step(swap.trigger);
      while (trigger - 1 >= limit && trigger - 1 >= earliest) {
        // Back one step earlier: it is there while the present trigger op runs as well.
        const int32_t from = PositionOfStep(trigger - 1) + 1, to = PositionOfStep(trigger);
        if (!TryStay({from, to, from, to}, Bytes(i))) break;
        --trigger;
      }
      swap.trigger = steps_.op[Index(trigger)];
    }
  }

  // `limits` may be empty: as far as there is room.
  void SyncsLater(const std::vector<RelaxLimit>& limits) {
    for (size_t i = 0; i < plan_->swaps.size(); ++i) {
      if (!keep_[i] || plan_->swaps[i].sync == kNoOp) continue;
      SwapGap& swap = plan_->swaps[i];
      int32_t trigger = Step(swap.trigger);
      if (!limits.empty()) trigger = std::min(trigger, limits[i].latest_sync);
      int32_t sync = Step(swap.sync);
      while (sync < trigger) {
        const int32_t from = PositionOfStep(sync), next = PositionOfStep(sync + 1);
        if (!TryStay({from, next - 1, from + 1, next}, Bytes(i))) break;
        ++sync;
      }
      swap.sync = steps_.op[Index(sync)];
    }
  }

  void RemoveDropped() {
    std::vector<SwapGap> kept;
    for (size_t i = 0; i < plan_->swaps.size(); ++i) {
      if (keep_[i]) kept.push_back(plan_->swaps[i]);
    }
    plan_->swaps = std::move(kept);
  }

 private:
  int32_t Step(OpId op) const { return steps_.step_of_op[Index(op)]; }
  int32_t PositionOfStep(int32_t step) const {
    return steps_.position[Index(steps_.op[Index(step)])];
  }
  int32_t Length(const SwapGap& swap) const { return Step(swap.back_for) - Step(swap.leave_after); }
  int64_t Bytes(size_t i) const {
    return problem_.buffers[Index(plan_->swaps[i].buffer)].size_bytes;
  }
  bool HasKeptLaterGap(size_t i) const {
    for (size_t j = i + 1; j < plan_->swaps.size(); ++j) {
      if (plan_->swaps[j].buffer != plan_->swaps[i].buffer) return false;
      if (keep_[j]) return true;
    }
    return false;
  }
  // Where a buffer that is away would be if it stayed: positions in the `running` and in the
  // `waiting` view, ends included.
  struct Away {
    int32_t running_from, running_to, waiting_from, waiting_to;
  };
  Away AwayPositions(size_t i) const {
    const SwapGap& swap = plan_->swaps[i];
    const int32_t back = steps_.position[Index(swap.trigger)];
    if (!first_[i]) {
      const int32_t from = steps_.position[Index(swap.leave_after)] + 1;
      return {from, back, from, back};
    }
    // Without anyone waiting it may never have been away.
    if (swap.sync == kNoOp) return {1, 0, 1, 0};
    const int32_t from = steps_.position[Index(swap.sync)];
    return {from, back, from + 1, back};
  }
  // Adds `bytes` at those positions if the budget allows it at all of them.
  bool TryStay(const Away& away, int64_t bytes) {
    const auto fits = [&](const std::vector<int64_t>& at, int32_t from, int32_t to) {
      for (int32_t p = from; p <= to; ++p) {
        if (at[Index(p)] + bytes > limit_bytes_[Index(p)]) return false;
      }
      return true;
    };
    if (!fits(view_.running, away.running_from, away.running_to)) return false;
    if (!fits(view_.waiting, away.waiting_from, away.waiting_to)) return false;
    for (int32_t p = away.running_from; p <= away.running_to; ++p) view_.running[Index(p)] += bytes;
    for (int32_t p = away.waiting_from; p <= away.waiting_to; ++p) view_.waiting[Index(p)] += bytes;
    return true;
  }

  const Problem& problem_;
  const Steps& steps_;
  const std::vector<int64_t> limit_bytes_;  // by position
  Plan* plan_;
  MemoryView view_;
  std::vector<bool> first_;  // by swap: first of its buffer
  std::vector<bool> keep_;   // by swap
};

}  // namespace

Steps FindSteps(const Problem& problem, const std::vector<OpId>& order) {
  Steps steps;
  steps.position = Positions(order);
  steps.step_of_op.assign(problem.ops.size(), -1);
  for (OpId op : order) {
    const ProblemOp& info = problem.ops[Index(op)];
    if (!info.on_device || !info.orderable) continue;
    steps.step_of_op[Index(op)] = static_cast<int32_t>(steps.op.size());
    steps.op.push_back(op);
  }
  return steps;
}

std::vector<Gap> FindGaps(const Problem& problem, const Steps& steps, int64_t min_bytes) {
  std::vector<Gap> gaps;
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    if (!buffer.swappable || buffer.size_bytes < min_bytes) continue;
    const std::vector<OpId> accesses = Accesses(buffer, steps.position);
    int32_t held = -1;  // position of the last op that holds it
    for (OpId hold : buffer.holds) held = std::max(held, steps.position[Index(hold)]);
    for (size_t i = 0; i + 1 < accesses.size(); ++i) {
      if (steps.position[Index(accesses[i])] < held) continue;
      const int32_t leave = steps.step_of_op[Index(accesses[i])];
      const int32_t back = steps.step_of_op[Index(accesses[i + 1])];
      if (leave < 0 || back < 0) continue;
      gaps.push_back({static_cast<BufferId>(id), leave, back, false});
    }
  }
  return gaps;
}

bool PlaceGap(const Gap& gap, const Steps& steps, int32_t ahead, bool synchronise,
              SwapGap* placed) {
  const int32_t earliest = gap.first && synchronise ? gap.leave_step + 1 : gap.leave_step;
  const int32_t trigger = std::max(earliest, gap.back_step - std::max(ahead, 1));
  // The trigger must come later than the access before, or the buffer is never away.
  if (trigger >= gap.back_step || trigger <= gap.leave_step) return false;
  placed->buffer = gap.buffer;
  placed->leave_after = steps.op[Index(gap.leave_step)];
  placed->back_for = steps.op[Index(gap.back_step)];
  placed->trigger = steps.op[Index(trigger)];
  placed->sync = gap.first && synchronise ? steps.op[Index(gap.leave_step + 1)] : kNoOp;
  return true;
}

void RelaxPlan(const Problem& problem, const Steps& steps, int64_t budget_bytes, int32_t max_ahead,
               Plan* plan) {
  Relaxer relaxer(problem, steps, std::vector<int64_t>(plan->order.size(), budget_bytes), plan);
  relaxer.DropWhatCanStay();
  relaxer.TriggersEarlier(max_ahead);
  relaxer.SyncsLater({});
  relaxer.RemoveDropped();
}

void RelaxPlanTo(const Problem& problem, const Steps& steps, std::vector<int64_t> limit_bytes,
                 const std::vector<RelaxLimit>& limits, Plan* plan) {
  Relaxer relaxer(problem, steps, std::move(limit_bytes), plan);
  relaxer.DropWhatCanStay();
  relaxer.SyncsLater(limits);
  relaxer.TriggersEarlier(limits);
  relaxer.RemoveDropped();
}

}  // namespace tflms
