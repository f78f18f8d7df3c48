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
// A plan counts only when its peak under the slowest copies is within the budget, and when replays
// of the device's allocator fit (bfc.h); where they do not, the search is repeated with less than
// the budget. The plan of level-distance takes part as well, and it alone is asked where knobs are
// set that only it has, where no budget is known or order edges may not be used.
//
// Cost: courses x stretches x prices of Cover; graphs of more than kFewOps get fewer of them.

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
// Graphs of more ops than this get fewer settings, those of more than kManyOps only the first.
constexpr size_t kFewOps = 2000;
constexpr size_t kManyOps = 6000;
// Parts of the budget that are tried when fragmentation takes the rest.
constexpr double kParts[] = {1.0, 0.93, 0.86, 0.8, 0.74, 0.68};
// Rounds in which a plan's clock is set anew.
constexpr int kRelaxRounds = 2;
constexpr int kRoomParts = 4;

bool Late(const PlannerOptions& options) {
  return std::chrono::steady_clock::now() >= options.deadline;
}

// A plan with what it costs.
struct Judged {
  Plan plan;
  int64_t peak_bytes = std::numeric_limits<int64_t>::max();
  int64_t time_us = std::numeric_limits<int64_t>::max();
  int64_t moved_bytes = 0;
  const std::vector<OpId>* order = nullptr;  // the first runs', of those that were tried
};

Judged Judge(const Problem& problem, const Machine& machine, Plan plan) {
  const Problem expanded = Expand(problem, plan).problem;
  Judged judged;
  judged.peak_bytes = PlannedMemory(expanded, plan).peak_bytes;
  const SimulationResult run = Simulate(expanded, plan, machine);
  judged.time_us = run.time_us;
  judged.moved_bytes = run.out_bytes + run.in_bytes;
  judged.plan = std::move(plan);
  return judged;
}

bool Faster(const Judged& a, const Judged& b) {
  if (a.time_us != b.time_us) return a.time_us < b.time_us;
  return a.moved_bytes < b.moved_bytes;
}

// Moves sync and trigger ops to where copies hide, as far as the limit lets them.
void Relax(const Problem& problem, const Machine& machine, int64_t limit_bytes, Plan* plan) {
  if (plan->swaps.empty()) return;
  const Problem expanded = Expand(problem, *plan).problem;
  const Steps steps = FindSteps(expanded, plan->order);
  for (int round = 0; round < kRelaxRounds; ++round) {
    RelaxPlanTo(expanded, steps, limit_bytes, HidingLimits(expanded, steps, machine, *plan), plan);
  }
}

class Search {
 public:
  Search(const Problem& problem, const PlannerOptions& options)
      : problem_(problem), options_(options) {
    for (OrderPolicy policy : kOrderPolicies) {
      std::vector<OpId> order = MakeOrder(problem, policy);
      if (!order.empty()) orders_.push_back(std::move(order));
    }
  }

  bool CanOrder() const { return !orders_.empty(); }

  // Plans within `limit_bytes`, the fastest first. All orders are tried with the first setting; the
  // others are for the order whose plan is the fastest then.
  std::vector<Judged> Plans(int64_t limit_bytes) const {
    std::vector<Judged> plans;
    const std::vector<OpId>* best = nullptr;
    for (const std::vector<OpId>& order : orders_) {
      Add(order, kSettings[0], limit_bytes, &plans);
      std::stable_sort(plans.begin(), plans.end(), Faster);
      if (!plans.empty() && plans.front().order == &order) best = &order;
    }
    const size_t n = problem_.ops.size();
    const size_t settings = n > kManyOps ? 1 : n > kFewOps ? 3 : std::size(kSettings);
    for (const std::vector<OpId>& order : orders_) {
      if (best != nullptr && best != &order) continue;
      for (size_t i = 1; i < settings && !Late(options_); ++i) {
        Add(order, kSettings[i], limit_bytes, &plans);
      }
    }
    std::stable_sort(plans.begin(), plans.end(), Faster);
    return plans;
  }

 private:
  void Add(const std::vector<OpId>& order, Setting setting, int64_t limit_bytes,
           std::vector<Judged>* plans) const {
    CoverOptions cover;
    cover.limit_bytes = limit_bytes;
    cover.stretch = setting.stretch;
    cover.price = setting.price;
    cover.may_recompute = options_.may_recompute;
    cover.min_bytes = options_.min_swap_bytes;
    cover.host_bytes = options_.host_bytes;
    cover.machine = options_.machine;
    Ledger ledger(problem_, order);
    if (!Cover(cover, &ledger)) return;
    Plan plan = Assemble(ledger);
    if (!CheckPlan(problem_, plan).empty()) return;
    Relax(problem_, options_.machine, limit_bytes, &plan);
    Judged judged = Judge(problem_, options_.machine, std::move(plan));
    judged.order = &order;
    if (judged.peak_bytes <= limit_bytes) plans->push_back(std::move(judged));
  }

  const Problem& problem_;
  const PlannerOptions& options_;
  std::vector<std::vector<OpId>> orders_;
};

bool HasKnobs(const PlannerOptions& options) {
  return options.swapout_threshold != kAuto || options.swapin_groupby != kAuto ||
         options.swapin_ahead != kAuto || options.sync_mode == 0 || options.n_tensors >= 0 ||
         !options.swap_branches || options.branch_threshold != kAuto;
}

// The fastest plan that also fits the allocator, or nothing.
std::optional<Judged> FastestThatFits(const Problem& problem, const PlannerOptions& options,
                                      const Search& search, int64_t capacity_bytes) {
  constexpr size_t kTries = 6;
  for (double part : kParts) {
    const auto limit = static_cast<int64_t>(static_cast<double>(options.budget_bytes) * part);
    const std::vector<Judged> plans = search.Plans(limit);
    for (size_t i = 0; i < std::min(plans.size(), kTries); ++i) {
      const Problem expanded = Expand(problem, plans[i].plan).problem;
      if (FitsInBfc(expanded, plans[i].plan, capacity_bytes, kReplaySteps, kReplaySeeds)) {
        return plans[i];
      }
    }
    if (Late(options)) break;
  }
  return std::nullopt;
}

}  // namespace

Result<Plan> PlanJoint(const Problem& problem, const PlannerOptions& options) {
  TFLMS_ASSIGN_OR_RETURN(Plan other, PlanLevelDistance(problem, options));
  const bool has_work = !other.swaps.empty() ||
                        PlannedMemory(problem, other).peak_bytes > options.budget_bytes;
  if (!has_work || options.budget_bytes <= 0 || !options.may_pin || HasKnobs(options)) return other;
  const Search search(problem, options);
  const int64_t capacity = std::max(options.memory_bytes, options.budget_bytes);
  std::optional<Judged> joint = FastestThatFits(problem, options, search, options.budget_bytes);
  if (!joint && capacity > options.budget_bytes) {
    joint = FastestThatFits(problem, options, search, capacity);
  }
  const Judged plain = Judge(problem, options.machine, other);
  const bool plain_fits = plain.peak_bytes <= options.budget_bytes &&
                          FitsInBfc(problem, other, capacity, kReplaySteps, kReplaySeeds);
  if (joint && (!plain_fits || Faster(*joint, plain))) return std::move(joint->plan);
  return other;
}

}  // namespace tflms
