// SPDX-License-Identifier: Apache-2.0
//
// Planner "level-distance": what is far in levels leaves, and comes back a set number of levels
// ahead of its use.
//
//   swap every gap with distance > threshold (gaps behind a buffer's first one: > groupby);
//   copy in starts `ahead` levels before the use
//
// With a budget, nothing is done that is not needed:
//   1. no plan, when the budget holds in any order;
//   2. a pinned order and no swap, when one of the orders keeps under it;
//   3. else the largest threshold, and for it the largest ahead, whose peak under the slowest
//   copies
//      fits, with the swaps that turn out to be unneeded dropped again;
//   4. when none fits: the plan with the smallest peak.
// Fragmentation counts: a plan of 2 or 3 must also pass replays in the model of TensorFlow's
// allocator (src/sim/bfc.h), within the budget or, when no plan does, within the device's memory.
// Swaps are dropped only as far as it still does.
// With a host limit, each of these plans swaps what has room there (host_room.h).
// Without a budget, or with threshold or ahead given, the search is over what is not given, and the
// smallest peak wins.
//
// The policy follows TFLMS v2 (thresholds in topological levels); orders and search are ours.
// Cost: orders x thresholds x aheads (3 x 13 x 3) plans of O((ops + accesses) log) each, and for
// each that fits up to 5 x 24 replays of 3 steps; a plan that fails does so in one of the first,
// mostly.

#include "src/planners/level_distance.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "src/base/checked_math.h"
#include "src/planners/gaps.h"
#include "src/planners/host_room.h"
#include "src/planners/order.h"
#include "src/sim/bfc.h"
#include "src/sim/simulator.h"

namespace tflms {
namespace {

constexpr int32_t kThresholds[] = {4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1};
constexpr int32_t kAheads[] = {4, 2, 1};
constexpr int32_t kMaxAhead = 16;  // how far a trigger may be relaxed
constexpr int kRelaxParts = 4;     // steps in which the room under the budget is given up

struct Candidate {
  Plan plan;
  bool fits = false;  // keeps under the budget, also in the replays
  int64_t peak_bytes = std::numeric_limits<int64_t>::max();
  int64_t swap_bytes = 0;
};

bool Late(const PlannerOptions& options) {
  return std::chrono::steady_clock::now() >= options.deadline;
}

// One order and everything that is fixed once the order is.
struct Course {
  std::vector<OpId> order;
  Steps steps;
  std::vector<Gap> gaps;
  int64_t peak_bytes = 0;  // without swaps
  int32_t peak_position = 0;
};

std::vector<Course> MakeCourses(const Problem& problem, const PlannerOptions& options) {
  std::vector<Course> courses;
  for (OrderPolicy policy : kOrderPolicies) {
    Course course;
    course.order = MakeOrder(problem, policy);
    if (course.order.empty()) continue;
    course.steps = FindSteps(problem, course.order);
    course.gaps = FindGaps(problem, course.steps, options.min_swap_bytes);
    const MemoryView view = PlannedMemory(problem, {course.order, false, {}});
    course.peak_bytes = view.peak_bytes;
    course.peak_position = view.peak_position;
    courses.push_back(std::move(course));
  }
  return courses;
}

// Leaves the n buffers with the largest (bytes x distance) and drops all others' swaps.
void KeepLargest(const Problem& problem, const Steps& steps, int32_t n,
                 std::vector<SwapGap>* swaps) {
  if (n < 0) return;
  std::vector<double> weight(problem.buffers.size(), 0);
  for (const SwapGap& swap : *swaps) {
    const size_t id = static_cast<size_t>(swap.buffer);
    weight[id] += static_cast<double>(problem.buffers[id].size_bytes) *
                  (steps.step_of_op[static_cast<size_t>(swap.back_for)] -
                   steps.step_of_op[static_cast<size_t>(swap.leave_after)]);
  }
  std::vector<BufferId> ids;
  for (const SwapGap& swap : *swaps) {
    if (ids.empty() || ids.back() != swap.buffer) ids.push_back(swap.buffer);
  }
  std::stable_sort(ids.begin(), ids.end(), [&](BufferId a, BufferId b) {
    return weight[static_cast<size_t>(a)] > weight[static_cast<size_t>(b)];
  });
  std::vector<bool> keep(problem.buffers.size(), false);
  for (size_t i = 0; i < ids.size() && i < static_cast<size_t>(n); ++i) {
    keep[static_cast<size_t>(ids[i])] = true;
  }
  std::erase_if(*swaps,
                [&](const SwapGap& swap) { return !keep[static_cast<size_t>(swap.buffer)]; });
}

// One setting of the search.
struct Setting {
  int32_t threshold, groupby, ahead;
};

// Whether the policy swaps this gap.
bool IsFar(const Course& course, const Gap& gap, const Setting& setting,
           const PlannerOptions& options) {
  const OpId back = course.steps.op[static_cast<size_t>(gap.back_step)];
  const bool branch = course.steps.position[static_cast<size_t>(back)] <= course.peak_position;
  if (branch && !options.swap_branches) return false;
  if (branch && options.branch_threshold != kAuto) {
    return gap.distance() > options.branch_threshold;
  }
  return gap.distance() > (gap.first ? setting.threshold : setting.groupby);
}

Candidate Swapped(const Problem& problem, const Course& course, const Setting& setting,
                  const PlannerOptions& options) {
  const bool synchronise = options.sync_mode != 0;
  Candidate candidate;
  candidate.plan.order = course.order;
  candidate.plan.pin_order = options.may_pin;
  BufferId last = -1;
  for (Gap gap : course.gaps) {
    gap.first = gap.buffer != last;
    if (!IsFar(course, gap, setting, options)) continue;
    SwapGap placed;
    if (!PlaceGap(gap, course.steps, setting.ahead, synchronise, &placed)) continue;
    candidate.plan.swaps.push_back(placed);
    last = gap.buffer;
  }
  KeepLargest(problem, course.steps, options.n_tensors, &candidate.plan.swaps);
  KeepToHostRoom(problem, options.host_bytes, &candidate.plan);
  candidate.peak_bytes = PlannedMemory(problem, candidate.plan).peak_bytes;
  return candidate;
}

int64_t SwapBytes(const Problem& problem, const Plan& plan) {
  int64_t bytes = 0;
  for (const SwapGap& swap : plan.swaps) {
    bytes += problem.buffers[static_cast<size_t>(swap.buffer)].size_bytes;
  }
  return bytes;
}

// All settings to try, the one with the fewest swaps first. Given values stay as they are.
std::vector<Setting> Settings(const PlannerOptions& options) {
  std::vector<Setting> settings;
  for (int32_t threshold : kThresholds) {
    if (options.swapout_threshold != kAuto) threshold = options.swapout_threshold;
    const int32_t groupby = options.swapin_groupby != kAuto ? options.swapin_groupby : threshold;
    for (int32_t ahead : kAheads) {
      if (options.swapin_ahead != kAuto) ahead = options.swapin_ahead;
      settings.push_back({threshold, groupby, ahead});
      if (options.swapin_ahead != kAuto) break;
    }
    if (options.swapout_threshold != kAuto) break;
  }
  return settings;
}

// Keeps of the candidate's swaps what the budget needs. The memory this fills up is memory that
// fragmentation may ask for: from the target that fills all of the budget down to the one that
// fills nothing, the first whose plan passes the replay is taken. False when none does.
bool FitWithReplay(const Problem& problem, const Course& course, int64_t budget, int64_t capacity,
                   bool relax, Candidate* candidate) {
  const Plan full = candidate->plan;
  const int64_t room = budget - candidate->peak_bytes;
  for (int part = relax ? kRelaxParts : 0; part >= 0; --part) {
    candidate->plan = full;
    if (part > 0) {
      const int64_t target = candidate->peak_bytes + room / kRelaxParts * (part - 1);
      RelaxPlan(problem, course.steps, target, kMaxAhead, &candidate->plan);
    }
    if (FitsInBfc(problem, candidate->plan, capacity, kReplaySteps, kReplaySeeds)) return true;
  }
  return false;
}

// The first setting of a course whose peak is within the budget and whose replays fit `capacity`.
// Without one, or without a budget, the plan with the smallest peak.
Candidate Search(const Problem& problem, const Course& course, const PlannerOptions& options,
                 int64_t capacity) {
  const bool given = options.swapout_threshold != kAuto || options.swapin_ahead != kAuto;
  Candidate best;
  for (const Setting& setting : Settings(options)) {
    Candidate candidate = Swapped(problem, course, setting, options);
    if (candidate.peak_bytes < best.peak_bytes) best = candidate;
    if (candidate.peak_bytes <= options.budget_bytes &&
        FitWithReplay(problem, course, options.budget_bytes, capacity, !given, &candidate)) {
      best = std::move(candidate);
      best.fits = true;
      break;
    }
    if (Late(options)) break;
  }
  // Nothing fits: what does not lower the peak need not move.
  if (!given && options.budget_bytes > 0 && best.peak_bytes > options.budget_bytes) {
    RelaxPlan(problem, course.steps, best.peak_bytes, kMaxAhead, &best.plan);
  }
  if (best.fits) best.peak_bytes = PlannedMemory(problem, best.plan).peak_bytes;
  best.swap_bytes = SwapBytes(problem, best.plan);
  return best;
}

// Over all courses: fitting before not fitting, then fewest bytes moved; when nothing fits, the
// smallest peak.
Candidate SearchAll(const Problem& problem, const std::vector<Course>& courses,
                    const PlannerOptions& options, int64_t capacity) {
  Candidate best;
  for (const Course& course : courses) {
    Candidate candidate = Search(problem, course, options, capacity);
    const bool better = candidate.fits != best.fits ? candidate.fits
                        : candidate.fits            ? candidate.swap_bytes < best.swap_bytes
                                                    : candidate.peak_bytes < best.peak_bytes;
    if (better) best = std::move(candidate);
  }
  return best;
}

// A pinned order that fits without any swap, also once fragmentation is counted.
std::optional<Plan> OrderAlone(const Problem& problem, const std::vector<Course>& courses,
                               int64_t budget) {
  const Course* best = nullptr;
  for (const Course& course : courses) {
    if (!best || course.peak_bytes < best->peak_bytes) best = &course;
  }
  if (!best || best->peak_bytes > budget) return std::nullopt;
  Plan plan{best->order, true, {}};
  if (!FitsInBfc(problem, plan, budget, kReplaySteps, kReplaySeeds)) return std::nullopt;
  return plan;
}

// What the graph holds if nothing is freed before the end: no order needs more.
int64_t AllBytes(const Problem& problem) {
  int64_t bytes = problem.persistent_bytes;
  for (const ProblemBuffer& buffer : problem.buffers) {
    bytes = SaturatingAdd(bytes, buffer.size_bytes);
  }
  return bytes;
}

// Any order stays under the budget, fragmentation included: nothing is needed. The orders tried say
// little about what TensorFlow does by itself, so that the bound over all orders decides.
bool FitsAsItIs(const Problem& problem, const std::vector<Course>& courses, int64_t budget) {
  if (AllBytes(problem) > budget) return false;
  for (const Course& course : courses) {
    if (course.peak_bytes > budget) return false;
    if (!FitsInBfc(problem, {course.order, false, {}}, budget, kReplaySteps, 1)) return false;
  }
  return true;
}

}  // namespace

Result<Plan> PlanLevelDistance(const Problem& problem, const PlannerOptions& options) {
  const std::vector<Course> courses = MakeCourses(problem, options);
  if (courses.empty()) {
    return LawBroken("L4: the operations cannot be ordered; two groups wait for one another");
  }
  const int64_t budget = options.budget_bytes;
  if (budget > 0 && options.swapout_threshold == kAuto) {
    if (FitsAsItIs(problem, courses, budget)) return Plan{courses[0].order, false, {}};
    if (options.may_pin) {
      if (std::optional<Plan> plan = OrderAlone(problem, courses, budget)) return *plan;
    }
  }
  Candidate chosen = SearchAll(problem, courses, options, budget);
  if (!chosen.fits && options.memory_bytes > budget && budget > 0 && !Late(options)) {
    chosen = SearchAll(problem, courses, options, options.memory_bytes);
  }
  if (chosen.plan.swaps.empty() && !(budget > 0 && options.may_pin)) chosen.plan.pin_order = false;
  return std::move(chosen.plan);
}

}  // namespace tflms
