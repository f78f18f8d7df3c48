// SPDX-License-Identifier: Apache-2.0
//
// Traces, swaps and times for peers. See building.h.

#include "bench/core/peers/building.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/sim/clones.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

}  // namespace

Touches FindTouches(const Problem& problem) {
  Touches touches{std::vector<std::vector<BufferId>>(problem.ops.size()),
                  std::vector<std::vector<BufferId>>(problem.ops.size())};
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    touches.makes[Index(buffer.producer)].push_back(static_cast<BufferId>(id));
    for (OpId use : buffer.uses) touches.reads[Index(use)].push_back(static_cast<BufferId>(id));
  }
  return touches;
}

Plan PlanFromTrace(const Problem& problem, const std::vector<OpId>& trace) {
  const Touches touches = FindTouches(problem);
  const OpId n = static_cast<OpId>(problem.ops.size());
  std::vector<bool> ran(problem.ops.size(), false);
  std::vector<int32_t> version(problem.buffers.size(), -1);
  Plan plan;
  plan.pin_order = true;
  for (OpId op : trace) {
    const bool again = ran[Index(op)];
    const int32_t clone = again ? static_cast<int32_t>(plan.clones.size()) : -1;
    const OpId reader = again ? n + clone : op;
    ran[Index(op)] = true;
    if (again) plan.clones.push_back(op);
    plan.order.push_back(reader);
    for (BufferId id : touches.reads[Index(op)]) {
      if (version[Index(id)] >= 0) plan.clone_reads.push_back({id, reader, version[Index(id)]});
    }
    if (!again) continue;
    for (BufferId id : touches.makes[Index(op)]) {
      if (problem.buffers[Index(id)].recomputable) version[Index(id)] = clone;
    }
  }
  std::sort(plan.clone_reads.begin(), plan.clone_reads.end(),
            [](const CloneRead& a, const CloneRead& b) {
              return std::pair(a.buffer, a.reader) < std::pair(b.buffer, b.reader);
            });
  return plan;
}

int32_t FindTurn(const Problem& problem, const std::vector<OpId>& order) {
  const std::vector<int32_t> position = Positions(order);
  std::vector<int32_t> delta(order.size() + 1, 0);
  for (const ProblemBuffer& buffer : problem.buffers) {
    const std::vector<OpId> accesses = Accesses(buffer, position);
    for (size_t i = 0; i + 1 < accesses.size(); ++i) {
      const int32_t from = position[Index(accesses[i])], to = position[Index(accesses[i + 1])];
      if (to - from <= 1) continue;
      ++delta[Index(from) + 1];
      --delta[Index(to)];
    }
  }
  int32_t crossing = 0, most = -1, turn = 0;
  for (size_t p = 0; p < order.size(); ++p) {
    crossing += delta[p];
    if (crossing > most) most = crossing, turn = static_cast<int32_t>(p);
  }
  return turn;
}

std::vector<int64_t> StartTimes(const Problem& problem, const std::vector<OpId>& order) {
  std::vector<int64_t> start = {0};
  for (OpId op : order) {
    const ProblemOp& info = problem.ops[Index(op)];
    start.push_back(start.back() + (info.on_device ? info.time_us : 0));
  }
  return start;
}

int64_t CopyMicros(int64_t bytes, double bytes_per_us) {
  return bytes_per_us > 0
             ? static_cast<int64_t>(std::ceil(static_cast<double>(bytes) / bytes_per_us))
             : 0;
}

void AddSwap(const Gap& gap, const Steps& steps, int32_t trigger_step, bool sync, Plan* plan) {
  if (gap.distance() < 2) return;
  const int32_t trigger = std::clamp(trigger_step, gap.leave_step + 1, gap.back_step - 1);
  const auto op = [&](int32_t step) { return steps.op[Index(step)]; };
  plan->swaps.push_back({gap.buffer, op(gap.leave_step), op(gap.back_step), op(trigger),
                         sync ? op(gap.leave_step + 1) : kNoOp});
}

void SyncWhenNeeded(const Problem& problem, int64_t budget_bytes, Plan* plan) {
  const Steps steps = FindSteps(problem, plan->order);
  const auto step = [&](OpId op) { return steps.step_of_op[Index(op)]; };
  const auto position = [&](int32_t s) { return steps.position[Index(steps.op[Index(s)])]; };
  std::sort(plan->swaps.begin(), plan->swaps.end(), [&](const SwapGap& a, const SwapGap& b) {
    return std::pair(a.buffer, step(a.back_for)) < std::pair(b.buffer, step(b.back_for));
  });
  std::vector<size_t> free;
  for (size_t i = 0; i < plan->swaps.size(); ++i) {
    SwapGap& swap = plan->swaps[i];
    const bool first = i == 0 || plan->swaps[i - 1].buffer != swap.buffer;
    if (!first) swap.sync = kNoOp;
    if (!first || swap.sync != kNoOp || step(swap.trigger) <= step(swap.leave_after)) continue;
    swap.sync = steps.op[Index(step(swap.leave_after)) + 1];
    free.push_back(i);
  }
  MemoryView view = PlannedMemory(problem, *plan);
  std::sort(free.begin(), free.end(), [&](size_t a, size_t b) {
    return step(plan->swaps[a].leave_after) < step(plan->swaps[b].leave_after);
  });
  for (size_t i : free) {
    SwapGap& swap = plan->swaps[i];
    const int64_t bytes = problem.buffers[Index(swap.buffer)].size_bytes;
    const auto fits = [&](int64_t at) { return at + bytes <= budget_bytes; };
    int32_t sync = step(swap.sync);
    for (; sync < step(swap.trigger); ++sync) {
      const auto from = position(sync), to = position(sync + 1);
      const auto running = view.running.begin(), waiting = view.waiting.begin();
      if (!std::all_of(running + from, running + to, fits)) break;
      if (!std::all_of(waiting + from + 1, waiting + to + 1, fits)) break;
      for (auto p = from; p < to; ++p) view.running[Index(p)] += bytes;
      for (auto p = from + 1; p <= to; ++p) view.waiting[Index(p)] += bytes;
    }
    swap.sync = steps.op[Index(sync)];
  }
}

int64_t PeakOf(const Problem& problem, const Plan& plan) {
  return PlannedMemory(Expand(problem, plan).problem, plan).peak_bytes;
}

SimulationResult SimulateExpanded(const Problem& problem, const Plan& plan,
                                  const Machine& machine) {
  return Simulate(Expand(problem, plan).problem, plan, machine);
}

TraceBuilder::TraceBuilder(const Problem& problem, std::vector<OpId> order)
    : problem_(problem), order_(std::move(order)), touches_(FindTouches(problem)) {
  const std::vector<int32_t> position = Positions(order_);
  for (const ProblemBuffer& buffer : problem.buffers) {
    last_use_.push_back(buffer.live_at_end ? static_cast<int32_t>(order_.size())
                                           : position[Index(Accesses(buffer, position).back())]);
  }
  dropped_.resize(problem.ops.size());
  away_.assign(problem.buffers.size(), false);
  again_ = away_;
  segment_of_.assign(problem.ops.size(), -1);
}

void TraceBuilder::Drop(BufferId buffer, OpId leave_after) {
  if (CanRerun(buffer)) dropped_[Index(leave_after)].push_back(buffer);
}

void TraceBuilder::AddSegment(const std::vector<OpId>& ops) {
  for (OpId op : ops) segment_of_[Index(op)] = static_cast<int32_t>(segments_.size());
  segments_.push_back(ops);
  segment_done_.push_back(false);
}

bool TraceBuilder::CanRerun(BufferId buffer) const {
  const ProblemBuffer& info = problem_.buffers[Index(buffer)];
  return info.recomputable && problem_.ops[Index(info.producer)].repeatable;
}

bool TraceBuilder::IsHere(BufferId buffer) const {
  if (again_[Index(buffer)]) return true;
  const int32_t segment = segment_of_[Index(problem_.buffers[Index(buffer)].producer)];
  if (segment >= 0 && segment_done_[Index(segment)]) return true;
  return !away_[Index(buffer)] && last_use_[Index(buffer)] >= position_;
}

void TraceBuilder::RerunOp(OpId op) {
  for (BufferId input : touches_.reads[Index(op)]) {
    if (!IsHere(input) && CanRerun(input)) Rerun(input);
  }
  trace_.push_back(op);
  for (BufferId id : touches_.makes[Index(op)]) {
    away_[Index(id)] = false;
    again_[Index(id)] = true;
    made_again_.push_back(id);
  }
}

// All of the segment that is dropped, and what that is made of.
void TraceBuilder::RerunSegment(int32_t segment) {
  const std::vector<OpId>& ops = segments_[Index(segment)];
  std::vector<bool> needed(problem_.ops.size(), false);
  for (size_t i = ops.size(); i-- > 0;) {
    bool need = needed[Index(ops[i])];
    for (BufferId id : touches_.makes[Index(ops[i])]) need = need || away_[Index(id)];
    if (!need) continue;
    needed[Index(ops[i])] = problem_.ops[Index(ops[i])].repeatable;
    for (BufferId id : touches_.reads[Index(ops[i])]) {
      if (!IsHere(id)) needed[Index(problem_.buffers[Index(id)].producer)] = true;
    }
  }
  for (OpId op : ops) {
    if (needed[Index(op)] && problem_.ops[Index(op)].repeatable) RerunOp(op);
  }
  segment_done_[Index(segment)] = true;
}

void TraceBuilder::Rerun(BufferId buffer) {
  const OpId op = problem_.buffers[Index(buffer)].producer;
  const int32_t segment = segment_of_[Index(op)];
  if (segment >= 0 && !segment_done_[Index(segment)]) RerunSegment(segment);
  if (!IsHere(buffer)) RerunOp(op);
}

std::vector<OpId> TraceBuilder::Build() {
  for (OpId op : order_) {
    for (BufferId input : touches_.reads[Index(op)]) {
      if (!IsHere(input) && CanRerun(input)) Rerun(input);
    }
    trace_.push_back(op);
    for (BufferId id : made_again_) again_[Index(id)] = false;
    made_again_.clear();
    for (BufferId id : dropped_[Index(op)]) away_[Index(id)] = true;
    ++position_;
  }
  return std::move(trace_);
}

}  // namespace tflms
