// SPDX-License-Identifier: Apache-2.0
//
// File, cache or planner. See plan_source.h.

#include "src/rewrite/plan_source.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "src/base/bytes_text.h"
#include "src/planners/host_room.h"
#include "src/rewrite/named_plan.h"
#include "src/rewrite/plan_file.h"
#include "src/sim/clones.h"

namespace tflms {
namespace {

// What the options forbid in a plan of a file, or nothing.
Status Allowed(const PlanSubject& subject, const Options& options, int64_t host_bytes,
               const Plan& plan) {
  if (plan.pin_order && options.pin_order == "never") {
    return Unsupported("it holds the order, which the option pin_order forbids");
  }
  if (!plan.clones.empty() && options.recompute == "never") {
    return Unsupported("it runs operations again, which the option recompute forbids");
  }
  const int64_t needed =
      PlannedMemory(Expand(subject.map.problem, plan).problem, plan).host_peak_bytes;
  if (host_bytes > 0 && needed > host_bytes) {
    return Unsupported("it needs " + FormatBytes(needed) + " on the host, of " +
                       FormatBytes(host_bytes) + " that host_budget_bytes allows");
  }
  return Status();
}

// The plan in the file that is for this graph; of those that do not fit, the error of the one that
// has most in common with it.
Result<Plan> FromFile(const PlanSubject& subject, const Options& options, int64_t host_bytes,
                      Report* report) {
  TFLMS_ASSIGN_OR_RETURN(const std::vector<NamedPlan> plans, ReadPlanFile(options.plan));
  const std::string fingerprint = GraphFingerprint(subject.graph, subject.accelerator);
  Status nearest = Unsupported("it has no plan");
  int64_t most = -1;
  for (const bool exact : {true, false}) {
    for (const NamedPlan& named : plans) {
      if ((named.fingerprint == fingerprint) != exact) continue;
      Result<Plan> plan = PlanFromNames(subject, named);
      if (plan.ok()) {
        const Status allowed = Allowed(subject, options, host_bytes, *plan);
        if (!allowed.ok()) plan = allowed;
      }
      if (plan.ok()) {
        if (!exact) {
          report->notes.push_back("the plan in " + options.plan +
                                  " was made for a graph with other edges, types or host "
                                  "operations; it holds here too");
        }
        return plan;
      }
      const int64_t known = CountKnown(subject.graph, named);
      if (known <= most) continue;
      most = known;
      nearest = plan.status();
    }
  }
  return Status(nearest.code(), options.plan + ": " + nearest.message());
}

std::optional<Plan> FromStore(const PlanSubject& subject, const std::string& key,
                              PlanStore* store) {
  const std::optional<std::string> text = store->Lookup(key);
  if (!text) return std::nullopt;
  const Result<std::vector<NamedPlan>> plans = ParsePlanFile(*text);
  if (!plans.ok() || plans->size() != 1) return std::nullopt;
  const NamedPlan& named = plans->front();
  if (named.fingerprint != GraphFingerprint(subject.graph, subject.accelerator)) {
    return std::nullopt;
  }
  Result<Plan> plan = PlanFromNames(subject, named);
  if (!plan.ok()) return std::nullopt;
  return std::move(*plan);
}

}  // namespace

Result<Plan> FindPlan(const PlanSubject& subject, const Options& options,
                      const PlannerOptions& planner_options, PlanStore* store, Report* report) {
  if (!options.plan.empty()) {
    Result<Plan> plan = FromFile(subject, options, planner_options.host_bytes, report);
    if (plan.ok()) {
      report->plan_source = "file";
      return plan;
    }
    report->plan_refused = plan.status().message();
  }
  const PlannerEntry* planner = FindPlanner(options.planner);
  if (!planner) return InvalidArgument("planner `" + options.planner + "` is not known");
  std::string key;
  if (store != nullptr) {
    key = PlanKey(subject, options, planner_options);
    std::optional<Plan> plan = FromStore(subject, key, store);
    if (plan) {
      report->plan_source = "cache";
      return std::move(*plan);
    }
  }
  TFLMS_ASSIGN_OR_RETURN(Plan plan, planner->plan(subject.map.problem, planner_options));
  report->plan_source = "planner";
  // Planners keep to it; this holds for those that come.
  KeepToHostRoom(Expand(subject.map.problem, plan).problem, planner_options.host_bytes, &plan);
  const std::string fault = CheckPlan(subject.map.problem, plan);
  if (!fault.empty()) return InternalError("planner " + options.planner + ": " + fault);
  // A plan that the time limit cut short is not what another run would find. One that does nothing
  // is not worth a file.
  const bool whole = std::chrono::steady_clock::now() < planner_options.deadline;
  if (store != nullptr && whole && (plan.pin_order || !plan.swaps.empty())) {
    store->Store(key, PlanFileOf({PlanToFileJson(NamePlan(subject, plan, report->graph, options,
                                                          planner_options.machine))}));
  }
  return plan;
}

void KeepPlan(const PlanSubject& subject, const Plan& plan, const Options& options,
              const Machine& machine, Report* report) {
  report->plan_file = PlanToFileJson(NamePlan(subject, plan, report->graph, options, machine));
}

}  // namespace tflms
