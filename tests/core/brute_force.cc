// SPDX-License-Identifier: Apache-2.0
//
// Small problems and all their plans. See brute_force.h.

#include "tests/core/brute_force.h"

#include <algorithm>
#include <optional>
#include <random>

#include "src/sim/clones.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }

 private:
  std::mt19937 random_;
};

void Read(Problem* problem, OpId op, BufferId id) {
  ProblemBuffer& buffer = problem->buffers[Index(id)];
  if (!buffer.uses.empty() && buffer.uses.back() == op) return;
  buffer.uses.push_back(op);
  std::vector<OpId>& next = problem->successors[Index(buffer.producer)];
  if (next.empty() || next.back() != op) next.push_back(op);
}

void Finish(Dice* dice, Problem* problem) {
  for (ProblemBuffer& buffer : problem->buffers) {
    buffer.swappable = !dice->OneIn(6);
    buffer.recomputable = problem->ops[Index(buffer.producer)].repeatable && !dice->OneIn(6);
    if (!buffer.uses.empty() && dice->OneIn(6)) {
      buffer.holds = {buffer.uses[Index(dice->Below(static_cast<int>(buffer.uses.size())))]};
    }
  }
  for (std::vector<OpId>& next : problem->successors) {
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
  }
}

// One place of a gap in the plan, or none.
using Choices = std::vector<std::optional<SwapGap>>;

std::vector<Choices> AllChoices(const Problem& problem, const Plan& plan) {
  const std::vector<int32_t> position = Positions(plan.order);
  std::vector<Choices> all;
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    const std::vector<OpId> accesses = Accesses(buffer, position);
    for (size_t i = 0; buffer.swappable && i + 1 < accesses.size(); ++i) {
      const int32_t from = position[Index(accesses[i])], to = position[Index(accesses[i + 1])];
      Choices choices = {std::nullopt};
      for (int32_t trigger = from; trigger < to; ++trigger) {
        for (int32_t sync = from; sync <= trigger; ++sync) {  // `from` stands for none
          const SwapGap gap{static_cast<BufferId>(id), accesses[i], accesses[i + 1],
                            plan.order[Index(trigger)],
                            sync == from ? kNoOp : plan.order[Index(sync)]};
          Plan one = plan;
          one.clones.clear(), one.clone_reads.clear();  // the problem is expanded
          one.swaps = {gap};
          if (CheckPlan(problem, one).empty()) choices.emplace_back(gap);
        }
      }
      if (choices.size() > 1) all.push_back(std::move(choices));
    }
  }
  return all;
}

}  // namespace

Problem SmallRandomProblem(uint32_t seed, int ops) {
  Dice dice(seed);
  Problem problem;
  for (OpId id = 0; id < ops; ++id) {
    ProblemOp op;
    op.on_device = !dice.OneIn(10);
    op.orderable = op.on_device && !dice.OneIn(10);
    op.time_us = op.on_device && !dice.OneIn(10) ? 1 + dice.Below(6) : 0;
    op.workspace_bytes = op.on_device ? dice.Below(3) : 0;
    op.repeatable = op.on_device && dice.OneIn(2);
    problem.ops.push_back(op);
    problem.successors.emplace_back();
    const int earlier = static_cast<int>(problem.buffers.size());
    std::vector<BufferId> read;
    for (int reads = 1 + dice.Below(3); reads > 0 && earlier > 0; --reads) {
      read.push_back(dice.Below(earlier));
    }
    std::sort(read.begin(), read.end());
    for (BufferId buffer : read) Read(&problem, id, buffer);
    if (id > 0 && dice.OneIn(4)) problem.successors[Index(dice.Below(id))].push_back(id);
    if (!op.on_device) continue;
    for (int made = dice.OneIn(5) ? dice.Below(3) : 1; made > 0; --made) {
      ProblemBuffer& buffer = problem.buffers.emplace_back();
      buffer.producer = id;
      buffer.size_bytes = dice.OneIn(2) ? 4 : 1 + dice.Below(9);
      buffer.live_at_end = dice.OneIn(10);
      if (!read.empty() && dice.OneIn(2)) buffer.may_reuse = read;
    }
  }
  problem.persistent_bytes = dice.Below(3);
  Finish(&dice, &problem);
  return problem;
}

Problem SmallTrainingProblem(uint32_t seed, int layers) {
  Dice dice(seed);
  Problem problem;
  const auto add = [&](std::vector<BufferId> read, bool repeatable) {
    const OpId id = static_cast<OpId>(problem.ops.size());
    ProblemOp& op = problem.ops.emplace_back();
    op.time_us = 1 + dice.Below(6);
    op.repeatable = repeatable;
    problem.successors.emplace_back();
    for (BufferId buffer : read) Read(&problem, id, buffer);
    ProblemBuffer& buffer = problem.buffers.emplace_back();
    buffer.producer = id;
    buffer.size_bytes = repeatable ? 2 + dice.Below(8) : 1 + dice.Below(2);
    if (dice.OneIn(3)) buffer.may_reuse = read;
  };
  for (int i = 0; i < layers; ++i) add(i > 0 ? std::vector{i - 1} : std::vector<BufferId>{}, true);
  for (int i = layers; i-- > 0;) {
    const BufferId gradient = static_cast<BufferId>(problem.buffers.size()) - 1;
    add(gradient == i ? std::vector{i} : std::vector{i, gradient}, false);
  }
  Finish(&dice, &problem);
  return problem;
}

std::vector<std::vector<OpId>> AllOrders(const Problem& problem) {
  std::vector<int> waits_for(problem.ops.size(), 0);
  for (const std::vector<OpId>& next : problem.successors) {
    for (OpId op : next) ++waits_for[Index(op)];
  }
  std::vector<std::vector<OpId>> orders;
  std::vector<OpId> order;
  const std::function<void()> extend = [&] {
    if (order.size() == problem.ops.size()) orders.push_back(order);
    for (size_t op = 0; op < problem.ops.size(); ++op) {
      if (waits_for[op] != 0) continue;
      waits_for[op] = -1;
      order.push_back(static_cast<OpId>(op));
      for (OpId next : problem.successors[op]) --waits_for[Index(next)];
      extend();
      for (OpId next : problem.successors[op]) ++waits_for[Index(next)];
      order.pop_back();
      waits_for[op] = 0;
    }
  };
  extend();
  return orders;
}

void ForEachSwapPlan(const Problem& problem, const Plan& plan, size_t most, uint32_t seed,
                     const std::function<void(const Problem&, const Plan&)>& visit) {
  const Problem expanded = Expand(problem, plan).problem;
  std::vector<Choices> gaps = AllChoices(expanded, plan);
  std::mt19937 random(seed);
  const auto count = [&] {
    size_t product = 1;
    for (const Choices& choices : gaps) product *= choices.size();
    return product;
  };
  while (count() > most) {
    Choices& widest =
        *std::max_element(gaps.begin(), gaps.end(),
                          [](const Choices& a, const Choices& b) { return a.size() < b.size(); });
    widest.erase(widest.begin() + 1 + static_cast<int>(random() % (widest.size() - 1)));
  }
  Plan swapped = plan;
  const std::function<void(size_t)> choose = [&](size_t gap) {
    if (gap == gaps.size()) return visit(expanded, swapped);
    for (const std::optional<SwapGap>& choice : gaps[gap]) {
      if (choice) swapped.swaps.push_back(*choice);
      choose(gap + 1);
      if (choice) swapped.swaps.pop_back();
    }
  };
  choose(0);
}

std::vector<Plan> ClonePlans(const Problem& problem, const std::vector<OpId>& order, int more,
                             uint32_t seed) {
  std::vector<Plan> plans;
  const std::vector<int32_t> position = Positions(order);
  const auto keep = [&](Plan plan) {
    std::sort(plan.clone_reads.begin(), plan.clone_reads.end(),
              [](const CloneRead& a, const CloneRead& b) {
                return std::pair(a.buffer, a.reader) < std::pair(b.buffer, b.reader);
              });
    if (CheckPlan(problem, plan).empty()) plans.push_back(std::move(plan));
  };
  const OpId first_clone = static_cast<OpId>(problem.ops.size());
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    for (size_t place = 0; place <= order.size(); ++place) {
      std::vector<OpId> readers;
      for (OpId use : buffer.uses) {
        if (Index(position[Index(use)]) >= place) readers.push_back(use);
      }
      std::sort(readers.begin(), readers.end(),
                [&](OpId a, OpId b) { return position[Index(a)] < position[Index(b)]; });
      if (readers.empty()) continue;
      std::vector<std::vector<OpId>> sets = {readers};
      if (readers.size() > 1) sets.insert(sets.end(), {{readers.front()}, {readers.back()}});
      for (const std::vector<OpId>& set : sets) {
        Plan plan{order, true, {}, {buffer.producer}, {}};
        plan.order.insert(plan.order.begin() + static_cast<std::ptrdiff_t>(place), first_clone);
        for (OpId reader : set) plan.clone_reads.push_back({static_cast<BufferId>(id), reader, 0});
        keep(std::move(plan));
      }
    }
  }
  Dice dice(seed);
  for (int i = 0; i < more; ++i) {
    Plan plan{order, true, {}, {}, {}};
    for (int32_t clone = 0; clone < 1 + dice.Below(3); ++clone) {
      plan.clones.push_back(static_cast<OpId>(dice.Below(first_clone)));
      plan.order.insert(plan.order.begin() + dice.Below(static_cast<int>(plan.order.size()) + 1),
                        first_clone + clone);
    }
    const std::vector<int32_t> at = Positions(plan.order);
    for (size_t id = 0; id < problem.buffers.size(); ++id) {
      const ProblemBuffer& buffer = problem.buffers[id];
      for (OpId reader : plan.order) {
        const OpId source =
            reader < first_clone ? reader : plan.clones[Index(reader - first_clone)];
        if (!std::binary_search(buffer.uses.begin(), buffer.uses.end(), source)) continue;
        for (int32_t clone = 0; clone < static_cast<int32_t>(plan.clones.size()); ++clone) {
          if (plan.clones[Index(clone)] != buffer.producer || dice.OneIn(3)) continue;
          if (at[Index(first_clone + clone)] > at[Index(reader)]) continue;
          plan.clone_reads.push_back({static_cast<BufferId>(id), reader, clone});
          break;
        }
      }
    }
    keep(std::move(plan));
  }
  return plans;
}

}  // namespace tflms
