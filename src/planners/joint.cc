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

constexpr double kStretches[] = {kNoClock, 1.0, 1.05, 1.12, 1.25, 1.5, 2.0, 3.0, 5.0};
constexpr double kPrices[] = {0.5, 0.1, 1.0, 0.0};
constexpr size_t kFewOps = 3000;
// Parts of the budget that are tried when fragmentation takes the rest.
constexpr double kParts[] = {1.0, 0.97, 0.94, 0.9, 0.85, 0.8};
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

  // Plans within `limit_bytes`, the fastest first.
  std::vector<Judged> Plans(int64_t limit_bytes) const {
    std::vector<Judged> plans;
    const bool few = problem_.ops.size() <= kFewOps;
    for (const std::vector<OpId>& order : orders_) {
      for (double stretch : kStretches) {
        for (double price : kPrices) {
          if (Late(options_) && !plans.empty()) break;
          // Where copies take no time no price tells choices apart.
          const bool free = stretch == kNoClock && price != kPrices[0];
          if (free || (!few && price != kPrices[0])) continue;
          Add(order, stretch, price, limit_bytes, &plans);
        }
      }
    }
    std::stable_sort(plans.begin(), plans.end(), Faster);
    return plans;
  }

 private:
  void Add(const std::vector<OpId>& order, double stretch, double price, int64_t limit_bytes,
           std::vector<Judged>* plans) const {
    CoverOptions cover;
    cover.limit_bytes = limit_bytes;
    cover.stretch = stretch;
    cover.price = price;
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
  const bool has_work = !other.swaps.empty();
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
