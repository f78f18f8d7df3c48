// SPDX-License-Identifier: Apache-2.0
//
// Running one policy. See compare.h.

#include "bench/core/peers/compare.h"

#include <chrono>
#include <functional>
#include <queue>

#include "src/planners/order.h"
#include "src/planners/planner.h"
#include "src/sim/clones.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

std::vector<OpId> GivenOrder(const Problem& problem) {
  std::vector<int32_t> missing(problem.ops.size(), 0);
  for (const std::vector<OpId>& next : problem.successors) {
    for (OpId to : next) ++missing[Index(to)];
  }
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (size_t op = 0; op < missing.size(); ++op) {
    if (missing[op] == 0) ready.push(static_cast<OpId>(op));
  }
  std::vector<OpId> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (OpId to : problem.successors[Index(order.back())]) {
      if (--missing[Index(to)] == 0) ready.push(to);
    }
  }
  if (order.size() != problem.ops.size()) order.clear();
  return order;
}

Result<Plan> PlanBy(const Problem& problem, const PeerOptions& options, const std::string& policy) {
  for (const PeerEntry& peer : PeerCatalog()) {
    if (peer.name == policy) return peer.plan(problem, options);
  }
  const PlannerEntry* planner = FindPlanner(policy);
  if (!planner) return InvalidArgument("no policy " + policy);
  PlannerOptions ours;
  ours.budget_bytes = ours.memory_bytes = options.budget_bytes;
  ours.machine = options.machine;
  return planner->plan(problem, ours);
}

}  // namespace

std::vector<OpId> PeerOrder(const Problem& problem, bool best) {
  std::vector<OpId> order = GivenOrder(problem);
  if (order.empty() || !best) return order;
  int64_t least = CheckPlan(problem, {order, false, {}}).empty()
                      ? PlannedMemory(problem, {order, false, {}}).peak_bytes
                      : INT64_MAX;
  for (OrderPolicy policy : kOrderPolicies) {
    std::vector<OpId> other = MakeOrder(problem, policy);
    if (other.empty()) continue;
    const int64_t peak = PlannedMemory(problem, {other, false, {}}).peak_bytes;
    if (peak >= least) continue;
    least = peak;
    order = std::move(other);
  }
  return order;
}

std::vector<std::string> PolicyNames() {
  std::vector<std::string> names;
  for (const PeerEntry& peer : PeerCatalog()) names.emplace_back(peer.name);
  for (const PlannerEntry& planner : PlannerCatalog()) names.emplace_back(planner.name);
  return names;
}

CompareRow Compare(const Problem& problem, const PeerOptions& options, const std::string& policy) {
  CompareRow row;
  row.policy = policy;
  row.budget_bytes = options.budget_bytes;
  for (const ProblemOp& op : problem.ops) row.compute_us += op.on_device ? op.time_us : 0;
  const auto began = std::chrono::steady_clock::now();
  const Result<Plan> plan = PlanBy(problem, options, policy);
  row.plan_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  row.fault = plan.ok() ? CheckPlan(problem, *plan) : plan.status().ToString();
  if (!row.fault.empty()) return row;
  row.result = Simulate(Expand(problem, *plan).problem, *plan, options.machine);
  row.fits = row.result.peak_bytes <= options.budget_bytes;
  for (OpId source : plan->clones) row.recompute_us += problem.ops[Index(source)].time_us;
  return row;
}

}  // namespace tflms
