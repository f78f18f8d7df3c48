// SPDX-License-Identifier: Apache-2.0
//
// Choices weighed against one another. See explain.h.

#include "src/rewrite/explain.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "src/base/checked_math.h"
#include "src/sim/clones.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

constexpr size_t kMaxGaps = 8;  // the longest ones

// What is looked at to tell the better of two choices; smaller is better.
auto Rank(const Alternative& choice) {
  return std::tuple(!choice.possible, !choice.fits, choice.figures.time_us,
                    choice.figures.peak_bytes);
}

class Weigher {
 public:
  Weigher(const Problem& problem, const Machine& machine, int64_t budget_bytes)
      : problem_(problem), machine_(machine), budget_bytes_(budget_bytes) {}

  Alternative Weigh(Fate fate, const AccessGap& gap, const Result<Plan>& plan) const {
    Alternative choice;
    choice.fate = fate;
    choice.gap = gap;
    choice.possible = plan.ok();
    if (!plan.ok()) {
      choice.why_not = plan.status().message();
      return choice;
    }
    choice.figures = FiguresOf(problem_, *plan, machine_);
    choice.fits = budget_bytes_ == 0 || choice.figures.peak_bytes <= budget_bytes_;
    return choice;
  }

  // The best gap to swap or recompute the tensor in, which `kept` keeps.
  Alternative BestOf(Fate fate, const Plan& kept, BufferId buffer) const {
    Alternative best;
    best.fate = fate;
    best.why_not = "it has no gap between two uses";
    const auto take = [&](Alternative choice) {
      if (best.gap.back_for == kNoOp || Rank(choice) < Rank(best)) best = std::move(choice);
    };
    for (const AccessGap& gap : LongestGaps(kept, buffer)) {
      if (fate == Fate::kRecomputed) {
        take(Weigh(fate, gap, RecomputeTensor(problem_, kept, buffer, gap)));
        continue;
      }
      // Early enough to hide the copy, and as late as can be.
      take(Weigh(fate, gap, SwapTensor(problem_, kept, buffer, gap, machine_)));
      take(Weigh(fate, gap, SwapTensor(problem_, kept, buffer, gap, Machine())));
    }
    return best;
  }

 private:
  std::vector<AccessGap> LongestGaps(const Plan& kept, BufferId buffer) const {
    const std::vector<int32_t> position = Positions(kept.order);
    std::vector<AccessGap> gaps = GapsOf(problem_, kept, buffer);
    std::stable_sort(gaps.begin(), gaps.end(), [&](const AccessGap& a, const AccessGap& b) {
      return position[Index(a.back_for)] - position[Index(a.leave_after)] >
             position[Index(b.back_for)] - position[Index(b.leave_after)];
    });
    gaps.resize(std::min(gaps.size(), kMaxGaps));
    return gaps;
  }

  const Problem& problem_;
  const Machine& machine_;
  const int64_t budget_bytes_;
};

}  // namespace

PlanFigures FiguresOf(const Problem& problem, const Plan& plan, const Machine& machine) {
  const Problem expanded = Expand(problem, plan).problem;
  const MemoryView memory = PlannedMemory(expanded, plan);
  const SimulationResult result = Simulate(expanded, plan, machine);
  PlanFigures figures;
  figures.peak_bytes = memory.peak_bytes;
  figures.host_peak_bytes = memory.host_peak_bytes;
  figures.time_us = result.time_us;
  figures.stall_us = result.stall_us;
  figures.out_bytes = result.out_bytes;
  figures.in_bytes = result.in_bytes;
  for (OpId source : plan.clones) {
    figures.recompute_us = SaturatingAdd(figures.recompute_us, problem.ops[Index(source)].time_us);
  }
  figures.bottleneck = result.stall_us > 0 ? result.worst_stall_op : kNoOp;
  figures.bottleneck_waits = figures.bottleneck != kNoOp;
  if (!figures.bottleneck_waits && memory.peak_position >= 0) {
    figures.bottleneck = plan.order[Index(memory.peak_position)];
  }
  if (figures.bottleneck != kNoOp && Index(figures.bottleneck) >= problem.ops.size()) {
    figures.bottleneck = plan.clones[Index(figures.bottleneck) - problem.ops.size()];
  }
  return figures;
}

TensorExplanation ExplainTensor(const Problem& problem, const Plan& plan, BufferId buffer,
                                const Machine& machine, int64_t budget_bytes) {
  const Weigher weigher(problem, machine, budget_bytes);
  TensorExplanation explanation;
  explanation.fate = FateOf(plan, buffer);
  explanation.now = FiguresOf(problem, plan, machine);
  const Result<Plan> kept = KeepTensor(problem, plan, buffer);
  for (const Fate fate : {Fate::kKept, Fate::kSwapped, Fate::kRecomputed}) {
    if (fate == explanation.fate) continue;
    explanation.others.push_back(fate == Fate::kKept || !kept.ok()
                                     ? weigher.Weigh(fate, {}, kept)
                                     : weigher.BestOf(fate, *kept, buffer));
  }
  std::stable_sort(explanation.others.begin(), explanation.others.end(),
                   [](const Alternative& a, const Alternative& b) { return Rank(a) < Rank(b); });
  return explanation;
}

}  // namespace tflms
