// SPDX-License-Identifier: Apache-2.0
//
// Names for ids, and ids for names. See named_plan.h.

#include "src/rewrite/named_plan.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/base/text.h"
#include "src/planners/order.h"
#include "src/sim/clones.h"
#include "src/sim/simulator.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// "node:port" of the output that makes the buffer.
std::string RootName(const PlanSubject& subject, BufferId id) {
  const Buffer& root = subject.facts.buffers.buffers[Index(subject.map.graph_buffer[Index(id)])];
  return subject.graph.node(root.node).name + ":" + std::to_string(root.port);
}

NamedOp NameOf(const PlanSubject& subject, OpId op) {
  const int32_t nodes = subject.graph.size();
  if (op >= nodes) return {"", op - nodes, false};
  return {subject.graph.node(op).name, -1, !subject.map.problem.ops[Index(op)].on_device};
}

// The same for ops that are on the accelerator.
NamedOp DeviceName(const PlanSubject& subject, OpId op) {
  NamedOp name = NameOf(subject, op);
  name.host = false;
  return name;
}

Status DoesNotFit(const std::string& why) { return Status(StatusCode::kUnsupported, why); }

class Resolver {
 public:
  Resolver(const PlanSubject& subject, const NamedPlan& named)
      : subject_(subject), problem_(subject.map.problem), named_(named) {}

  Result<Plan> Run() {
    if (subject_.map.problem.ops.empty()) return DoesNotFit("the graph has no operation");
    const std::string& device = subject_.graph.devices[Index(subject_.accelerator)].name;
    if (named_.device != device) {
      return DoesNotFit("it is for " + named_.device + ", not " + device);
    }
    by_name_ = IndexByName(subject_.graph);
    TFLMS_RETURN_IF_ERROR(TakeClones());
    std::vector<OpId> sequence;
    TFLMS_RETURN_IF_ERROR(TakeOrder(&sequence));
    TFLMS_RETURN_IF_ERROR(CompareTensors());
    TFLMS_RETURN_IF_ERROR(TakeReads());
    const std::string fault = CheckClones(problem_, plan_);
    if (!fault.empty()) return DoesNotHold(fault);
    expansion_ = Expand(problem_, plan_);
    TFLMS_RETURN_IF_ERROR(CompleteOrder(sequence));
    TFLMS_RETURN_IF_ERROR(TakeSwaps());
    const std::string broken = CheckPlan(problem_, plan_);
    if (!broken.empty()) return DoesNotHold(broken);
    return std::move(plan_);
  }

 private:
  static Status DoesNotHold(const std::string& fault) {
    return DoesNotFit("it does not hold for this graph: " + fault);
  }

  Result<OpId> Find(const NamedOp& op) const {
    if (op.clone >= 0) return subject_.graph.size() + op.clone;
    const auto found = by_name_.find(op.node);
    if (found != by_name_.end()) return found->second;
    return DoesNotFit("the graph has no operation " + Quoted(op.node));
  }

  Status TakeClones() {
    for (const std::string& node : named_.clones) {
      TFLMS_ASSIGN_OR_RETURN(const OpId source, Find({node, -1, false}));
      if (!problem_.ops[Index(source)].repeatable) {
        return DoesNotFit("operation " + Quoted(node) + " may not run a second time");
      }
      plan_.clones.push_back(source);
    }
    plan_.pin_order = named_.pin_order;
    return Status();
  }

  // The ops of the plan's order that the graph has: all on the accelerator, each once.
  Status TakeOrder(std::vector<OpId>* sequence) const {
    std::vector<bool> seen(problem_.ops.size() + named_.clones.size(), false);
    for (const NamedOp& name : named_.order) {
      if (name.host && !by_name_.contains(name.node)) continue;
      TFLMS_ASSIGN_OR_RETURN(const OpId op, Find(name));
      if (seen[Index(op)]) return DoesNotFit("its order has " + Quoted(name.node) + " twice");
      seen[Index(op)] = true;
      sequence->push_back(op);
    }
    for (size_t op = 0; op < problem_.ops.size(); ++op) {
      if (problem_.ops[op].on_device && !seen[op]) {
        return DoesNotFit("the graph has operation " + Quoted(subject_.graph.nodes[op].name) +
                          ", which the plan has not");
      }
    }
    return Status();
  }

  Status CompareTensors() {
    const size_t count = problem_.buffers.size();
    for (size_t id = 0; id < count; ++id) {
      buffer_.emplace(RootName(subject_, static_cast<BufferId>(id)), static_cast<BufferId>(id));
    }
    std::vector<bool> seen(count, false);
    for (const auto& [tensor, bytes] : named_.tensors) {
      TFLMS_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(tensor));
      const int64_t now = problem_.buffers[Index(id)].size_bytes;
      if (now != bytes) {
        return DoesNotFit("tensor " + Quoted(tensor) + " has " + std::to_string(now) +
                          " bytes, and had " + std::to_string(bytes) + " when the plan was made");
      }
      seen[Index(id)] = true;
    }
    for (size_t id = 0; id < count; ++id) {
      if (seen[id]) continue;
      return DoesNotFit("the graph has tensor " +
                        Quoted(RootName(subject_, static_cast<BufferId>(id))) +
                        ", which the plan has not");
    }
    return Status();
  }

  Result<BufferId> FindBuffer(const std::string& tensor) const {
    const auto found = buffer_.find(tensor);
    if (found != buffer_.end()) return found->second;
    return DoesNotFit("the graph has no tensor " + Quoted(tensor) + " that counts");
  }

  Status TakeReads() {
    for (const NamedRead& named : named_.clone_reads) {
      CloneRead read;
      TFLMS_ASSIGN_OR_RETURN(read.buffer, FindBuffer(named.tensor));
      TFLMS_ASSIGN_OR_RETURN(read.reader, Find(named.reader));
      read.clone = named.clone;
      plan_.clone_reads.push_back(read);
    }
    std::sort(plan_.clone_reads.begin(), plan_.clone_reads.end(),
              [](const CloneRead& a, const CloneRead& b) {
                return std::pair(a.buffer, a.reader) < std::pair(b.buffer, b.reader);
              });
    return Status();
  }

  // `sequence`, with the ops that it leaves out where they are ready.
  Status CompleteOrder(const std::vector<OpId>& sequence) {
    Problem& expanded = expansion_.problem;
    plan_.order = sequence;
    if (sequence.size() == expanded.ops.size()) return Status();
    Problem held = expanded;
    for (size_t i = 1; i < sequence.size(); ++i) {
      const OpId from = sequence[i - 1], to = sequence[i];
      const int32_t group = expanded.ops[Index(from)].group;
      if (group > 0 && group == expanded.ops[Index(to)].group) continue;
      std::vector<OpId>& next = held.successors[Index(from)];
      const auto place = std::lower_bound(next.begin(), next.end(), to);
      if (place == next.end() || *place != to) next.insert(place, to);
    }
    plan_.order = MakeOrder(held, OrderPolicy::kReadyFirst);
    if (plan_.order.size() == expanded.ops.size()) return Status();
    return DoesNotFit("its order is against an edge of the graph");
  }

  // By original buffer and clone (-1: the first run): the buffer of the expanded problem.
  Result<BufferId> FindExpanded(const NamedGap& gap) const {
    TFLMS_ASSIGN_OR_RETURN(const BufferId original, FindBuffer(gap.tensor));
    if (gap.clone < 0) return original;
    for (size_t id = problem_.buffers.size(); id < expansion_.original.size(); ++id) {
      if (expansion_.original[id] == original && expansion_.clone[id] == gap.clone) {
        return static_cast<BufferId>(id);
      }
    }
    return DoesNotFit("clone " + std::to_string(gap.clone) + " does not make tensor " +
                      Quoted(gap.tensor));
  }

  Status TakeSwaps() {
    for (const NamedGap& named : named_.swaps) {
      SwapGap gap;
      TFLMS_ASSIGN_OR_RETURN(gap.buffer, FindExpanded(named));
      if (!expansion_.problem.buffers[Index(gap.buffer)].swappable) {
        const BufferId original = expansion_.original[Index(gap.buffer)];
        const std::string& why =
            subject_.map.why_kept[Index(subject_.map.graph_buffer[Index(original)])];
        return DoesNotFit("tensor " + Quoted(named.tensor) + " may not leave the device" +
                          (why.empty() ? "" : ": " + why));
      }
      TFLMS_ASSIGN_OR_RETURN(gap.leave_after, Find(named.leave_after));
      TFLMS_ASSIGN_OR_RETURN(gap.trigger, Find(named.trigger));
      TFLMS_ASSIGN_OR_RETURN(gap.back_for, Find(named.back_for));
      if (named.sync) {
        TFLMS_ASSIGN_OR_RETURN(gap.sync, Find(*named.sync));
      }
      plan_.swaps.push_back(gap);
    }
    const std::vector<int32_t> position = Positions(plan_.order);
    std::sort(plan_.swaps.begin(), plan_.swaps.end(), [&](const SwapGap& a, const SwapGap& b) {
      return std::pair(a.buffer, position[Index(a.back_for)]) <
             std::pair(b.buffer, position[Index(b.back_for)]);
    });
    return Status();
  }

  const PlanSubject& subject_;
  const Problem& problem_;
  const NamedPlan& named_;
  std::unordered_map<std::string_view, NodeId> by_name_;
  std::unordered_map<std::string, BufferId> buffer_;
  Expansion expansion_;
  Plan plan_;
};

}  // namespace

NamedPlan NamePlan(const PlanSubject& subject, const Plan& plan, const std::string& graph_name,
                   const Options& options, const Machine& machine) {
  NamedPlan named;
  named.fingerprint = GraphFingerprint(subject.graph, subject.accelerator);
  named.graph = graph_name;
  named.device = subject.graph.devices[Index(subject.accelerator)].name;
  named.budget_bytes = options.budget_bytes;
  named.options = OptionsThatShapePlans(options);
  const Expansion expansion = Expand(subject.map.problem, plan);
  const SimulationResult result = Simulate(expansion.problem, plan, machine);
  named.predicted_peak_bytes = PlannedMemory(expansion.problem, plan).peak_bytes;
  named.predicted_time_us = result.time_us;
  named.predicted_stall_us = result.stall_us;
  named.pin_order = plan.pin_order;
  for (OpId op : plan.order) named.order.push_back(NameOf(subject, op));
  for (OpId source : plan.clones) named.clones.push_back(subject.graph.node(source).name);
  for (size_t id = 0; id < subject.map.problem.buffers.size(); ++id) {
    named.tensors.emplace_back(RootName(subject, static_cast<BufferId>(id)),
                               subject.map.problem.buffers[id].size_bytes);
  }
  for (const SwapGap& gap : plan.swaps) {
    NamedGap& out = named.swaps.emplace_back();
    out.tensor = RootName(subject, expansion.original[Index(gap.buffer)]);
    out.clone = expansion.clone[Index(gap.buffer)];
    out.leave_after = DeviceName(subject, gap.leave_after);
    out.trigger = DeviceName(subject, gap.trigger);
    out.back_for = DeviceName(subject, gap.back_for);
    if (gap.sync != kNoOp) out.sync = DeviceName(subject, gap.sync);
  }
  for (const CloneRead& read : plan.clone_reads) {
    named.clone_reads.push_back(
        {RootName(subject, read.buffer), DeviceName(subject, read.reader), read.clone});
  }
  return named;
}

Result<Plan> PlanFromNames(const PlanSubject& subject, const NamedPlan& named) {
  return Resolver(subject, named).Run();
}

int64_t CountKnown(const Graph& graph, const NamedPlan& named) {
  const auto by_name = IndexByName(graph);
  return std::count_if(named.order.begin(), named.order.end(), [&](const NamedOp& op) {
    return op.clone < 0 && by_name.contains(op.node);
  });
}

}  // namespace tflms
