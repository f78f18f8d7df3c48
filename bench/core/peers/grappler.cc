// SPDX-License-Identifier: Apache-2.0
//
// Grappler's memory optimizer, swapping heuristics: at the peak, what was made long before and is
// used long after leaves.
//
//   fitness(x) = (first use after the peak - peak)^2 / (uses after the peak)^2 + (made - peak)^2
//   the fittest buffers leave until the peak would be under the memory; at most 25 passes, each on
//   the graph the last one gave; a buffer that was swapped is not looked at again
//   each later use has a copy in of its own, begun when the last op ends that leaves it the time at
//   16 GB/s
//
// Source: the public code of TensorFlow's memory optimizer (grappler/optimizers/memory_optimizer).
// Simplified: times are those of the order; the trigger of a copy in may be any op, not only an
// ancestor of the use; buffers up to 1 KiB and those that live for less than 1 ms are left out in
// the code: the first here too, the second only for what is not swapped across an op. Its recompute
// heuristics, which act on names of gradient nodes, are not part of this. Cost: O(25 x accesses).

#include <algorithm>
#include <vector>

#include "bench/core/peers/building.h"
#include "bench/core/peers/peers.h"

namespace tflms {
namespace {

constexpr int kPasses = 25;
constexpr int64_t kSmallBytes = 1024;
constexpr double kBytesPerMicro = 16000;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

class Optimizer {
 public:
  Optimizer(const Problem& problem, const PeerOptions& options)
      : problem_(problem),
        options_(options),
        steps_(FindSteps(problem, options.order)),
        gaps_(problem.buffers.size()),
        start_(StartTimes(problem, options.order)),
        done_(problem.buffers.size(), false) {
    for (const Gap& gap : FindGaps(problem, steps_, 0)) gaps_[Index(gap.buffer)].push_back(gap);
    plan_ = PlanKeepAll(problem, options);
  }

  Plan Run() {
    for (int pass = 0; pass < kPasses && Pass(); ++pass) {
    }
    SyncWhenNeeded(problem_, options_.budget_bytes, &plan_);
    return std::move(plan_);
  }

 private:
  struct Candidate {
    BufferId buffer;
    double fitness;
  };

  double EndOf(OpId op) const {
    return static_cast<double>(start_[Index(steps_.position[Index(op)]) + 1]);
  }

  // One pass; false when there was nothing to do.
  bool Pass() {
    Plan judged = plan_;
    SyncWhenNeeded(problem_, 0, &judged);
    const MemoryView view = PlannedMemory(problem_, judged);
    int64_t missing = view.peak_bytes - options_.budget_bytes;
    if (missing <= 0) return false;
    bool changed = false;
    for (const Candidate& candidate : Candidates(view.peak_position)) {
      Swap(candidate.buffer, view.peak_position);
      changed = true;
      missing -= problem_.buffers[Index(candidate.buffer)].size_bytes;
      if (missing < 0) break;
    }
    return changed;
  }

  std::vector<Candidate> Candidates(int32_t peak) const {
    const double peak_time = static_cast<double>(start_[Index(peak)]);
    std::vector<Candidate> candidates;
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      const ProblemBuffer& buffer = problem_.buffers[id];
      if (done_[id] || !buffer.swappable || buffer.size_bytes <= kSmallBytes) continue;
      const bool live = steps_.position[Index(buffer.producer)] <= peak;
      double earliest = 0, uses_left = 0;
      for (OpId use : buffer.uses) {
        if (steps_.position[Index(use)] <= peak) continue;
        earliest = uses_left > 0 ? std::min(earliest, EndOf(use)) : EndOf(use);
        ++uses_left;
      }
      if (!live || uses_left == 0) continue;
      const double after = earliest - peak_time, before = EndOf(buffer.producer) - peak_time;
      candidates.push_back(
          {static_cast<BufferId>(id), after * after / (uses_left * uses_left) + before * before});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.fitness > b.fitness; });
    return candidates;
  }

  void Swap(BufferId id, int32_t peak) {
    done_[Index(id)] = true;
    const double micros =
        static_cast<double>(problem_.buffers[Index(id)].size_bytes) / kBytesPerMicro;
    for (const Gap& gap : gaps_[Index(id)]) {
      const OpId back = steps_.op[Index(gap.back_step)];
      if (steps_.position[Index(back)] <= peak) continue;
      int32_t trigger = gap.back_step - 1;
      const double latest =
          static_cast<double>(start_[Index(steps_.position[Index(back)])]) - micros;
      while (trigger > gap.leave_step + 1 && EndOf(steps_.op[Index(trigger)]) > latest) --trigger;
      AddSwap(gap, steps_, trigger, false, &plan_);
    }
  }

  const Problem& problem_;
  const PeerOptions& options_;
  const Steps steps_;
  std::vector<std::vector<Gap>> gaps_;  // by buffer
  const std::vector<int64_t> start_;
  std::vector<bool> done_;
  Plan plan_;
};

}  // namespace

Plan PlanGrappler(const Problem& problem, const PeerOptions& options) {
  return Optimizer(problem, options).Run();
}

}  // namespace tflms
