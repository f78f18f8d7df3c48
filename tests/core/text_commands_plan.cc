// SPDX-License-Identifier: Apache-2.0
//
// Text commands that plan: plan, simulate, replay, rewrite, report.

#include <algorithm>
#include <charconv>

#include "src/base/text.h"
#include "src/graph/laws.h"
#include "src/planners/planner.h"
#include "src/rewrite/problem_builder.h"
#include "src/sim/bfc.h"
#include "src/sim/clones.h"
#include "src/sim/simulator.h"
#include "tests/core/text_commands.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

struct Planned {
  GraphFacts facts;
  ProblemMap map;
};

Result<Planned> Prepare(const Graph& graph) {
  Planned planned;
  TFLMS_ASSIGN_OR_RETURN(const DeviceId accelerator, AcceleratorOf(graph));
  TFLMS_ASSIGN_OR_RETURN(planned.facts, FindFacts(graph));
  planned.map = BuildProblem(graph, planned.facts, accelerator);
  return planned;
}

Status TakeInt32(RunArgs* args, std::string_view name, int32_t* value) {
  TFLMS_ASSIGN_OR_RETURN(const int64_t number, args->TakeNumber(name, *value));
  if (number < -1 || number > 1000000)
    return InvalidArgument(std::string(name) + "=: out of range");
  *value = static_cast<int32_t>(number);
  return Status();
}

Result<PlannerOptions> ReadPlannerOptions(RunArgs* args) {
  PlannerOptions options;
  TFLMS_ASSIGN_OR_RETURN(options.budget_bytes, args->TakeNumber("budget", 0));
  TFLMS_ASSIGN_OR_RETURN(options.min_swap_bytes, args->TakeNumber("min-swap-bytes", 0));
  TFLMS_RETURN_IF_ERROR(TakeInt32(args, "swapout-threshold", &options.swapout_threshold));
  TFLMS_RETURN_IF_ERROR(TakeInt32(args, "swapin-ahead", &options.swapin_ahead));
  TFLMS_RETURN_IF_ERROR(TakeInt32(args, "swapin-groupby", &options.swapin_groupby));
  TFLMS_RETURN_IF_ERROR(TakeInt32(args, "n-tensors", &options.n_tensors));
  TFLMS_RETURN_IF_ERROR(TakeInt32(args, "sync-mode", &options.sync_mode));
  TFLMS_ASSIGN_OR_RETURN(options.memory_bytes, args->TakeNumber("memory", 0));
  TFLMS_RETURN_IF_ERROR(TakeInt32(args, "branch-threshold", &options.branch_threshold));
  options.swap_branches = args->Take("swap-branches", "yes") == "yes";
  options.may_pin = args->Take("pin", "yes") == "yes";
  options.may_recompute = args->Take("recompute", "yes") == "yes";
  TFLMS_ASSIGN_OR_RETURN(options.host_bytes, args->TakeNumber("host", 0));
  return options;
}

// A clone has its source's name and its number: u+0.
std::string OpName(const Graph& graph, const Plan& plan, OpId op) {
  if (op == kNoOp) return "none";
  if (op < graph.size()) return graph.node(op).name;
  const auto clone = static_cast<size_t>(op - graph.size());
  return graph.node(plan.clones[clone]).name + "+" + std::to_string(clone);
}

std::string SwapLine(const Graph& graph, const Planned& planned, const Plan& plan,
                     const Expansion& expansion, const SwapGap& swap) {
  const auto index = static_cast<size_t>(swap.buffer);
  const BufferIndex buffer_index =
      planned.map.graph_buffer[static_cast<size_t>(expansion.original[index])];
  const int32_t port = planned.facts.buffers.buffers[static_cast<size_t>(buffer_index)].port;
  const auto name = [&](OpId op) { return OpName(graph, plan, op); };
  std::string line = "swap " + name(expansion.problem.buffers[index].producer) +
                     (port == 0 ? "" : ":" + std::to_string(port)) +
                     " out-after=" + name(swap.leave_after) + " back-for=" + name(swap.back_for) +
                     " in-after=" + name(swap.trigger);
  if (swap.sync != kNoOp) line += " wait=" + name(swap.sync);
  return line;
}

// "again u+0 after=a for=g,h": a clone, the op before it in the order, and who reads it.
std::string CloneLine(const Graph& graph, const Plan& plan, size_t clone) {
  const OpId op = graph.size() + static_cast<OpId>(clone);
  const auto place = std::find(plan.order.begin(), plan.order.end(), op);
  const OpId before = place == plan.order.begin() ? kNoOp : *(place - 1);
  std::string line =
      "again " + OpName(graph, plan, op) + " after=" + OpName(graph, plan, before) + " for=";
  bool first = true;
  for (const CloneRead& read : plan.clone_reads) {
    if (read.clone != static_cast<int32_t>(clone)) continue;
    line += (first ? "" : ",") + OpName(graph, plan, read.reader);
    first = false;
  }
  return line;
}

Result<double> TakeRate(RunArgs* args, std::string_view name, std::string_view otherwise) {
  const std::string text = args->Take(name, otherwise);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return InvalidArgument(std::string(name) + "=: expected bytes per microsecond");
  }
  return value;
}

Result<Options> ReadOptions(RunArgs* args) {
  Options options;
  options.min_swap_bytes = 0;
  options.safety = 1;
  for (const RunArgs::Arg& arg : args->TakeRest()) {
    TFLMS_RETURN_IF_ERROR(SetOption(arg.name, arg.value, &options));
  }
  return options;
}

// Runs the pipeline on every accelerator-typed device of the graph and checks the laws.
Result<std::vector<Report>> RunPipeline(const Graph& graph, RunArgs* args, Graph* after) {
  TFLMS_ASSIGN_OR_RETURN(const Options options, ReadOptions(args));
  *after = graph;
  TFLMS_ASSIGN_OR_RETURN(std::vector<Report> reports, Rewrite(options, "test", after));
  TFLMS_RETURN_IF_ERROR(VerifyRewrite(graph, *after));
  Graph twice = *after;
  TFLMS_RETURN_IF_ERROR(Rewrite(options, "test", &twice).status());
  if (twice.nodes != after->nodes) return LawBroken("L5 a second run changed the graph again");
  return reports;
}

}  // namespace

Result<Lines> PlanCommand(const Graph& graph, RunArgs* args, TextState* state) {
  TFLMS_ASSIGN_OR_RETURN(const Planned planned, Prepare(graph));
  const std::string name = args->Take("planner", PlannerCatalog().front().name);
  const PlannerEntry* planner = FindPlanner(name);
  if (planner == nullptr) return InvalidArgument("there is no planner " + Quoted(name));
  TFLMS_ASSIGN_OR_RETURN(const PlannerOptions options, ReadPlannerOptions(args));
  TFLMS_ASSIGN_OR_RETURN(Plan plan, planner->plan(planned.map.problem, options));
  const std::string fault = CheckPlan(planned.map.problem, plan);
  if (!fault.empty()) return LawBroken(fault);
  Lines lines;
  const Expansion expansion = Expand(planned.map.problem, plan);
  for (size_t i = 0; i < plan.clones.size(); ++i) lines.push_back(CloneLine(graph, plan, i));
  for (const SwapGap& swap : plan.swaps) {
    lines.push_back(SwapLine(graph, planned, plan, expansion, swap));
  }
  if (lines.empty()) lines.push_back("nothing");
  if (args->Take("show") == "order") {
    std::string order = plan.pin_order ? "pinned" : "order";
    for (OpId op : plan.order) order += " " + OpName(graph, plan, op);
    lines.push_back(std::move(order));
  }
  state->plan = std::move(plan);
  return lines;
}

Result<Lines> SimulateCommand(const Graph& graph, RunArgs* args, TextState* state) {
  TFLMS_ASSIGN_OR_RETURN(const Planned planned, Prepare(graph));
  const Plan plain = {planned.facts.order, false, {}};
  const Plan plan = state->plan.value_or(plain);
  const Problem problem = Expand(planned.map.problem, plan).problem;
  const std::string_view rate = args->Take("machine") == "unit" ? "1" : "0";
  Machine machine;
  TFLMS_ASSIGN_OR_RETURN(machine.out_bytes_per_us, TakeRate(args, "out", rate));
  TFLMS_ASSIGN_OR_RETURN(machine.in_bytes_per_us, TakeRate(args, "in", rate));
  const SimulationResult was = Simulate(planned.map.problem, plain, machine);
  const SimulationResult now = Simulate(problem, plan, machine);
  const MemoryView view = PlannedMemory(problem, plan);
  Lines lines;
  const auto add = [&](const std::string& key, int64_t value) {
    lines.push_back(key + "=" + std::to_string(value));
  };
  add("peak", now.peak_bytes);
  add("was-peak", was.peak_bytes);
  lines.push_back("at=" + OpName(graph, plan, now.peak_op));
  add("host-peak", now.host_peak_bytes);
  add("time", now.time_us);
  add("was-time", was.time_us);
  add("stall", now.stall_us);
  lines.push_back("stall-at=" + OpName(graph, plan, now.worst_stall_op));
  add("out-bytes", now.out_bytes);
  add("in-bytes", now.in_bytes);
  add("planned-peak", view.peak_bytes);
  std::string all;
  for (const std::string& field : lines) all += (all.empty() ? "" : " ") + field;
  return Lines{all};
}

Result<Lines> ReplayCommand(const Graph& graph, RunArgs* args, TextState* state) {
  TFLMS_ASSIGN_OR_RETURN(const Planned planned, Prepare(graph));
  const Plan plan = state->plan.value_or(Plan{planned.facts.order, false, {}});
  TFLMS_ASSIGN_OR_RETURN(const int64_t capacity, args->TakeNumber("capacity", 0));
  TFLMS_ASSIGN_OR_RETURN(const int64_t steps, args->TakeNumber("steps", 1));
  if (steps < 1 || steps > 1000) return InvalidArgument("steps=: expected 1 .. 1000");
  const BfcReplayResult result = ReplayBfc(Expand(planned.map.problem, plan).problem, plan,
                                           capacity, static_cast<int>(steps), 0);
  if (result.fits) return Lines{"fits=yes peak=" + std::to_string(result.peak_bytes)};
  const OpId op = plan.order[static_cast<size_t>(result.failed_position)];
  return Lines{"fits=no peak=" + std::to_string(result.peak_bytes) +
               " at=" + OpName(graph, plan, op) + " asked=" + std::to_string(result.failed_bytes)};
}

Result<Lines> RewriteCommand(const Graph& graph, RunArgs* args, TextState*) {
  Graph after;
  TFLMS_ASSIGN_OR_RETURN(const std::vector<Report> reports, RunPipeline(graph, args, &after));
  Lines lines;
  for (const Report& report : reports) {
    lines.push_back(std::string(OutcomeName(report.outcome)) + ": " + report.reason);
  }
  for (std::string& line : GraphLinesAfter(graph, after)) lines.push_back(std::move(line));
  return lines;
}

Result<Lines> ReportCommand(const Graph& graph, RunArgs* args, TextState*) {
  Graph after;
  TFLMS_ASSIGN_OR_RETURN(const std::vector<Report> reports, RunPipeline(graph, args, &after));
  Lines lines;
  for (const Report& report : reports) {
    const auto add = [&](const std::string& key, int64_t value) {
      lines.back() += " " + key + "=" + std::to_string(value);
    };
    lines.push_back("outcome=" + std::string(OutcomeName(report.outcome)));
    add("nodes", report.nodes);
    add("nodes-added", report.nodes_added);
    add("control-edges-added", report.control_edges_added);
    add("persistent", report.persistent_bytes);
    add("peak-before", report.peak_bytes_before);
    add("peak-after", report.peak_bytes_after);
    add("floor", report.floor_bytes);
    add("order-bound", report.order_bound_bytes);
    add("compute-time", report.compute_us);
    add("time-bound", report.time_bound_us);
    add("predicted-time", report.step_us);
    add("swapped", report.swapped_tensors);
    add("out-bytes", report.swap_out_bytes);
    add("in-bytes", report.swap_in_bytes);
    add("host-peak", report.host_peak_bytes);
    add("host-budget", report.host_budget_bytes);
    add("host-needed", report.host_needed_bytes);
    add("device-needed", report.device_needed_bytes);
    add("recomputed", report.recomputed_tensors);
    add("unknown-size", report.unknown_size_tensors);
    add("compiled", report.compiled_nodes);
    add("pinned", report.order_pinned ? 1 : 0);
    for (const SkipCount& skip : report.skipped) add("skip-" + skip.reason, skip.tensors);
  }
  return lines;
}

}  // namespace tflms
