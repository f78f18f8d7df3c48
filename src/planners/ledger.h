// SPDX-License-Identifier: Apache-2.0
//
// The ledger of a plan in the making: along one order, which buffers stay, which are away on the
// host and which are made again, and what that sums up to at every position.
//
// Clones are not inserted into the order while decisions are made: the clone of an op has a slot, a
// position, and runs right before the op there. Keys put both on one line:
//
//   key(op at position p) = 2p + 1        key(clone with slot p) = 2p
//
// A buffer is accessed by ops and by clones that read it. Of a buffer that is made again, what
// comes at or behind the slot reads the clone's output instead. An op has at most one clone.
//
// Recomputing buffer b for its first access behind a gap, at slot q (closure):
//   need(v, q): clone of v at min(q, slot it has); for each buffer x that v reads
//     x on the device at q, or away and coming back later    x is read at q (it comes back for q)
//     x gone, or made again later than q                     need(producer(x), q) if x may be made
//                                                            again, else x is kept until q
// so that a chain costs what really has to run again, and what is cloned already costs nothing.
//
// Clones of one slot run one behind the other, in the order of their sources. What only they read
// is gone when the op of the slot runs: it counts as far as it needs more room than that op's own
// outputs and workspace.
//
// Changes are made in transactions: Begin, changes, then Excess... to see what they are worth, and
// Commit or Rollback. Cost of a change: O(accesses of the buffers touched); of its worth: O(stays
// changed x samples); of Commit: O(positions that it changes).

#ifndef TFLMS_PLANNERS_LEDGER_H_
#define TFLMS_PLANNERS_LEDGER_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "src/sim/problem.h"

namespace tflms {

using Key = int32_t;
inline constexpr Key kNever = std::numeric_limits<Key>::max();
inline Key OpKey(int32_t position) { return 2 * position + 1; }
inline Key SlotKey(int32_t position) { return 2 * position; }
inline int32_t PositionOf(Key key) { return key / 2; }

// One access, by an op or by the clone of one.
struct Access {
  Key key = 0;
  OpId op = kNoOp;
  bool by_clone = false;
  friend bool operator==(const Access&, const Access&) = default;
};

// Positions without the buffer, both ends included; none when from > to.
struct Window {
  int32_t from = 1;
  int32_t to = 0;
  bool empty() const { return from > to; }
  friend bool operator==(const Window&, const Window&) = default;
};

// A stay on the host, behind access `leave` of a buffer's line.
struct Away {
  Key leave = 0;
  Window window;
  friend bool operator==(const Away&, const Away&) = default;
};

// What one run of a buffer's producer is read by, and when it is away.
struct Line {
  std::vector<Access> accesses;  // by key; the producer (or its clone) first
  std::vector<Away> away;        // by leave
};

struct BufferLedger {
  Line first;               // the first run
  std::vector<Line> again;  // of each clone of the producer, by slot
  Key dropped_at = kNever;  // the slot whose clone serves the accesses at and behind it
};

inline constexpr int64_t kRaised = 8;
inline constexpr int32_t kAllPositions = std::numeric_limits<int32_t>::max();

// Positions within which a clone's output is rather kept than made once more.
inline constexpr int32_t kNear = 16;

class Ledger {
 public:
  Ledger(const Problem& problem, const std::vector<OpId>& order);

  const Problem& problem() const { return problem_; }
  const std::vector<OpId>& order() const { return order_; }
  int32_t position(OpId op) const { return position_[static_cast<size_t>(op)]; }
  int32_t positions() const { return static_cast<int32_t>(order_.size()); }
  const BufferLedger& buffer(BufferId id) const { return buffers_[static_cast<size_t>(id)]; }
  // Slots of the op's clones, ascending.
  const std::vector<Key>& slots(OpId op) const { return slots_[static_cast<size_t>(op)]; }
  const std::vector<int64_t>& memory() const { return memory_; }  // by position
  int64_t PeakBytes() const;
  // What the op at `position` needs itself, with what it reads: no choice goes lower there.
  int64_t WorkingSet(int32_t position) const;
  // Buffers that `op` reads and makes.
  const std::vector<BufferId>& reads(OpId op) const { return reads_[static_cast<size_t>(op)]; }
  const std::vector<BufferId>& makes(OpId op) const { return makes_[static_cast<size_t>(op)]; }

  void Begin();
  // The buffer is away behind access `leave` of its first run, during `window`.
  void SwapAway(BufferId id, Key leave, Window window);
  void EndSwap(BufferId id, Key leave);
  // Makes the buffer again for its first access behind `leave`. False when that cannot be (the
  // transaction is then to be rolled back): an op of the closure may not run again or a writer of
  // its state has run by then. Adds the run time of new clones to `time_us`.
  bool Recompute(BufferId id, Key leave, int64_t* time_us);
  // By how much the changes since Begin lower the sum over positions p of
  // max(0, memory(p) - limit_bytes(p)). A
  // byte that they raise somewhere counts as kRaised bytes lowered elsewhere: the more is raised,
  // the less can be done about it later. Of a run of positions that change alike at most `samples`
  // are looked at, and stand for the others.
  int64_t ExcessLowered(const std::vector<int64_t>& limit_bytes, int32_t samples = kAllPositions);
  void Commit();
  void Rollback();

 private:
  struct Saved {
    BufferId id;
    BufferLedger ledger;
  };
  struct Delta {
    int32_t from, to;
    int64_t bytes;
  };

  void BuildLines();
  void FindGivers();
  void CountOwn();
  BufferLedger& Touch(BufferId id);
  // Sees to a clone of `op` at or shortly before `slot`; `made_at` is where.
  bool Need(OpId op, Key slot, int64_t* time_us, Key* made_at);
  Key FirstOpBehind(OpId op, Key slot) const;
  void MoveClone(OpId op, Key from, Key to);
  void SetSlots(OpId op, std::vector<Key> slots);
  void ListClones(OpId op, const std::vector<Key>& slots, bool add);
  void CountSlots();
  int64_t ExtraAt(int32_t position) const;
  bool ReadByClone(BufferId id, OpId source, Key slot, int64_t* time_us);
  void DropBehind(BufferId id, Key slot);
  template <typename Visit>
  void ForEachStay(BufferId id, const BufferLedger& ledger, Visit visit) const;
  void CollectDeltas();
  int32_t LastPosition(BufferId id, const Line& line, bool first) const;

  const Problem& problem_;
  const std::vector<OpId> order_;
  const std::vector<int32_t> position_;
  std::vector<std::vector<BufferId>> reads_, makes_;  // by op
  std::vector<Key> must_precede_;                     // by op: no clone of it behind this key
  std::vector<OpId> taken_by_;  // by buffer: the op whose output takes its memory over, or kNoOp
  std::vector<BufferLedger> buffers_;
  std::vector<std::vector<Key>> slots_;       // by op
  std::vector<std::vector<OpId>> clones_at_;  // by position, in the order in which they run
  std::vector<int64_t> own_;                  // by position
  std::vector<int64_t> extra_;                // by position: of the clones there
  std::vector<int64_t> memory_;               // by position

  std::vector<Saved> saved_;
  std::vector<std::pair<OpId, std::vector<Key>>> saved_slots_;
  std::vector<int32_t> touched_slots_;  // positions
  std::vector<int32_t> touched_in_;     // by buffer: number of the transaction
  int32_t transaction_ = 0;
  int32_t closure_ = 0;  // ops that the present Recompute has visited
  std::vector<Delta> deltas_;
  std::vector<std::pair<int32_t, int64_t>> new_extra_;  // by position, of the transaction
  std::vector<std::pair<int32_t, int64_t>> changes_;    // (position, bytes more from there on)
};

}  // namespace tflms

#endif  // TFLMS_PLANNERS_LEDGER_H_
