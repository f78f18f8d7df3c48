// SPDX-License-Identifier: Apache-2.0
//
// Capuchin: swap while copies hide behind compute, then the cheaper of swapping and recomputing.
//
//   free time(gap) = (time of the next access - copy in) - (time of the last access + copy out)
//                    and not more than the lanes have left: the copies in between the peak and
//                    each use, and the copies out before the peak, must fit between them
//   at the peak, until enough bytes are saved:
//     1. gaps by falling free time, as long as it is not negative: swap, the copy in begins when
//        the last op ends that leaves it its time
//     2. the others by rising cost for a byte (the inverse of memory saving per second), cost =
//        min(time that the swap leaves uncovered, time to make the buffer again from what is there)
//   repeated on the new peak
//
// Source: Peng et al., "Capuchin: tensor-based GPU memory management for deep learning"
// (ASPLOS 2020). Simplified: access times are those of the order, not measured; feedback on the
// copy in's start is left out; costs of recomputing are not updated when a source is dropped later.
// Cost: O(rounds x (ops + accesses)).

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "bench/core/peers/building.h"
#include "bench/core/peers/peers.h"
#include "src/sim/clones.h"

namespace tflms {
namespace {

constexpr int kRounds = 200;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

struct Candidate {
  Gap gap;
  int64_t free_us = 0;        // negative: so much of the swap is not hidden
  int64_t recompute_us = -1;  // -1: cannot be made again
  int64_t cost_us() const {
    const int64_t exposed = std::max<int64_t>(0, -free_us);
    return recompute_us < 0 ? exposed : std::min(exposed, recompute_us);
  }
};

class Capuchin {
 public:
  Capuchin(const Problem& problem, const PeerOptions& options)
      : problem_(problem),
        options_(options),
        touches_(FindTouches(problem)),
        steps_(FindSteps(problem, options.order)),
        gaps_(FindGaps(problem, steps_, 0)),
        start_(StartTimes(problem, options.order)),
        decided_(gaps_.size(), false) {}

  Plan Run() {
    Plan plan = Build();
    for (int round = 0; round < kRounds; ++round) {
      const Problem expanded = Expand(problem_, plan).problem;
      Plan judged = plan;
      SyncWhenNeeded(expanded, 0, &judged);
      const MemoryView view = PlannedMemory(expanded, judged);
      if (view.peak_bytes <= options_.budget_bytes) break;
      if (!Decide(StepAt(plan, view.peak_position), view.peak_bytes - options_.budget_bytes)) break;
      plan = Build();
    }
    SyncWhenNeeded(Expand(problem_, plan).problem, options_.budget_bytes, &plan);
    return plan;
  }

 private:
  int64_t StartOf(int32_t step) const {
    return start_[Index(steps_.position[Index(steps_.op[Index(step)])])];
  }
  int64_t EndOf(int32_t step) const {
    return start_[Index(steps_.position[Index(steps_.op[Index(step)])]) + 1];
  }
  int64_t Bytes(const Gap& gap) const { return problem_.buffers[Index(gap.buffer)].size_bytes; }

  // The step of the original order that the op at `position` of the plan is, or runs before.
  int32_t StepAt(const Plan& plan, int32_t position) const {
    for (size_t p = Index(position); p < plan.order.size(); ++p) {
      const OpId op = plan.order[p];
      if (Index(op) < problem_.ops.size() && steps_.step_of_op[Index(op)] >= 0) {
        return steps_.step_of_op[Index(op)];
      }
    }
    return static_cast<int32_t>(steps_.op.size()) - 1;
  }

  // What of the time from `peak` to its next use is left of the copies in of the swaps chosen
  // before and of `gap`, for the use that has least left; and the same for copies out before the
  // peak.
  int64_t LaneRoom(const Gap& gap, int32_t peak) const {
    std::vector<Gap> backs = {gap};
    for (const Gap& other : swapped_) {
      if (other.leave_step < peak && peak < other.back_step) backs.push_back(other);
    }
    std::vector<Gap> leaves = backs;
    std::sort(backs.begin(), backs.end(),
              [](const Gap& x, const Gap& y) { return x.back_step < y.back_step; });
    std::sort(leaves.begin(), leaves.end(),
              [](const Gap& x, const Gap& y) { return x.leave_step > y.leave_step; });
    int64_t room = std::numeric_limits<int64_t>::max(), in = 0, out = 0;
    for (const Gap& each : backs) {
      in += CopyMicros(Bytes(each), options_.machine.in_bytes_per_us);
      if (each.back_step < gap.back_step) continue;
      room = std::min(room, StartOf(each.back_step) - StartOf(peak) - in);
    }
    for (const Gap& each : leaves) {
      out += CopyMicros(Bytes(each), options_.machine.out_bytes_per_us);
      if (each.leave_step > gap.leave_step) continue;
      room = std::min(room, StartOf(peak) - EndOf(each.leave_step) - out);
    }
    return room;
  }

  Candidate Judge(const Gap& gap, int32_t peak) const {
    const int64_t bytes = Bytes(gap);
    Candidate candidate{gap, 0, -1};
    candidate.free_us = StartOf(gap.back_step) - EndOf(gap.leave_step) -
                        CopyMicros(bytes, options_.machine.in_bytes_per_us) -
                        CopyMicros(bytes, options_.machine.out_bytes_per_us);
    candidate.free_us = std::min(candidate.free_us, LaneRoom(gap, peak));
    std::set<OpId> runs;
    if (Closure(gap.buffer, gap.back_step, &runs)) {
      candidate.recompute_us = 0;
      for (OpId op : runs) candidate.recompute_us += problem_.ops[Index(op)].time_us;
    }
    return candidate;
  }

  // Collects the ops that make `id` again at `step`; false when one of them may not run again.
  bool Closure(BufferId id, int32_t step, std::set<OpId>* runs) const {
    const ProblemBuffer& buffer = problem_.buffers[Index(id)];
    const OpId op = buffer.producer;
    if (!buffer.recomputable || !problem_.ops[Index(op)].repeatable) return false;
    if (!runs->insert(op).second) return true;
    for (BufferId input : touches_.reads[Index(op)]) {
      if (!HereAt(input, step) && !Closure(input, step, runs)) return false;
    }
    return true;
  }

  bool HereAt(BufferId id, int32_t step) const {
    const ProblemBuffer& buffer = problem_.buffers[Index(id)];
    for (const auto& [gap, recompute] : chosen_) {
      if (gap.buffer == id && gap.leave_step < step && step < gap.back_step) return false;
    }
    const int32_t position = steps_.position[Index(steps_.op[Index(step)])];
    for (OpId use : buffer.uses) {
      if (steps_.position[Index(use)] >= position) return true;
    }
    return buffer.live_at_end;
  }

  // Takes decisions that save `missing` bytes at `peak`; false when there are none.
  bool Decide(int32_t peak, int64_t missing) {
    std::vector<std::pair<Candidate, size_t>> candidates;
    for (size_t i = 0; i < gaps_.size(); ++i) {
      const Gap& gap = gaps_[i];
      const bool around = gap.leave_step < peak && peak < gap.back_step && gap.distance() >= 2;
      if (around && !decided_[i]) candidates.push_back({Judge(gap, peak), i});
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
      return a.first.free_us > b.first.free_us;
    });
    bool any = false;
    const auto take = [&](const Candidate& candidate, size_t i, bool recompute) {
      decided_[i] = any = true;
      chosen_.push_back({candidate.gap, recompute});
      if (!recompute) swapped_.push_back(candidate.gap);
      missing -= Bytes(candidate.gap);
    };
    for (const auto& [candidate, i] : candidates) {
      if (missing <= 0) return any;
      if (Judge(candidate.gap, peak).free_us >= 0) take(candidate, i, false);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
      return static_cast<double>(a.first.cost_us()) / static_cast<double>(Bytes(a.first.gap)) <
             static_cast<double>(b.first.cost_us()) / static_cast<double>(Bytes(b.first.gap));
    });
    for (const auto& [candidate, i] : candidates) {
      if (missing <= 0) break;
      if (decided_[i]) continue;
      const Candidate now = Judge(candidate.gap, peak);
      take(now, i, now.recompute_us >= 0 && now.recompute_us < -now.free_us);
    }
    return any;
  }

  Plan Build() const {
    TraceBuilder builder(problem_, options_.order);
    for (const auto& [gap, recompute] : chosen_) {
      if (recompute) builder.Drop(gap.buffer, steps_.op[Index(gap.leave_step)]);
    }
    Plan plan = PlanFromTrace(problem_, builder.Build());
    const Problem expanded = Expand(problem_, plan).problem;
    const Steps steps = FindSteps(expanded, plan.order);
    const std::vector<int64_t> start = StartTimes(expanded, plan.order);
    std::set<std::pair<BufferId, OpId>> wanted;
    for (const Gap& gap : swapped_) {
      wanted.insert({gap.buffer, steps_.op[Index(gap.back_step)]});
    }
    for (const Gap& gap : FindGaps(expanded, steps, 0)) {
      const OpId back = steps.op[Index(gap.back_step)];
      if (!wanted.contains({gap.buffer, back})) continue;
      const int64_t latest = start[Index(steps.position[Index(back)])] -
                             CopyMicros(expanded.buffers[Index(gap.buffer)].size_bytes,
                                        options_.machine.in_bytes_per_us);
      int32_t trigger = gap.back_step - 1;
      while (trigger > gap.leave_step + 1 &&
             start[Index(steps.position[Index(steps.op[Index(trigger)])]) + 1] > latest) {
        --trigger;
      }
      AddSwap(gap, steps, trigger, false, &plan);
    }
    return plan;
  }

  const Problem& problem_;
  const PeerOptions& options_;
  const Touches touches_;
  const Steps steps_;
  const std::vector<Gap> gaps_;
  const std::vector<int64_t> start_;
  std::vector<bool> decided_;                 // by gap
  std::vector<std::pair<Gap, bool>> chosen_;  // with: recompute
  std::vector<Gap> swapped_;
};

}  // namespace

Plan PlanCapuchin(const Problem& problem, const PeerOptions& options) {
  return Capuchin(problem, options).Run();
}

}  // namespace tflms
