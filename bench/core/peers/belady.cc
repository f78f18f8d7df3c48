// SPDX-License-Identifier: Apache-2.0
//
// Furthest next use: when the next op does not fit, what is needed furthest in the future leaves.
//
//   at step p, while resident + in need of p > budget:
//     evict the resident buffer that p does not touch with the largest step of its next access
//   copies in start as early as memory allows, at most 64 steps ahead
//
// Source: Belady, "A study of replacement algorithms for a virtual-storage computer" (1966); the
// planner of SwapAdvisor (ASPLOS 2020) walks a schedule in the same way. Simplified: sizes differ
// here, so the rule is not optimal; takeovers of memory are not counted while walking. Cost:
// O(steps x resident buffers).

#include <algorithm>
#include <vector>

#include "bench/core/peers/building.h"
#include "bench/core/peers/peers.h"

namespace tflms {
namespace {

constexpr int32_t kMaxAhead = 64;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

class Walk {
 public:
  Walk(const Problem& problem, const PeerOptions& options)
      : problem_(problem),
        options_(options),
        touches_(FindTouches(problem)),
        steps_(FindSteps(problem, options.order)),
        gap_after_(problem.buffers.size()),
        used_(problem.persistent_bytes) {
    plan_ = PlanKeepAll(problem, options);
    for (const Gap& gap : FindGaps(problem, steps_, 0)) {
      gap_after_[Index(gap.buffer)].push_back(gap);
    }
    const std::vector<int32_t> position = Positions(options.order);
    for (const ProblemBuffer& buffer : problem.buffers) {
      last_.push_back(position[Index(Accesses(buffer, position).back())]);
    }
    resident_.assign(problem.buffers.size(), false);
  }

  Plan Run() {
    for (size_t p = 0; p < options_.order.size(); ++p) Step(static_cast<int32_t>(p));
    std::sort(plan_.swaps.begin(), plan_.swaps.end(), [&](const SwapGap& a, const SwapGap& b) {
      const auto key = [&](const SwapGap& s) {
        return std::pair(s.buffer, steps_.step_of_op[Index(s.back_for)]);
      };
      return key(a) < key(b);
    });
    for (size_t i = 1; i < plan_.swaps.size(); ++i) {
      if (plan_.swaps[i - 1].buffer == plan_.swaps[i].buffer) plan_.swaps[i].sync = kNoOp;
    }
    if (PlannedMemory(problem_, plan_).peak_bytes <= options_.budget_bytes) {
      RelaxPlan(problem_, steps_, options_.budget_bytes, kMaxAhead, &plan_);
    }
    return std::move(plan_);
  }

 private:
  void Step(int32_t p) {
    const OpId op = options_.order[Index(p)];
    std::vector<bool> touched(problem_.buffers.size(), false);
    int64_t need = problem_.ops[Index(op)].workspace_bytes;
    for (const auto* ids : {&touches_.reads[Index(op)], &touches_.makes[Index(op)]}) {
      for (BufferId id : *ids) {
        touched[Index(id)] = true;
        if (!resident_[Index(id)]) need += problem_.buffers[Index(id)].size_bytes;
      }
    }
    // What comes back is there while the op before its use ends.
    while (used_ + need > options_.budget_bytes && EvictOne(op, touched)) {
    }
    for (const auto* ids : {&touches_.reads[Index(op)], &touches_.makes[Index(op)]}) {
      for (BufferId id : *ids) Load(id);
    }
    for (BufferId id : live_) {
      if (last_[Index(id)] != p || problem_.buffers[Index(id)].live_at_end) continue;
      used_ -= problem_.buffers[Index(id)].size_bytes;
      resident_[Index(id)] = false;
    }
    std::erase_if(live_, [&](BufferId id) { return !resident_[Index(id)]; });
  }

  void Load(BufferId id) {
    if (resident_[Index(id)]) return;
    resident_[Index(id)] = true;
    used_ += problem_.buffers[Index(id)].size_bytes;
    live_.push_back(id);
  }

  // The gap of `id` that `step` lies in, or null.
  const Gap* GapAround(BufferId id, int32_t step) const {
    for (const Gap& gap : gap_after_[Index(id)]) {
      if (gap.leave_step < step && step < gap.back_step) return &gap;
    }
    return nullptr;
  }

  bool EvictOne(OpId op, const std::vector<bool>& touched) {
    const int32_t step = steps_.step_of_op[Index(op)];
    if (step < 0) return false;
    const Gap* best = nullptr;
    for (BufferId id : live_) {
      if (touched[Index(id)]) continue;
      const Gap* gap = GapAround(id, step);
      if (gap && (!best || gap->back_step > best->back_step)) best = gap;
    }
    if (!best) return false;
    const auto at = [&](int32_t s) { return steps_.op[Index(s)]; };
    plan_.swaps.push_back(
        {best->buffer, at(best->leave_step), at(best->back_step), at(best->back_step - 1), op});
    used_ -= problem_.buffers[Index(best->buffer)].size_bytes;
    resident_[Index(best->buffer)] = false;
    std::erase(live_, best->buffer);
    return true;
  }

  const Problem& problem_;
  const PeerOptions& options_;
  const Touches touches_;
  const Steps steps_;
  std::vector<std::vector<Gap>> gap_after_;  // by buffer
  std::vector<int32_t> last_;                // by buffer: position of its last access
  std::vector<bool> resident_;
  std::vector<BufferId> live_;  // resident, in order of arrival
  int64_t used_;
  Plan plan_;
};

}  // namespace

Plan PlanBelady(const Problem& problem, const PeerOptions& options) {
  return Walk(problem, options).Run();
}

}  // namespace tflms
