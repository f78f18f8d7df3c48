// SPDX-License-Identifier: Apache-2.0
//
// Planner "joint": swapping and recomputing together, by the time they add.
//
//   for each order, each stretch of the clock and each price of the link (lanes.h, cover.h):
//     choices = Cover(order, stretch, price)                  until nothing is over the budget
//     plan    = Assemble(choices), relaxed where memory allows until copies hide
//     keep the plan whose simulated time is least
//
// A stretch asks: which plan would hide its copies if the step took that much longer? Small
// stretches recompute more, large ones wait more; a higher price recomputes what is cheap to run
// again and leaves the link to what is not. What is right for a graph is found by simulating all.
//
// A plan is then tried in replays of the device's allocator (bfc.h). Where one finds no room in one
// piece, the limit is lowered around that position and more is chosen there, until all replays fit;
// lowering the budget everywhere would pay at positions that have room as well. The plan of
// level-distance takes part as well, and it alone is asked where knobs are set that only it has,
// where no budget is known or order edges may not be used, and for the largest graphs.
//
// Cost: orders x settings of Cover, and for a few of them rounds of Cover, Assemble and replays;
// large graphs get fewer of each (kFewOps, kManyOps, kRoundOps).

#include "src/planners/joint.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "src/planners/assemble.h"
#include "src/planners/cover.h"
#include "src/planners/gaps.h"
#include "src/planners/ledger.h"
#include "src/planners/level_distance.h"
#include "src/planners/order.h"
#include "src/sim/bfc.h"
#include "src/sim/clones.h"
#include "src/sim/simulator.h"

namespace tflms {
namespace {

// What Cover is asked for. The first serves to choose the order.
struct Setting {
  double stretch, price;
};
constexpr Setting kSettings[] = {{1.0, 0.1},  {1.0, 0.5}, {1.2, 0.1},     {1.2, 0.02},
                                 {1.6, 0.05}, {2.5, 0.0}, {kNoClock, 0.1}};
// Graphs of more ops than this get fewer settings, those of more than kManyOps only the first and
// one order, those of more than kTooManyOps the plan of level-distance.
constexpr size_t kFewOps = 2000;
constexpr size_t kManyOps = 6000;
constexpr size_t kTooManyOps = 40000;
// Rounds in which a plan's clock is set anew.
constexpr int kRelaxRounds = 2;
// Rounds in which limits are lowered where replays fail, by how much of the limit each time, and
// for how many positions before and behind.
constexpr int kRepairs = 40;
constexpr double kLowerBy[] = {0.02, 0.0125};
constexpr int32_t kAround = 16;
// Plans that are repaired at most, for each of kLowerBy.
constexpr size_t kManyStarts = 8;
// Rounds together: as many as this number of ops makes, so that large graphs get fewer.
constexpr int64_t kRoundOps = 300'000;
// Seeds that are replayed first.
constexpr uint32_t kFewSeeds = 6;
// What is this near to the next plan before the allocator is asked ends the search.
constexpr double kNearEnough = 1.005;
// A plan that fits the allocator only with the room beyond the budget has to be this much faster
// than one that leaves it free.
constexpr double kWorthTheRoom = 1.1;

bool Late(const PlannerOptions& options) {
  return std::chrono::steady_clock::now() >= options.deadline;
}

// A plan with what it costs.
struct Judged {
  Plan plan;
  int64_t peak_bytes = std::numeric_limits<int64_t>::max();
  int64_t time_us = std::numeric_limits<int64_t>::max();
  int64_t moved_bytes = 0;
  size_t failed = 0;  // replays of the allocator
};

// `expanded` has the plan's clones.
Judged Judge(const Problem& expanded, const Machine& machine, Plan plan) {
  Judged judged;
  judged.peak_bytes = PlannedMemory(expanded, plan).peak_bytes;
  const SimulationResult run = Simulate(expanded, plan, machine);
  judged.time_us = run.time_us;
  judged.moved_bytes = run.out_bytes + run.in_bytes;
  judged.plan = std::move(plan);
  return judged;
}

// Fewer failed replays, then less time, then fewer bytes moved.
bool Better(const Judged& a, const Judged& b) {
  if (a.failed != b.failed) return a.failed < b.failed;
  if (a.time_us != b.time_us) return a.time_us < b.time_us;
  return a.moved_bytes < b.moved_bytes;
}

// By position in the plan's order: the position in the first runs' order, of the op there or the
// one that the clone there runs before.
std::vector<int32_t> FirstRunPositions(const Ledger& ledger, const Plan& plan) {
  std::vector<int32_t> positions(plan.order.size(), ledger.positions() - 1);
  int32_t behind = ledger.positions() - 1;
  for (size_t p = plan.order.size(); p-- > 0;) {
    const OpId op = plan.order[p];
    if (static_cast<size_t>(op) < ledger.problem().ops.size()) behind = ledger.position(op);
    positions[p] = behind;
  }
  return positions;
}

class Search {
 public:
  Search(const Problem& problem, const PlannerOptions& options, int64_t capacity_bytes)
      : problem_(problem),
        options_(options),
        capacity_bytes_(capacity_bytes),
        rounds_left_(kRoundOps / std::max<int64_t>(1, static_cast<int64_t>(problem.ops.size()))) {
    for (OrderPolicy policy : kOrderPolicies) {
      std::vector<OpId> order = MakeOrder(problem, policy);
      if (!order.empty()) orders_.push_back(std::move(order));
    }
    if (problem.ops.size() <= kManyOps) return;
    const auto peak = [&](const std::vector<OpId>& order) {
      return PlannedMemory(problem, {order, true, {}}).peak_bytes;
    };
    std::stable_sort(orders_.begin(), orders_.end(),
                     [&](const auto& a, const auto& b) { return peak(a) < peak(b); });
    orders_.resize(std::min<size_t>(orders_.size(), 1));
  }

  // The fastest plan within the budget that fits the allocator, or the one that does so most often.
  // What is fastest before the allocator is asked is tried first: fitting only makes plans slower.
  std::optional<Judged> Best() {
    const int64_t limit_bytes = options_.budget_bytes;
    std::vector<Start> starts;
    const size_t n = problem_.ops.size();
    const size_t settings = n > kManyOps ? 1 : n > kFewOps ? 3 : std::size(kSettings);
    for (size_t i = 0; i < settings; ++i) {
      for (const std::vector<OpId>& order : orders_) {
        if (!starts.empty() && Late(options_)) break;
        Attempt attempt(problem_, order, CoverOf(kSettings[i]));
        if (!MakePlan(std::vector<int64_t>(order.size(), limit_bytes), &attempt)) continue;
        starts.push_back(
            {attempt.judged.time_us, attempt.judged.moved_bytes, &order, kSettings[i]});
      }
    }
    std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) {
      return std::pair(a.time_us, a.moved_bytes) < std::pair(b.time_us, b.moved_bytes);
    });
    const auto same = [](const Start& a, const Start& b) {
      return a.time_us == b.time_us && a.moved_bytes == b.moved_bytes;
    };
    starts.erase(std::unique(starts.begin(), starts.end(), same), starts.end());
    for (double step : kLowerBy) {
      for (size_t i = 0; i < std::min(starts.size(), kManyStarts); ++i) {
        const Start& start = starts[i];
        const auto near = static_cast<int64_t>(static_cast<double>(start.time_us) * kNearEnough);
        if (best_ && (Spent() || (best_->failed == 0 && best_->time_us <= near))) break;
        Repair(start, limit_bytes, static_cast<int64_t>(static_cast<double>(limit_bytes) * step));
      }
    }
    return std::move(best_);
  }

 private:
  // A plan before the allocator is asked.
  struct Start {
    int64_t time_us, moved_bytes;
    const std::vector<OpId>* order;
    Setting setting;
  };

  // Choices along one order, and what they come to.
  struct Attempt {
    Attempt(const Problem& problem, const std::vector<OpId>& order, const CoverOptions& options)
        : ledger(problem, order), cover(options, &ledger) {}
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    Ledger ledger;
    Cover cover;
    Problem expanded;                // with the plan's clones
    std::vector<int32_t> first_run;  // see FirstRunPositions
    Judged judged;
  };

  CoverOptions CoverOf(Setting setting) const {
    CoverOptions options;
    options.stretch = setting.stretch;
    options.price = setting.price;
    options.may_recompute = options_.may_recompute;
    options.min_bytes = options_.min_swap_bytes;
    options.host_bytes = options_.host_bytes;
    options.machine = options_.machine;
    return options;
  }

  bool Spent() const { return rounds_left_ <= 0 || Late(options_); }

  // Makes the plan again and asks the allocator. Where replays fail, the limit falls by `step`
  // around the positions at which they do, and more is chosen, until none fails or the plan is no
  // better than the best so far could become.
  void Repair(const Start& start, int64_t limit_bytes, int64_t step) {
    std::vector<int64_t> limits(start.order->size(), limit_bytes);
    Attempt attempt(problem_, *start.order, CoverOf(start.setting));
    for (int round = 0; round == 0 || (round < kRepairs && !Spent()); ++round, --rounds_left_) {
      if (!MakePlan(limits, &attempt)) return;
      if (best_ && best_->failed == 0 && !Better(attempt.judged, *best_)) return;
      const std::vector<BfcReplayResult> failed = AskAllocator(attempt.expanded, &attempt.judged);
      if (!best_ || Better(attempt.judged, *best_)) best_ = attempt.judged;
      if (failed.empty() || !LowerAround(failed, attempt, step, &limits)) return;
    }
  }

  // The replays that fail. Where the first few all do, the others count as if they did.
  std::vector<BfcReplayResult> AskAllocator(const Problem& expanded, Judged* judged) const {
    const Plan& plan = judged->plan;
    std::vector<BfcReplayResult> failed =
        FailedReplays(expanded, plan, capacity_bytes_, kReplaySteps, kFewSeeds);
    judged->failed = kReplaySeeds;
    if (failed.size() == kFewSeeds) return failed;
    failed = FailedReplays(expanded, plan, capacity_bytes_, kReplaySteps, kReplaySeeds);
    judged->failed = failed.size();
    return failed;
  }

  // False when there is no plan within the limits.
  bool MakePlan(const std::vector<int64_t>& limits, Attempt* attempt) const {
    if (!attempt->cover.Run(limits)) return false;
    Plan plan = Assemble(attempt->ledger);
    if (!CheckPlan(problem_, plan).empty()) return false;
    attempt->expanded = Expand(problem_, plan).problem;
    attempt->first_run = FirstRunPositions(attempt->ledger, plan);
    Relax(attempt->expanded, attempt->first_run, limits, &plan);
    attempt->judged = Judge(attempt->expanded, options_.machine, std::move(plan));
    return attempt->judged.peak_bytes <= options_.budget_bytes;
  }

  // Moves sync and trigger ops to where copies hide, as far as the limits let them.
  void Relax(const Problem& expanded, const std::vector<int32_t>& first_run,
             const std::vector<int64_t>& limits, Plan* plan) const {
    if (plan->swaps.empty()) return;
    std::vector<int64_t> limit_bytes;
    for (int32_t position : first_run) limit_bytes.push_back(limits[static_cast<size_t>(position)]);
    const Steps steps = FindSteps(expanded, plan->order);
    for (int round = 0; round < kRelaxRounds; ++round) {
      RelaxPlanTo(expanded, steps, limit_bytes,
                  HidingLimits(expanded, steps, options_.machine, *plan), plan);
    }
  }

  // False when no limit can be lowered there.
  bool LowerAround(const std::vector<BfcReplayResult>& failed, const Attempt& attempt, int64_t step,
                   std::vector<int64_t>* limits) const {
    const auto last = static_cast<int32_t>(limits->size()) - 1;
    const int32_t around = std::clamp(last / 32, 1, kAround);
    std::vector<bool> lower(limits->size(), false);
    for (const BfcReplayResult& result : failed) {
      const int32_t at = attempt.first_run[static_cast<size_t>(result.failed_position)];
      std::fill(lower.begin() + std::max(0, at - around),
                lower.begin() + std::min(last, at + around) + 1, true);
    }
    bool lowered = false;
    for (int32_t p = 0; p <= last; ++p) {
      int64_t& limit = (*limits)[static_cast<size_t>(p)];
      const int64_t floor = attempt.ledger.WorkingSet(p);
      if (!lower[static_cast<size_t>(p)] || limit <= floor) continue;
      limit = std::max(limit - step, floor);
      lowered = true;
    }
    return lowered;
  }

  const Problem& problem_;
  const PlannerOptions& options_;
  const int64_t capacity_bytes_;
  std::vector<std::vector<OpId>> orders_;
  int64_t rounds_left_;
  std::optional<Judged> best_;
};

// How many of all replays fail.
size_t Failures(const Problem& problem, int64_t capacity_bytes, const Plan& plan) {
  const Problem expanded = Expand(problem, plan).problem;
  return FailedReplays(expanded, plan, capacity_bytes, kReplaySteps, kReplaySeeds).size();
}

bool HasKnobs(const PlannerOptions& options) {
  return options.swapout_threshold != kAuto || options.swapin_groupby != kAuto ||
         options.swapin_ahead != kAuto || options.sync_mode == 0 || options.n_tensors >= 0 ||
         !options.swap_branches || options.branch_threshold != kAuto;
}

}  // namespace

Result<Plan> PlanJoint(const Problem& problem, const PlannerOptions& options) {
  TFLMS_ASSIGN_OR_RETURN(Plan other, PlanLevelDistance(problem, options));
  const bool has_work =
      !other.swaps.empty() || PlannedMemory(problem, other).peak_bytes > options.budget_bytes;
  if (!has_work || problem.ops.size() > kTooManyOps || options.budget_bytes <= 0 ||
      !options.may_pin || HasKnobs(options))
    return other;
  std::optional<Judged> joint = Search(problem, options, options.budget_bytes).Best();
  const Problem expanded = Expand(problem, other).problem;
  Judged plain = Judge(expanded, options.machine, other);
  const bool plain_fits = plain.peak_bytes <= options.budget_bytes;
  plain.failed = Failures(problem, options.budget_bytes, plain.plan);
  if (joint && joint->failed == 0) {
    // It leaves the room beyond the budget free; so has the other to do.
    return std::move(plain_fits && !Better(*joint, plain) ? other : joint->plan);
  }
  const bool safe = plain_fits && plain.failed == 0;
  const int64_t capacity = std::max(options.memory_bytes, options.budget_bytes);
  if (capacity > options.budget_bytes) {
    if (joint) joint->failed = Failures(problem, capacity, joint->plan);
    if (!joint || joint->failed > 0) {
      std::optional<Judged> roomy = Search(problem, options, capacity).Best();
      if (roomy && (!joint || Better(*roomy, *joint))) joint = std::move(roomy);
    }
    plain.failed = Failures(problem, capacity, plain.plan);
  }
  if (!joint) return other;
  if (safe &&
      static_cast<double>(plain.time_us) <= static_cast<double>(joint->time_us) * kWorthTheRoom) {
    return other;
  }
  // Where neither fits the allocator, time does not count.
  const bool better = joint->failed < plain.failed || (joint->failed == 0 && Better(*joint, plain));
  return std::move(!plain_fits || better ? joint->plan : other);
}

}  // namespace tflms
