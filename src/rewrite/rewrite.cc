// SPDX-License-Identifier: Apache-2.0
//
// The one pipeline, top to bottom: graph -> problem -> plan -> rules -> verify -> report.
// See include/tflms/rewrite.h for the contract.

#include "tflms/rewrite.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "src/base/bytes_text.h"
#include "src/graph/laws.h"
#include "src/graph/verifier.h"
#include "src/planners/order.h"
#include "src/planners/planner.h"
#include "src/rewrite/describe_bounds.h"
#include "src/rewrite/host_budget.h"
#include "src/rewrite/plan_details.h"
#include "src/rewrite/plan_request.h"
#include "src/rewrite/plan_source.h"
#include "src/rewrite/planner_options.h"
#include "src/rewrite/pricing.h"
#include "src/rewrite/problem_builder.h"
#include "src/rewrite/splitting.h"
#include "src/rules/rule.h"
#include "src/sim/bounds.h"
#include "src/sim/simulator.h"

namespace tflms {
namespace {

using Clock = std::chrono::steady_clock;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// True when the graph carries nodes or order edges of an earlier rewrite, for whichever
// accelerator: what was decided then, for all of them, stays.
bool HasBeenRewritten(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.role != NodeRole::kOriginal || node.added_controls > 0;
  });
}

// Puts into the report what is known before planning.
void Describe(const Graph& graph, const Options& options, const ProblemMap& map, Report* report) {
  report->planner = options.planner;
  report->budget_bytes = options.budget_bytes;
  report->host_budget_bytes = options.host_budget_bytes;
  report->persistent_bytes = map.problem.persistent_bytes;
  report->unknown_size_tensors = map.unknown_size_tensors;
  report->compiled_nodes = map.compiled_nodes;
  report->skipped = map.skipped;
  const Floor floor = WorkingSetFloor(map.problem);
  report->floor_bytes = floor.bytes;
  if (floor.op != kNoOp) report->floor_node = graph.node(floor.op).name;
  if (map.unknown_size_tensors > 0) {
    const bool one = map.unknown_size_tensors == 1;
    report->notes.push_back(std::to_string(map.unknown_size_tensors) +
                            (one ? " tensor has" : " tensors have") + " an unknown size and " +
                            (one ? "is" : "are") +
                            " not counted; set batch_size if only the first extent is missing");
  }
  if (map.compiled_nodes > 0) {
    report->notes.push_back(
        "part of this graph is compiled by XLA (" + std::to_string(map.compiled_nodes) +
        " nodes): its tensors are out of reach; compile the model with jit_compile=False");
  }
  if (options.budget_bytes > 0 && floor.bytes > options.budget_bytes) {
    report->notes.push_back("cannot fit by swapping: " + report->floor_node + " alone needs " +
                            FormatBytes(floor.bytes) + ", variables included; the budget is " +
                            FormatBytes(options.budget_bytes));
  }
}

// The peak of the graph as it came, run first-ready first-run as a runtime without order edges
// does.
Result<int64_t> PeakAsItCame(const Problem& problem) {
  const Plan plan{MakeOrder(problem, OrderPolicy::kReadyFirst), false, {}};
  if (plan.order.size() != problem.ops.size()) {
    return LawBroken("L4: the operations cannot be ordered; two groups wait for one another");
  }
  return PlannedMemory(problem, plan).peak_bytes;
}

int64_t CountAddedControls(const Graph& graph) {
  int64_t count = 0;
  for (const Node& node : graph.nodes) count += node.added_controls;
  return count;
}

// Applies all rules in catalog order. The laws are checked once all accelerators are done.
Status ApplyRules(const SwapRequest& request, const GraphFacts& facts, const Plan& plan,
                  Graph* graph, Report* report) {
  const Graph before = *graph;
  std::vector<NodeId> first_runs =
      plan.order;  // clones join the order when rule recompute adds them
  std::erase_if(first_runs, [&](NodeId id) { return id >= graph->size(); });
  IncrementalOrder order(*graph, first_runs);
  RewriteState state;
  state.graph = graph;
  state.order = &order;
  state.level = facts.level;
  state.contexts = &facts.contexts;
  for (const RuleEntry& rule : RuleCatalog()) {
    Result<RuleEffect> effect = rule.apply(request, &state);
    if (!effect.ok()) {
      *graph = before;
      return Status(effect.status().code(),
                    "rule " + std::string(rule.name) + ": " + effect.status().message());
    }
    report->rules.push_back({std::string(rule.name), effect->changes, effect->refused});
    if (rule.name == "recompute" && effect->refused > 0) {
      // The plan's memory relies on every clone, unlike on a swap's.
      *graph = before;
      return InternalError("rule recompute refuses what the plan runs again");
    }
  }
  report->nodes_added = graph->size() - before.size();
  report->control_edges_added = CountAddedControls(*graph) - CountAddedControls(before);
  return Status();
}

Status Finish(Outcome outcome, std::string reason, Report* report) {
  report->outcome = outcome;
  report->reason = std::move(reason);
  return Status();
}

// Nothing is to be done, by the tensors whose size is known. That is no reason to call the graph
// small when there are others: their bytes are in no sum.
Status FinishUnchanged(const Options& options, Report* report) {
  const bool fits = options.budget_bytes > 0 && report->peak_bytes_before <= options.budget_bytes;
  if (const int64_t unknown = report->unknown_size_tensors; unknown > 0) {
    return Finish(Outcome::kNothingToSwap,
                  std::to_string(unknown) + (unknown == 1 ? " tensor has" : " tensors have") +
                      " an unknown size: set batch_size; " +
                      (fits ? "the others are within the budget" : "of the others none qualifies"),
                  report);
  }
  return fits ? Finish(Outcome::kNotNeeded, "the predicted peak is within the budget", report)
              : Finish(Outcome::kNothingToSwap, "no tensor qualifies", report);
}

std::string RewrittenReason(const Plan& plan, const Report& report) {
  const std::string far = "tensors that are far from their next use ";
  if (!plan.clones.empty()) {
    return far + (plan.swaps.empty() ? "are made again" : "leave the device or are made again");
  }
  if (!plan.swaps.empty()) return far + "leave the device";
  return report.peak_bytes_after <= report.budget_bytes
             ? "the order alone brings the peak under the budget"
             : "no tensor qualifies; the best order found is held, but stays above the budget";
}

// What one accelerator is rewritten for and with.
struct Task {
  DeviceId accelerator = kNoDevice;
  const Options& options;
  const Pricing& pricing;
  Clock::time_point deadline;
  bool done_before = false;
  PlanStore* store = nullptr;
};

Status SplitAndRewrite(const Task& task, Graph* graph, Report* report);

// One accelerator of the graph. Leaves the graph as it is unless the outcome is kRewritten.
// `splitting` is what was split before; null when that is still to be decided.
Status RewriteFor(const Task& task, const Splitting* splitting, Graph* graph, Report* report) {
  const auto& [accelerator, options, pricing, deadline, done_before, store] = task;
  const bool is_split = splitting != nullptr && !splitting->done.empty();
  report->device = graph->devices[Index(accelerator)].name;
  report->nodes = graph->size();
  if (done_before) {
    return Finish(Outcome::kAlreadyDone, "the graph carries tflms nodes or edges already", report);
  }
  TFLMS_ASSIGN_OR_RETURN(const GraphFacts facts, FindFacts(*graph));
  const Filters filters = FiltersFrom(options);
  const ProblemMap map = BuildProblem(*graph, facts, accelerator, filters);
  Describe(*graph, options, map, report);
  DescribeCosts(pricing, map.problem, report);
  for (std::string& sentence : WordsWithoutNode(filters, *graph)) {
    report->notes.push_back(std::move(sentence));
  }
  TFLMS_ASSIGN_OR_RETURN(report->peak_bytes_before, PeakAsItCame(map.problem));
  report->peak_bytes_after = report->peak_bytes_before;
  if (map.unknown_peers) {
    return Finish(Outcome::kDeclined,
                  "a collective operation has peers that are not known: order edges could make "
                  "devices wait for one another for ever",
                  report);
  }
  const DeviceId host = graph->devices[Index(accelerator)].host;
  if (host == kNoDevice) {
    return Finish(Outcome::kDeclined, "no host device is known for " + report->device, report);
  }
  const PlannerOptions wanted = PlannerOptionsOf(options, pricing.link, deadline);
  if (splitting == nullptr && options.split == "yes" && wanted.budget_bytes > 0 &&
      report->floor_bytes > wanted.budget_bytes) {
    return SplitAndRewrite(task, graph, report);
  }
  const PlanSubject subject{*graph, facts, map, accelerator};
  TFLMS_ASSIGN_OR_RETURN(Plan plan, FindPlan(subject, options, wanted, store, report));
  plan.pin_order |= is_split;  // what is around the pieces must not slip in between
  DescribeBounds(map.problem, plan, wanted.machine, report);
  TFLMS_ASSIGN_OR_RETURN(std::string conflict,
                         WhyBudgetsConflict(subject, options, wanted, plan, report));
  if (!conflict.empty()) return Finish(Outcome::kDeclined, std::move(conflict), report);
  if (plan.swaps.empty() && !plan.pin_order) {
    DescribeAllocator(*graph, map.problem, plan, report);
    return FinishUnchanged(options, report);
  }
  if (!report->plan_refused.empty()) {
    report->notes.push_back("planned anew, since the plan given does not fit: " +
                            report->plan_refused);
  }
  const Report without_plan = *report;
  KeepPlan(subject, plan, options, wanted.machine, report);
  DescribePlan(*graph, facts, map, plan, report);
  const SwapRequest request = RequestFromPlan(*graph, facts, map, plan, options, host);
  TFLMS_RETURN_IF_ERROR(ApplyRules(request, facts, plan, graph, report));
  if (report->nodes_added == 0 && report->control_edges_added == 0) {
    if (is_split) return Finish(Outcome::kRewritten, RewrittenReason(plan, *report), report);
    *report = without_plan;  // the graph's own edges hold the order already
    return FinishUnchanged(options, report);
  }
  return Finish(Outcome::kRewritten, RewrittenReason(plan, *report), report);
}

void DescribeSplitting(const Splitting& splitting, int64_t budget_bytes, Report* report) {
  report->split_operations = static_cast<int64_t>(splitting.done.size());
  for (const SplitOperation& done : splitting.done) {
    report->notes.push_back(done.node + " runs in " + std::to_string(done.pieces) +
                            " pieces: in one it needs " + FormatBytes(done.need_bytes) +
                            ", variables included; the budget is " + FormatBytes(budget_bytes));
  }
  if (!splitting.why_not.empty()) report->notes.push_back(splitting.why_not);
}

// Splits what is too large for the budget by itself, then rewrites. `report` describes the graph as
// it came.
Status SplitAndRewrite(const Task& task, Graph* graph, Report* report) {
  const PlannerOptions wanted = PlannerOptionsOf(task.options, task.pricing.link, task.deadline);
  const SplitLink link{wanted.machine.out_bytes_per_us, wanted.machine.in_bytes_per_us};
  const Graph before = *graph;
  Report inner;
  inner.graph = report->graph;
  TFLMS_ASSIGN_OR_RETURN(const Splitting splitting,
                         SplitWhereNeeded(task.accelerator, wanted.budget_bytes,
                                          FiltersFrom(task.options), link, graph));
  const Status status = RewriteFor(task, &splitting, graph, &inner);
  if (!status.ok() || inner.outcome != Outcome::kRewritten) *graph = before;
  if (inner.outcome == Outcome::kRewritten || !splitting.why_not.empty()) {
    DescribeSplitting(splitting, task.options.budget_bytes, &inner);
  }
  inner.nodes = before.size();
  inner.nodes_added = graph->size() - before.size();
  inner.control_edges_added = CountAddedControls(*graph) - CountAddedControls(before);
  inner.peak_bytes_before = report->peak_bytes_before;
  *report = std::move(inner);
  return status;
}

// "GPU" for ".../device:GPU:0", the name itself where it is not of that form.
std::string DeviceType(const std::string& name) {
  constexpr std::string_view kBefore = "device:";
  const size_t at = name.rfind(kBefore);
  if (at == std::string::npos) return name;
  const std::string type = name.substr(at + kBefore.size());
  return type.substr(0, type.find(':'));
}

// Why a graph without an accelerator of that type is left alone, and which types it has.
std::string NoAcceleratorReason(const Graph& graph, const std::string& wanted) {
  std::set<std::string> types;
  for (const Node& node : graph.nodes) {
    if (node.device != kNoDevice) types.insert(DeviceType(graph.devices[Index(node.device)].name));
  }
  std::string found;
  for (const std::string& type : types) found += (found.empty() ? "" : ", ") + type;
  return "no operation is placed on a device of type " + wanted + "; " +
         (found.empty() ? "none is placed anywhere" : "the graph's operations are on " + found);
}

// Accelerators share the host: each gets an equal part.
Options OptionsForEach(const Options& options, const Graph& graph) {
  Options each = options;
  const auto accelerators =
      std::count_if(graph.devices.begin(), graph.devices.end(),
                    [](const Device& device) { return device.kind == DeviceKind::kAccelerator; });
  if (accelerators > 1 && options.host_budget_bytes > 0) {
    each.host_budget_bytes = std::max<int64_t>(1, options.host_budget_bytes / accelerators);
  }
  return each;
}

// A graph whose operations have their costs.
Result<std::vector<Report>> RewritePriced(const Options& options, const Pricing& pricing,
                                          const std::string& graph_name, PlanStore* store,
                                          Graph* graph) {
  const Graph before = *graph;
  const bool done_before = HasBeenRewritten(before);
  const Options each = OptionsForEach(options, before);
  std::vector<Report> reports;
  const Clock::time_point deadline =
      Clock::now() + std::chrono::milliseconds(options.time_limit_ms);
  for (size_t device = 0; device < before.devices.size(); ++device) {
    if (before.devices[device].kind != DeviceKind::kAccelerator) continue;
    const Clock::time_point start = Clock::now();
    Report report;
    report.graph = graph_name;
    const Task task{static_cast<DeviceId>(device), each, pricing, deadline, done_before, store};
    const Status status = RewriteFor(task, nullptr, graph, &report);
    if (!status.ok()) {
      *graph = before;
      return status;
    }
    report.time_us =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
    reports.push_back(std::move(report));
  }
  const Status kept = VerifyRewrite(before, *graph);
  if (!kept.ok()) {
    *graph = before;
    return kept;
  }
  if (reports.empty()) {
    Report report;
    report.graph = graph_name;
    report.nodes = graph->size();
    report.outcome = Outcome::kNothingToSwap;
    report.reason = NoAcceleratorReason(before, options.device_type);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

Result<std::vector<Report>> Rewrite(const Options& options, const std::string& graph_name,
                                    Graph* graph, PlanStore* store,
                                    const Corrections& corrections) {
  TFLMS_RETURN_IF_ERROR(VerifyGraph(*graph));
  TFLMS_ASSIGN_OR_RETURN(const Pricing pricing, PriceGraph(options, graph, corrections));
  Result<std::vector<Report>> reports = RewritePriced(options, pricing, graph_name, store, graph);
  TakePricesBack(pricing, graph);
  return reports;
}

}  // namespace tflms
