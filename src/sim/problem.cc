// SPDX-License-Identifier: Apache-2.0
//
// Positions and accesses, and the check of a plan against its problem. CheckPlan is written to be
// obvious rather than fast: O(ops + edges + swaps * uses).

#include "src/sim/problem.h"

#include <algorithm>
#include <string>

#include "src/sim/clones.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

std::string OpText(OpId op) { return "op " + std::to_string(op); }

bool IsOp(const Problem& problem, OpId op) { return op >= 0 && Index(op) < problem.ops.size(); }

std::string CheckOrder(const Problem& problem, const Plan& plan) {
  std::vector<bool> seen(problem.ops.size(), false);
  for (OpId op : plan.order) {
    if (!IsOp(problem, op)) return "order-complete: " + OpText(op) + " does not exist";
    if (seen[Index(op)]) return "order-complete: " + OpText(op) + " stands twice";
    seen[Index(op)] = true;
  }
  if (plan.order.size() != problem.ops.size()) {
    return "order-complete: " + std::to_string(plan.order.size()) + " of " +
           std::to_string(problem.ops.size()) + " ops";
  }
  const std::vector<int32_t> position = Positions(plan.order);
  for (size_t from = 0; from < problem.successors.size(); ++from) {
    for (OpId to : problem.successors[from]) {
      if (position[from] >= position[Index(to)]) {
        return "order-legal: " + OpText(to) + " stands before " + OpText(static_cast<OpId>(from)) +
               ", which it needs";
      }
    }
  }
  std::vector<int32_t> closed;  // groups that have ended
  int32_t open = 0;
  for (OpId op : plan.order) {
    const int32_t group = problem.ops[Index(op)].group;
    if (group == open) continue;
    if (open > 0) closed.push_back(open);
    open = group;
    if (group > 0 && std::find(closed.begin(), closed.end(), group) != closed.end()) {
      return "order-legal: group " + std::to_string(group) + " is torn apart at " + OpText(op);
    }
  }
  return "";
}

std::string CheckGap(const Problem& problem, const SwapGap& gap,
                     const std::vector<int32_t>& position) {
  const std::string where = "buffer " + std::to_string(gap.buffer);
  if (gap.buffer < 0 || Index(gap.buffer) >= problem.buffers.size()) {
    return "gap-is-a-gap: " + where + " does not exist";
  }
  const ProblemBuffer& buffer = problem.buffers[Index(gap.buffer)];
  if (!buffer.swappable) return "gap-swappable: " + where + " may not leave the device";
  const std::vector<OpId> accesses = Accesses(buffer, position);
  const auto leave = std::find(accesses.begin(), accesses.end(), gap.leave_after);
  if (leave == accesses.end() || leave + 1 == accesses.end() || leave[1] != gap.back_for) {
    return "gap-is-a-gap: " + where + " has no neighbouring accesses " + OpText(gap.leave_after) +
           " and " + OpText(gap.back_for);
  }
  const int32_t from = position[Index(gap.leave_after)], to = position[Index(gap.back_for)];
  if (!IsOp(problem, gap.trigger) || !problem.ops[Index(gap.trigger)].orderable) {
    return "trigger-inside: " + where + " has no trigger that may hold it back";
  }
  const int32_t trigger = position[Index(gap.trigger)];
  if (trigger < from || trigger >= to) {
    return "trigger-inside: " + where + " has trigger " + OpText(gap.trigger) + " outside its gap";
  }
  for (OpId hold : buffer.holds) {
    if (position[Index(hold)] > from) {
      return "gap-swappable: " + where + " is held by " + OpText(hold) + ", which comes later";
    }
  }
  if (gap.sync == kNoOp) return "";
  if (!IsOp(problem, gap.sync) || !problem.ops[Index(gap.sync)].orderable) {
    return "sync-inside: " + where + " has a sync op that may not wait";
  }
  const int32_t sync = position[Index(gap.sync)];
  if (sync <= from || sync > trigger) {
    return "sync-inside: " + where + " has sync " + OpText(gap.sync) + " outside its gap";
  }
  return "";
}

}  // namespace

std::vector<int32_t> Positions(const std::vector<OpId>& order) {
  std::vector<int32_t> position(order.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= 0 && Index(order[i]) < position.size()) {
      position[Index(order[i])] = static_cast<int32_t>(i);
    }
  }
  return position;
}

std::vector<OpId> Accesses(const ProblemBuffer& buffer, const std::vector<int32_t>& position) {
  std::vector<OpId> accesses = buffer.uses;
  if (buffer.producer != kNoOp) accesses.push_back(buffer.producer);
  std::sort(accesses.begin(), accesses.end(),
            [&](OpId a, OpId b) { return position[Index(a)] < position[Index(b)]; });
  return accesses;
}

std::string CheckPlan(const Problem& first_runs, const Plan& plan) {
  std::string fault = CheckClones(first_runs, plan);
  if (!fault.empty()) return fault;
  const Problem problem = Expand(first_runs, plan).problem;
  fault = CheckOrder(problem, plan);
  if (!fault.empty()) return fault;
  const std::vector<int32_t> position = Positions(plan.order);
  for (size_t i = 0; i < plan.swaps.size(); ++i) {
    fault = CheckGap(problem, plan.swaps[i], position);
    if (!fault.empty()) return fault;
    for (size_t j = 0; j < i; ++j) {
      if (plan.swaps[i].buffer == plan.swaps[j].buffer &&
          plan.swaps[i].back_for == plan.swaps[j].back_for) {
        return "gap-is-a-gap: buffer " + std::to_string(plan.swaps[i].buffer) +
               " is swapped twice in one gap";
      }
    }
  }
  return "";
}

}  // namespace tflms
