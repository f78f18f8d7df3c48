// SPDX-License-Identifier: Apache-2.0
//
// TFLMS v2: swap by distance in topological levels.
//
//   a buffer made at level a leaves for its uses at levels b with b - a > threshold; such uses no
//   further apart than `groupby` share one copy in, begun by an op `ahead` levels before the first
//   sync mode 0: nobody waits for copies; 1, 3: the next op waits for the copy out; 2, 3: the copy
//   in is waited for at once (here: it starts one op ahead)
//   auto-tuner, against 0.9 of the memory: nothing, when that fits; else the least sync mode that
//   fits with threshold 1, ahead 1 and groupby 0, and for it, by bisection, the largest threshold,
//   then the largest ahead, then a groupby
//
// Source: Le, Imai, Negishi, Kawachiya, "Automatic GPU memory management for large neural models in
// TensorFlow" (ISMM 2019); public code tensorflow-large-model-support 2.0. Simplified: levels are
// of the problem's ops; the tuner's simulator is ours, under the slowest copies where the next op
// waits for the copy out, else with copies that take no time; no serialization; without a setting
// that fits: threshold 1 in sync mode 3. Cost: O(log levels) plans.

#include <algorithm>
#include <utility>

#include "bench/core/peers/building.h"
#include "bench/core/peers/peers.h"

namespace tflms {
namespace {

constexpr double kMemoryPart = 0.9;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

struct Setting {
  int32_t threshold = 1, ahead = 1, groupby = 0, sync = 0;
};

class Tuner {
 public:
  Tuner(const Problem& problem, const PeerOptions& options)
      : problem_(problem),
        options_(options),
        steps_(FindSteps(problem, options.order)),
        gaps_(FindGaps(problem, steps_, 0)),
        level_(problem.ops.size(), 0) {
    for (OpId op : options.order) {
      for (OpId next : problem.successors[Index(op)]) {
        level_[Index(next)] = std::max(level_[Index(next)], level_[Index(op)] + 1);
      }
      levels_ = std::max(levels_, level_[Index(op)] + 1);
    }
  }

  Plan Run() {
    const Plan keep = PlanKeepAll(problem_, options_);
    if (Fits(keep)) return keep;
    Setting setting;
    while (!Passes(setting)) {
      if (setting.sync == 3) return Finished(setting);
      ++setting.sync;
    }
    Bisect(&Setting::threshold, 1, &setting);
    if (setting.sync < 2) {
      Bisect(&Setting::ahead, 1, &setting);
      Setting grouped = setting;
      grouped.groupby = levels_;
      if (Passes(grouped)) setting = grouped;
    }
    return Finished(setting);
  }

 private:
  int32_t LevelOfStep(int32_t step) const { return level_[Index(steps_.op[Index(step)])]; }

  // The latest step between the gap's ends whose level is `ahead` levels before the use.
  int32_t TriggerStep(const Gap& gap, int32_t ahead) const {
    int32_t step = gap.back_step - 1;
    const int32_t wanted = LevelOfStep(gap.back_step) - ahead;
    while (step > gap.leave_step + 1 && LevelOfStep(step) > wanted) --step;
    return step;
  }

  Plan Swapped(const Setting& setting) const {
    Plan plan = PlanKeepAll(problem_, options_);
    const bool wait_in = setting.sync >= 2, wait_out = setting.sync == 1 || setting.sync == 3;
    BufferId last = -1;
    for (const Gap& gap : gaps_) {
      const int32_t made = level_[Index(problem_.buffers[Index(gap.buffer)].producer)];
      const int32_t back = LevelOfStep(gap.back_step);
      if (back - made <= setting.threshold) continue;
      // Behind the first far use: uses of one group share the copy that is there.
      if (gap.buffer == last && back - LevelOfStep(gap.leave_step) <= setting.groupby) continue;
      const int32_t trigger = wait_in ? gap.back_step - 1 : TriggerStep(gap, setting.ahead);
      const size_t before = plan.swaps.size();
      AddSwap(gap, steps_, trigger, wait_out && gap.buffer != last, &plan);
      if (plan.swaps.size() > before) last = gap.buffer;
    }
    return plan;
  }

  bool Fits(const Plan& plan) const {
    const double limit = kMemoryPart * static_cast<double>(options_.budget_bytes);
    return static_cast<double>(PlannedMemory(problem_, plan).peak_bytes) <= limit;
  }

  bool Passes(const Setting& setting) const {
    Plan plan = Swapped(setting);
    SyncWhenNeeded(problem_, 0, &plan);
    return Fits(plan);
  }

  void Bisect(int32_t Setting::*field, int32_t low, Setting* setting) const {
    int32_t high = levels_;
    while (low <= high) {
      Setting tried = *setting;
      tried.*field = low + (high - low) / 2;
      if (Passes(tried)) {
        *setting = tried;
        low = tried.*field + 1;
      } else {
        high = tried.*field - 1;
      }
    }
  }

  Plan Finished(const Setting& setting) const {
    Plan plan = Swapped(setting);
    SyncWhenNeeded(problem_, options_.budget_bytes, &plan);
    return plan;
  }

  const Problem& problem_;
  const PeerOptions& options_;
  const Steps steps_;
  const std::vector<Gap> gaps_;
  std::vector<int32_t> level_;
  int32_t levels_ = 0;
};

}  // namespace

Plan PlanTflmsV2(const Problem& problem, const PeerOptions& options) {
  return Tuner(problem, options).Run();
}

}  // namespace tflms
