// SPDX-License-Identifier: Apache-2.0
//
// What peers build their plans with.
//
//   trace    ops in running order, an op again for each further run; a read takes what was made
//            last before it
//   turn     where an order's forward part ends: the position that most gaps over 1 op cross, in
//            training steps the loss

#ifndef TFLMS_BENCH_CORE_PEERS_BUILDING_H_
#define TFLMS_BENCH_CORE_PEERS_BUILDING_H_

#include <cstdint>
#include <vector>

#include "src/planners/gaps.h"
#include "src/sim/problem.h"
#include "src/sim/simulator.h"

namespace tflms {

// By op: the buffers it reads, and those it makes.
struct Touches {
  std::vector<std::vector<BufferId>> reads, makes;
};
Touches FindTouches(const Problem& problem);

// The plan that runs `trace`: every op in it at least once, repeatable ones more often.
Plan PlanFromTrace(const Problem& problem, const std::vector<OpId>& trace);

int32_t FindTurn(const Problem& problem, const std::vector<OpId>& order);

// By position: compute time before its op starts; one more for the end.
std::vector<int64_t> StartTimes(const Problem& problem, const std::vector<OpId>& order);

int64_t CopyMicros(int64_t bytes, double bytes_per_us);

// Adds a swap of `gap` that comes back when step `trigger_step` has ended, moved into the gap where
// it is outside. Nothing happens when the gap is too short. `sync`: the next op waits.
void AddSwap(const Gap& gap, const Steps& steps, int32_t trigger_step, bool sync, Plan* plan);

// Gives every first swap of a buffer that nobody waits for an op that does: the last one that keeps
// the memory under the slowest copies within the budget, else the first. `problem` is the expanded
// one. Orders the swaps as plans want them.
void SyncWhenNeeded(const Problem& problem, int64_t budget_bytes, Plan* plan);

// Peak under the slowest copies, clones included.
int64_t PeakOf(const Problem& problem, const Plan& plan);

// On the machine's clock, clones included.
SimulationResult SimulateExpanded(const Problem& problem, const Plan& plan, const Machine& machine);

// Builds traces from decisions what to drop and make again.
class TraceBuilder {
 public:
  TraceBuilder(const Problem& problem, std::vector<OpId> order);
  // `buffer` is dropped after `leave_after` and made again for its next use.
  void Drop(BufferId buffer, OpId leave_after);
  // Ops that run again together, when the first of them is needed again.
  void AddSegment(const std::vector<OpId>& ops);
  std::vector<OpId> Build();

 private:
  bool CanRerun(BufferId buffer) const;
  bool IsHere(BufferId buffer) const;
  void Rerun(BufferId buffer);
  void RerunOp(OpId op);
  void RerunSegment(int32_t segment);

  const Problem& problem_;
  const std::vector<OpId> order_;
  const Touches touches_;
  std::vector<int32_t> last_use_;               // by buffer: position of its last access
  std::vector<std::vector<BufferId>> dropped_;  // by op: dropped after it
  std::vector<bool> away_, again_;              // by buffer: dropped; made for the present op
  std::vector<int32_t> segment_of_;             // by op
  std::vector<std::vector<OpId>> segments_;
  std::vector<bool> segment_done_;
  std::vector<OpId> trace_;
  std::vector<BufferId> made_again_;
  int32_t position_ = 0;
};

}  // namespace tflms

#endif  // TFLMS_BENCH_CORE_PEERS_BUILDING_H_
