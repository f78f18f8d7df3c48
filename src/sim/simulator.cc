// SPDX-License-Identifier: Apache-2.0
//
// Simulate: a plan on a machine with a clock and three lanes. See simulator.h.
//
//   start(op) = max(end of the op before, arrivals of what comes back for op,
//                   ends of the copies out that op waits for)
//   copy out of x: asked for at the end of x's producer; copy in: at the end of its trigger, but
//   not before the copy out has ended; each lane serves in the order of asking device bytes of x:
//   from start(producer) to max(end of last access before the gap, end of the copy out); again from
//   the asking of the copy in
//
// Ops that are not on the device take no time on the compute lane.

#include "src/sim/simulator.h"

#include <algorithm>
#include <cmath>

#include "src/base/checked_math.h"
#include "src/sim/residency.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

struct MemoryEvent {
  int64_t time_us;
  int64_t bytes;  // negative = free
  OpId op;
};

int64_t CopyTime(int64_t bytes, double bytes_per_us) {
  return bytes_per_us > 0
             ? static_cast<int64_t>(std::ceil(static_cast<double>(bytes) / bytes_per_us))
             : 0;
}

class Run {
 public:
  Run(const Problem& problem, const Plan& plan, const Machine& machine)
      : problem_(problem), plan_(plan), machine_(machine), position_(Positions(plan.order)) {
    IndexWork();
  }

  SimulationResult Execute() {
    int64_t now = 0;
    for (OpId op : plan_.order) {
      int64_t start = now;
      for (size_t gap : back_for_[Index(op)]) start = std::max(start, arrival_[gap]);
      for (size_t gap : sync_[Index(op)]) {
        start = std::max(start, out_end_[Index(plan_.swaps[gap].buffer)]);
      }
      if (start > now) NoteStall(op, start - now);
      const bool on_device = problem_.ops[Index(op)].on_device;
      const int64_t end = on_device ? start + problem_.ops[Index(op)].time_us : start;
      RunOp(op, start, end);
      now = std::max(now, end);
    }
    result_.time_us = now;
    FindPeaks();
    return result_;
  }

 private:
  void IndexWork() {
    const size_t n = problem_.ops.size();
    back_for_.resize(n), sync_.resize(n), triggers_.resize(n), leave_.resize(n);
    makes_.resize(n), last_.resize(n);
    arrival_.assign(plan_.swaps.size(), 0);
    out_end_.assign(problem_.buffers.size(), 0);
    std::vector<bool> swapped(problem_.buffers.size(), false);
    for (size_t gap = 0; gap < plan_.swaps.size(); ++gap) {
      const SwapGap& swap = plan_.swaps[gap];
      swapped[Index(swap.buffer)] = true;
      back_for_[Index(swap.back_for)].push_back(gap);
      triggers_[Index(swap.trigger)].push_back(gap);
      leave_[Index(swap.leave_after)].push_back(gap);
      if (swap.sync != kNoOp) sync_[Index(swap.sync)].push_back(gap);
    }
    swapped_ = std::move(swapped);
    std::vector<bool> handed_on(problem_.buffers.size(), false);
    for (BufferId giver : FindTakeovers(problem_, position_)) {
      if (giver >= 0) handed_on[Index(giver)] = true;
    }
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      makes_[Index(problem_.buffers[id].producer)].push_back(static_cast<BufferId>(id));
    }
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      const ProblemBuffer& buffer = problem_.buffers[id];
      if (buffer.live_at_end) continue;
      last_[Index(Accesses(buffer, position_).back())].push_back(
          {static_cast<BufferId>(id), handed_on[id]});
    }
  }

  void RunOp(OpId op, int64_t start, int64_t end) {
    const int64_t workspace = problem_.ops[Index(op)].workspace_bytes;
    if (workspace > 0) {
      device_.push_back({start, workspace, op});
      device_.push_back({end, -workspace, op});
    }
    for (BufferId id : makes_[Index(op)]) {
      const int64_t bytes = problem_.buffers[Index(id)].size_bytes;
      device_.push_back({start, bytes, op});
      if (swapped_[Index(id)]) {
        out_free_ = std::max(out_free_, end) + CopyTime(bytes, machine_.out_bytes_per_us);
        out_end_[Index(id)] = out_free_;
        result_.out_bytes = SaturatingAdd(result_.out_bytes, bytes);
        host_.push_back({end, bytes, op});
      }
    }
    for (size_t gap : leave_[Index(op)]) {
      const BufferId id = plan_.swaps[gap].buffer;
      device_.push_back(
          {std::max(end, out_end_[Index(id)]), -problem_.buffers[Index(id)].size_bytes, op});
    }
    for (const auto& [id, handed_on] : last_[Index(op)]) {
      const int64_t bytes = problem_.buffers[Index(id)].size_bytes;
      // Memory that is handed on counts once: it goes when its taker is made.
      device_.push_back({handed_on ? start : end, -bytes, op});
      if (swapped_[Index(id)]) host_.push_back({end, -bytes, op});
    }
    for (size_t gap : triggers_[Index(op)]) {
      const BufferId id = plan_.swaps[gap].buffer;
      const int64_t bytes = problem_.buffers[Index(id)].size_bytes;
      const int64_t asked = std::max(end, out_end_[Index(id)]);
      in_free_ = std::max(in_free_, asked) + CopyTime(bytes, machine_.in_bytes_per_us);
      arrival_[gap] = in_free_;
      result_.in_bytes = SaturatingAdd(result_.in_bytes, bytes);
      device_.push_back({asked, bytes, plan_.swaps[gap].back_for});
    }
  }

  void NoteStall(OpId op, int64_t stall_us) {
    result_.stall_us += stall_us;
    if (stall_us > worst_stall_us_) {
      worst_stall_us_ = stall_us;
      result_.worst_stall_op = op;
    }
  }

  // At equal times frees come first.
  static int64_t Peak(int64_t base, std::vector<MemoryEvent>* events, OpId* op) {
    std::stable_sort(
        events->begin(), events->end(), [](const MemoryEvent& a, const MemoryEvent& b) {
          return a.time_us != b.time_us ? a.time_us < b.time_us : a.bytes < 0 && b.bytes >= 0;
        });
    int64_t at = base, peak = base;
    for (const MemoryEvent& event : *events) {
      at = SaturatingAdd(at, event.bytes);
      if (at > peak) {
        peak = at;
        *op = event.op;
      }
    }
    return peak;
  }

  void FindPeaks() {
    OpId host_op = kNoOp;
    result_.peak_bytes = Peak(problem_.persistent_bytes, &device_, &result_.peak_op);
    result_.host_peak_bytes = Peak(0, &host_, &host_op);
  }

  const Problem& problem_;
  const Plan& plan_;
  const Machine machine_;
  const std::vector<int32_t> position_;
  // By op: the plan's gaps that return for it, are waited for, triggered or begun by it.
  std::vector<std::vector<size_t>> back_for_, sync_, triggers_, leave_;
  std::vector<std::vector<BufferId>> makes_;
  std::vector<std::vector<std::pair<BufferId, bool>>> last_;  // (buffer, handed on)
  std::vector<bool> swapped_;
  std::vector<int64_t> arrival_;  // by gap
  std::vector<int64_t> out_end_;  // by buffer
  int64_t out_free_ = 0, in_free_ = 0, worst_stall_us_ = 0;
  std::vector<MemoryEvent> device_, host_;
  SimulationResult result_;
};

}  // namespace

SimulationResult Simulate(const Problem& problem, const Plan& plan, const Machine& machine) {
  return Run(problem, plan, machine).Execute();
}

}  // namespace tflms
