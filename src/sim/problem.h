// SPDX-License-Identifier: Apache-2.0
//
// Problem and Plan: what a planner is asked and what it answers. Numbers only; no graph.
//
// Glossary
//   op          one operation of one device's run; ops that only take part in the order (host
//               nodes, loop nodes) have on_device = false and own no device memory
//   buffer      one piece of device memory under all its names; made by its producer, read by uses
//   access      the producer or a use of a buffer; `gap` = two accesses next to one another in an
//               order, with nothing in between that touches the buffer
//   live range  from the start of the producer to the end of the last use
//   position    index in an order
//   swap-out    copy device -> host after which the device copy may go; swap-in: the way back
//   trigger     the op whose end lets a swap-in begin; sync: the op that waits for a swap-out
//   clone       a second run of an op, which makes its outputs again (recompute)
//
//   peak(order) = persistent_bytes + max over positions p of
//                 (sum of buffers live at p) + workspace(op at p)

#ifndef TFLMS_SIM_PROBLEM_H_
#define TFLMS_SIM_PROBLEM_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tflms {

using OpId = int32_t;
using BufferId = int32_t;
inline constexpr OpId kNoOp = -1;

struct ProblemOp {
  int64_t time_us = 1;          // > 0
  int64_t workspace_bytes = 0;  // >= 0
  bool on_device = true;        // runs on the planned accelerator
  // Order edges may start and end here: it runs in every step, outside loops and branches, and
  // blocks for nothing but its inputs.
  bool orderable = true;
  int32_t group = 0;  // > 0: ops of one group stand next to one another in every order
  // May run a second time and gives the same bits: pure, deterministic, touches no state, and none
  // of its inputs is out of reach (a loop's, of unknown size).
  bool repeatable = false;
};

struct ProblemBuffer {
  int64_t size_bytes = 0;  // > 0; buffers of unknown size are not part of a problem
  OpId producer = kNoOp;
  std::vector<OpId> uses;    // ascending by id, no duplicates, without the producer
  bool live_at_end = false;  // fetched: stays to the end of the step
  bool swappable = false;    // may leave the device between accesses
  bool recomputable =
      false;                // the producer is repeatable, and later uses can read a clone's output
  std::vector<OpId> holds;  // uses that must find it where it was made: it leaves behind them
  // Buffers whose memory this one takes over, when the producer is their last access (in-place
  // kernels): the first that qualifies, see FindTakeovers.
  std::vector<BufferId> may_reuse;
};

// `op` writes the persistent piece persistent_sizes[state]. While something still refers to the old
// value it does so into a new piece of memory, and the old one goes.
struct StateWrite {
  OpId op = kNoOp;
  int32_t state = -1;
  friend auto operator<=>(const StateWrite&, const StateWrite&) = default;
};

struct Problem {
  std::vector<ProblemOp> ops;
  std::vector<ProblemBuffer> buffers;
  // successors[op]: ops that may start only after `op` has ended. Ascending, no duplicates.
  std::vector<std::vector<OpId>> successors;
  int64_t persistent_bytes = 0;           // always on the device: variables and constants
  std::vector<int64_t> persistent_sizes;  // of them, those known one by one
  std::vector<StateWrite> state_writes;   // ascending, no duplicates
  // (reader, writer) of one state, ordered by both: a clone of the reader stands before the writer
  // too. The ops themselves are ordered by `successors`.
  std::vector<std::pair<OpId, OpId>> writes_after_reads;
};

// One stay of a buffer on the host: it leaves after `leave_after` and is back for `back_for`.
struct SwapGap {
  BufferId buffer = -1;
  OpId leave_after = kNoOp;  // last access before the gap
  OpId back_for = kNoOp;     // first access after the gap
  OpId trigger = kNoOp;      // swap-in begins when this op has ended; never kNoOp in a valid plan
  // This op waits for the swap-out, which makes the memory free from here on; kNoOp: nobody waits.
  OpId sync = kNoOp;
  friend bool operator==(const SwapGap&, const SwapGap&) = default;
};

// `reader`, an op or a clone, reads `buffer` as clones[clone] makes it again.
struct CloneRead {
  BufferId buffer = -1;
  OpId reader = kNoOp;
  int32_t clone = -1;
  friend bool operator==(const CloneRead&, const CloneRead&) = default;
};

// A plan for the problem as Expand (clones.h) gives it: clone i is op ops.size() + i there, and its
// outputs are buffers of their own. Without clones that is the problem itself.
struct Plan {
  std::vector<OpId> order;     // topological; every op and every clone once
  bool pin_order = false;      // order edges hold the on-device ops to `order`; always with clones
  std::vector<SwapGap> swaps;  // ordered by (buffer, position of back_for)
  std::vector<OpId> clones = {};            // the op that each clone runs again
  std::vector<CloneRead> clone_reads = {};  // ordered by (buffer, reader); what is not listed reads
                                            // the buffer of the first run
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Position of every op in `order`.
std::vector<int32_t> Positions(const std::vector<OpId>& order);

// Accesses of a buffer in the order of `position`: the producer first, then its uses.
std::vector<OpId> Accesses(const ProblemBuffer& buffer, const std::vector<int32_t>& position);

// Checks a plan against a problem, knowing no planner. Returns an empty string when every law
// holds, else one line naming the law and the op or buffer:
//   order-complete   every op exactly once
//   order-legal      no op before one it depends on; groups contiguous
//   gap-is-a-gap     leave_after and back_for are neighbouring accesses of the buffer
//   gap-swappable    the buffer may leave, and no op that holds it comes later
//   trigger-inside   leave_after <= trigger < back_for by position, orderable
//   sync-inside      leave_after < sync <= trigger by position, orderable
//   clone-legal      clones are of repeatable ops, in a pinned order
//   clone-read       only uses of a recomputable buffer read a clone, one of its producer
// and what these say of ops and buffers holds for clones and what they make as well.
std::string CheckPlan(const Problem& problem, const Plan& plan);

}  // namespace tflms

#endif  // TFLMS_SIM_PROBLEM_H_
