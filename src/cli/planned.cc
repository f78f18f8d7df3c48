// SPDX-License-Identifier: Apache-2.0
//
// Plans read off rewritten graphs. O((V + E + accesses) log).

#include "src/cli/planned.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "src/base/text.h"
#include "src/cli/planned_clones.h"
#include "src/graph/laws.h"
#include "src/planners/order.h"
#include "src/rewrite/pricing.h"
#include "src/sim/bfc.h"
#include "tflms/rewrite.h"

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// An order of all ops in which those of `sequence` follow one another as given, but for members of
// a group, which stand together in an order of their own. Empty when the two conflict.
std::vector<OpId> OrderAround(const Problem& problem, const std::vector<OpId>& sequence) {
  Problem held = problem;
  for (size_t i = 1; i < sequence.size(); ++i) {
    const OpId from = sequence[i - 1], to = sequence[i];
    const int32_t group = problem.ops[Index(from)].group;
    if (group > 0 && group == problem.ops[Index(to)].group) continue;
    std::vector<OpId>& next = held.successors[Index(from)];
    const auto place = std::lower_bound(next.begin(), next.end(), to);
    if (place == next.end() || *place != to) next.insert(place, to);
  }
  return MakeOrder(held, OrderPolicy::kReadyFirst);
}

// The on-device ops and clones in the order that the pipeline planned.
std::vector<OpId> SequenceOf(const Graph& after, const std::vector<OpId>& op_of,
                             const Report& report) {
  const auto by_name = IndexByName(after);
  std::vector<OpId> sequence;
  for (const TimelinePoint& point : report.timeline) {
    const auto found = by_name.find(point.node);
    if (found == by_name.end()) continue;
    const OpId op = op_of[Index(found->second)];
    if (op != kNoOp) sequence.push_back(op);
  }
  return sequence;
}

// The on-device ops and clones in a topological order of `after`, which added nodes and edges
// constrain further.
Result<std::vector<OpId>> SequenceOfRewritten(const Problem& problem, const Graph& after,
                                              const std::vector<OpId>& op_of) {
  TFLMS_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(after));
  std::vector<OpId> sequence;
  for (NodeId id : order) {
    const OpId op = op_of[Index(id)];
    if (op != kNoOp && problem.ops[Index(op)].on_device) sequence.push_back(op);
  }
  return sequence;
}

class PlanReader {
 public:
  PlanReader(const Graph& after, const CloneReader& clones, const Expansion& expansion,
             std::vector<OpId> order)
      : after_(after),
        clones_(clones),
        problem_(expansion.problem),
        op_of_(clones.op_of()),
        readers_(after_),
        position_(Positions(order)) {
    plan_.order = std::move(order);
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      buffer_of_[{expansion.original[id], expansion.clone[id]}] = static_cast<BufferId>(id);
    }
  }

  Plan Run() {
    for (NodeId id = 0; id < after_.size(); ++id) {
      if (after_.node(id).role == NodeRole::kSwapIn) ReadSwapIn(id);
    }
    plan_.clones = clones_.clones();
    plan_.clone_reads = clones_.reads();
    plan_.pin_order = HasOrderEdges() || !plan_.clones.empty();
    std::sort(plan_.swaps.begin(), plan_.swaps.end(), [&](const SwapGap& a, const SwapGap& b) {
      return std::pair(a.buffer, position_[Index(a.back_for)]) <
             std::pair(b.buffer, position_[Index(b.back_for)]);
    });
    KeepFirstSyncs();
    return std::move(plan_);
  }

 private:
  int32_t At(OpId op) const { return position_[Index(op)]; }

  void ReadSwapIn(NodeId in) {
    if (after_.node(in).inputs.size() != 1) return;
    const NodeId out = after_.node(in).inputs[0].node;
    if (after_.node(out).inputs.size() != 1) return;
    const Input& from = after_.node(out).inputs[0];
    const CloneReader::Run run = clones_.RunBehind(from);
    if (run.buffer < 0) return;
    const BufferId buffer = buffer_of_.at({run.buffer, run.clone});
    SwapGap gap{buffer, kNoOp, kNoOp, kNoOp, kNoOp};
    for (const Reader* reader = readers_.begin(in); reader != readers_.end(in); ++reader) {
      const OpId op = op_of_[Index(reader->node)];
      if (op == kNoOp) continue;
      if (gap.back_for == kNoOp || At(op) < At(gap.back_for)) gap.back_for = op;
    }
    if (gap.back_for == kNoOp) return;
    for (OpId access : Accesses(problem_.buffers[Index(buffer)], position_)) {
      if (At(access) < At(gap.back_for)) gap.leave_after = access;
    }
    if (gap.leave_after == kNoOp) return;
    gap.trigger = TriggerOf(in, gap.leave_after);
    gap.sync = SyncOf(out);
    plan_.swaps.push_back(gap);
  }

  OpId TriggerOf(NodeId in, OpId leave_after) const {
    OpId trigger = leave_after;
    for (NodeId from : after_.node(in).control_inputs) {
      const OpId op = op_of_[Index(from)];
      if (op == kNoOp || !problem_.ops[Index(op)].orderable) continue;
      if (At(op) > At(trigger)) trigger = op;
    }
    return trigger;
  }

  OpId SyncOf(NodeId out) const {
    OpId sync = kNoOp;
    for (const NodeId* to = readers_.control_begin(out); to != readers_.control_end(out); ++to) {
      const OpId op = op_of_[Index(*to)];
      if (op != kNoOp && (sync == kNoOp || At(op) < At(sync))) sync = op;
    }
    return sync;
  }

  // A copy out is made once: only the buffer's first gap is waited for, and only inside it.
  void KeepFirstSyncs() {
    for (size_t i = 0; i < plan_.swaps.size(); ++i) {
      SwapGap& gap = plan_.swaps[i];
      const bool first = i == 0 || plan_.swaps[i - 1].buffer != gap.buffer;
      if (gap.sync == kNoOp ||
          (first && At(gap.sync) > At(gap.leave_after) && At(gap.sync) <= At(gap.trigger))) {
        continue;
      }
      gap.sync = kNoOp;
    }
  }

  // True when an added edge joins two nodes of the graph as it came.
  bool HasOrderEdges() const {
    return std::any_of(after_.nodes.begin(), after_.nodes.end(), [&](const Node& node) {
      if (node.role != NodeRole::kOriginal) return false;
      for (size_t i = 1; i <= Index(node.added_controls); ++i) {
        const NodeId from = node.control_inputs[node.control_inputs.size() - i];
        if (after_.node(from).role == NodeRole::kOriginal) return true;
      }
      return false;
    });
  }

  const Graph& after_;
  const CloneReader& clones_;
  const Problem& problem_;  // with clones
  const std::vector<OpId>& op_of_;
  const Readers readers_;
  const std::vector<int32_t> position_;
  std::map<std::pair<BufferId, int32_t>, BufferId> buffer_of_;  // by (buffer, clone)
  Plan plan_;
};

// The pipeline's report for the device, or an empty one.
Report ReportFor(const std::vector<Report>& reports, const std::string& device) {
  for (const Report& report : reports) {
    if (report.device == device) return report;
  }
  return Report();
}

Result<Planned> ExamineDevice(const PlannedGraph& graphs, DeviceId device, const Filters& filters) {
  Planned planned;
  planned.device = device;
  planned.map = BuildProblem(graphs.before, graphs.facts, device, filters);
  const Problem& problem = planned.map.problem;
  planned.expansion = Expand(problem, {});
  for (const Node& node : graphs.before.nodes) planned.names.push_back(node.name);
  planned.floor = WorkingSetFloor(problem);
  planned.as_it_came.order = MakeOrder(problem, OrderPolicy::kReadyFirst);
  if (planned.as_it_came.order.size() != problem.ops.size()) {
    return LawBroken("L4: the operations cannot be ordered; two groups wait for one another");
  }
  planned.memory_as_it_came = PlannedMemory(problem, planned.as_it_came);
  return planned;
}

// The plan that `graphs.after` carries out on one device.
Status ReadPlan(const PlannedGraph& graphs, Planned* planned) {
  planned->report = ReportFor(graphs.reports, graphs.before.devices[Index(planned->device)].name);
  Problem& first_runs = planned->map.problem;
  const CloneReader clones(graphs.before, graphs.after, graphs.facts, planned->map,
                           planned->device);
  planned->names = clones.Names();
  // What runs again may: without shape inference, less is known here than when that was decided.
  for (OpId source : clones.clones()) first_runs.ops[Index(source)].repeatable = true;
  for (const CloneRead& read : clones.reads()) {
    first_runs.buffers[Index(read.buffer)].recomputable = true;
  }
  Plan with_clones;
  with_clones.pin_order = true;
  with_clones.clones = clones.clones();
  with_clones.clone_reads = clones.reads();
  std::string fault = CheckClones(first_runs, with_clones);
  if (!fault.empty()) return LawBroken("the plan in this graph does not hold: " + fault);
  planned->expansion = Expand(first_runs, with_clones);
  const Problem& problem = planned->expansion.problem;
  std::vector<OpId> sequence = SequenceOf(graphs.after, clones.op_of(), planned->report);
  if (graphs.rewritten_before) {
    TFLMS_ASSIGN_OR_RETURN(sequence, SequenceOfRewritten(problem, graphs.after, clones.op_of()));
  }
  std::vector<OpId> order = OrderAround(problem, sequence);
  if (sequence.empty() || order.size() != problem.ops.size()) {
    order = MakeOrder(problem, OrderPolicy::kReadyFirst);
  }
  planned->plan = PlanReader(graphs.after, clones, planned->expansion, std::move(order)).Run();
  // Where the graph's own edges hold the order already, there are none to be read.
  planned->plan.pin_order |= planned->report.order_pinned;
  fault = CheckPlan(first_runs, planned->plan);
  if (!fault.empty()) return LawBroken("the plan in this graph does not hold: " + fault);
  planned->memory = PlannedMemory(problem, planned->plan);
  return Status();
}

}  // namespace

Result<PlannedGraph> ExamineGraph(const Options& options, const Graph& graph) {
  PlannedGraph graphs;
  graphs.rewritten_before = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) {
    return n.role != NodeRole::kOriginal || n.added_controls > 0;
  });
  graphs.before = graphs.rewritten_before ? EraseRewrite(graph) : graph;
  graphs.after = graph;
  TFLMS_ASSIGN_OR_RETURN(graphs.facts, FindFacts(graphs.before));
  // For the problems only: the graph itself is compared with what it is rewritten to.
  TFLMS_ASSIGN_OR_RETURN(const Pricing pricing, PriceGraph(options, &graphs.before));
  for (size_t id = 0; id < graphs.before.devices.size(); ++id) {
    if (graphs.before.devices[id].kind != DeviceKind::kAccelerator) continue;
    TFLMS_ASSIGN_OR_RETURN(Planned planned,
                           ExamineDevice(graphs, static_cast<DeviceId>(id), FiltersFrom(options)));
    graphs.planned.push_back(std::move(planned));
  }
  TakePricesBack(pricing, &graphs.before);
  return graphs;
}

Result<PlannedGraph> PlanGraph(const Options& options, const std::string& name,
                               const Graph& graph) {
  TFLMS_ASSIGN_OR_RETURN(PlannedGraph graphs, ExamineGraph(options, graph));
  Options whole = options;
  whole.split = "no";  // what is shown is a plan for the graph as it came
  if (graph.nodes.empty()) {
    graphs.planned.clear();
    Report& report = graphs.reports.emplace_back();
    report.graph = name;
    report.outcome = tflms::Outcome::kNothingToSwap;
    report.reason = "the graph has no nodes";
    return graphs;
  }
  TFLMS_ASSIGN_OR_RETURN(graphs.reports, Rewrite(whole, name, &graphs.after));
  for (Planned& planned : graphs.planned) {
    TFLMS_RETURN_IF_ERROR(ReadPlan(graphs, &planned));
  }
  return graphs;
}

bool PlanFits(const Problem& problem, const Plan& plan, int64_t peak_bytes, int64_t budget_bytes) {
  return peak_bytes <= budget_bytes &&
         FitsInBfc(problem, plan, budget_bytes, kReplaySteps, kReplaySeeds);
}

}  // namespace tflms::cli
