// SPDX-License-Identifier: Apache-2.0
//
// One decision changed. See decisions.h.

#include "src/rewrite/decisions.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "src/sim/clones.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Takes out clones that nobody reads, those that only such clones read with them, and numbers the
// rest anew: ops in the order, readers, swaps. Swaps of what they made go too.
class CloneSweeper {
 public:
  CloneSweeper(const Problem& problem, const Plan& plan)
      : problem_(problem), plan_(plan), alive_(plan.clones.size(), true) {}

  Plan Run() {
    while (DropUnread()) {
    }
    Number();
    Plan out;
    out.pin_order = plan_.pin_order;
    for (OpId op : plan_.order) {
      if (Has(op)) out.order.push_back(op_[Index(op)]);
    }
    for (size_t i = 0; i < plan_.clones.size(); ++i) {
      if (alive_[i]) out.clones.push_back(plan_.clones[i]);
    }
    for (CloneRead read : plan_.clone_reads) {
      if (!Has(read.reader)) continue;
      read.reader = op_[Index(read.reader)];
      read.clone = clone_[Index(read.clone)];
      out.clone_reads.push_back(read);
    }
    TakeSwaps(&out);
    return out;
  }

 private:
  bool IsClone(OpId op) const { return Index(op) >= problem_.ops.size(); }
  size_t CloneOf(OpId op) const { return Index(op) - problem_.ops.size(); }
  bool Has(OpId op) const { return !IsClone(op) || alive_[CloneOf(op)]; }

  bool DropUnread() {
    std::vector<bool> read(plan_.clones.size(), false);
    for (const CloneRead& entry : plan_.clone_reads) {
      if (Has(entry.reader)) read[Index(entry.clone)] = true;
    }
    bool dropped = false;
    for (size_t i = 0; i < alive_.size(); ++i) {
      dropped |= alive_[i] && !read[i];
      alive_[i] = alive_[i] && read[i];
    }
    return dropped;
  }

  void Number() {
    const size_t n = problem_.ops.size();
    for (size_t op = 0; op < n; ++op) op_.push_back(static_cast<OpId>(op));
    int32_t next = 0;
    for (const bool alive : alive_) {
      clone_.push_back(alive ? next : -1);
      op_.push_back(alive ? static_cast<OpId>(n) + next : kNoOp);
      next += alive ? 1 : 0;
    }
  }

  // A swap that began or ended at a clone that is gone begins or ends at the access next to it.
  void TakeSwaps(Plan* out) const {
    const Expansion before = Expand(problem_, plan_), after = Expand(problem_, *out);
    const std::vector<int32_t> position = Positions(out->order);
    for (SwapGap gap : plan_.swaps) {
      const int32_t clone = before.clone[Index(gap.buffer)];
      if (clone >= 0 && !alive_[Index(clone)]) continue;
      gap.buffer = BufferOf(after, before.original[Index(gap.buffer)],
                            clone < 0 ? -1 : clone_[Index(clone)]);
      gap.trigger = Step(gap.trigger, -1, before.problem);
      if (gap.sync != kNoOp) gap.sync = Step(gap.sync, 1, before.problem);
      const int32_t at = gap.trigger == kNoOp ? -1 : position[Index(gap.trigger)];
      gap.leave_after = gap.back_for = kNoOp;
      for (OpId access : Accesses(after.problem.buffers[Index(gap.buffer)], position)) {
        if (position[Index(access)] <= at) gap.leave_after = access;
        if (position[Index(access)] > at && gap.back_for == kNoOp) gap.back_for = access;
      }
      if (gap.leave_after == kNoOp || gap.back_for == kNoOp) continue;
      if (gap.sync != kNoOp && (position[Index(gap.sync)] > at ||
                                position[Index(gap.sync)] <= position[Index(gap.leave_after)])) {
        gap.sync = kNoOp;
      }
      AddSwap(gap, out);
    }
  }

  // Two gaps that became one: as the first leaves and the second comes back.
  static void AddSwap(const SwapGap& gap, Plan* out) {
    for (SwapGap& other : out->swaps) {
      if (other.buffer != gap.buffer || other.back_for != gap.back_for) continue;
      other.trigger = gap.trigger;
      return;
    }
    out->swaps.push_back(gap);
  }

  // The op under its new number; for one that is gone, the next in this direction that is there
  // and that order edges may hold.
  OpId Step(OpId op, int direction, const Problem& expanded) const {
    if (Has(op)) return op_[Index(op)];
    const auto place = std::find(plan_.order.begin(), plan_.order.end(), op);
    for (auto at = place - plan_.order.begin() + direction; at >= 0 && at < std::ssize(plan_.order);
         at += direction) {
      const OpId other = plan_.order[static_cast<size_t>(at)];
      if (Has(other) && expanded.ops[Index(other)].orderable) return op_[Index(other)];
    }
    return kNoOp;
  }

  static BufferId BufferOf(const Expansion& expansion, BufferId original, int32_t clone) {
    for (size_t id = 0; id < expansion.original.size(); ++id) {
      if (expansion.original[id] == original && expansion.clone[id] == clone) {
        return static_cast<BufferId>(id);
      }
    }
    return original;
  }

  const Problem& problem_;
  const Plan& plan_;
  std::vector<bool> alive_;
  std::vector<int32_t> clone_;  // by clone: its new number
  std::vector<OpId> op_;        // by op: its new number
};

void SortSwaps(Plan* plan) {
  const std::vector<int32_t> position = Positions(plan->order);
  std::sort(plan->swaps.begin(), plan->swaps.end(), [&](const SwapGap& a, const SwapGap& b) {
    return std::pair(a.buffer, position[Index(a.back_for)]) <
           std::pair(b.buffer, position[Index(b.back_for)]);
  });
}

Result<Plan> Checked(const Problem& problem, Plan plan) {
  SortSwaps(&plan);
  const std::string fault = CheckPlan(problem, plan);
  if (fault.empty()) return plan;
  return LawBroken(fault);
}

// Ends each swap that `access`, a new reader of these buffers, falls into: the buffer is back for
// it.
void EndSwapsAt(const Problem& expanded, OpId access, const std::vector<int32_t>& position,
                const std::vector<BufferId>& read, Plan* plan) {
  const int32_t at = position[Index(access)];
  OpId before = kNoOp;
  for (int32_t p = at - 1; p >= 0 && before == kNoOp; --p) {
    const OpId op = plan->order[Index(p)];
    if (expanded.ops[Index(op)].orderable) before = op;
  }
  for (SwapGap& gap : plan->swaps) {
    const bool reads = std::find(read.begin(), read.end(), gap.buffer) != read.end();
    if (!reads || position[Index(gap.leave_after)] > at || position[Index(gap.back_for)] < at) {
      continue;
    }
    gap.back_for = access;
    if (before != kNoOp && position[Index(gap.trigger)] >= at) gap.trigger = before;
    if (gap.sync != kNoOp && position[Index(gap.sync)] > position[Index(gap.trigger)]) {
      gap.sync = kNoOp;
    }
  }
}

// The clone whose output the last reader before `at` reads, so that it is there: -1 = the first
// run's.
int32_t VersionAt(const Problem& problem, const Plan& plan, BufferId buffer, int32_t at,
                  const std::vector<int32_t>& position) {
  int32_t version = -1, last = -1;
  for (const CloneRead& read : plan.clone_reads) {
    const int32_t reader = position[Index(read.reader)];
    if (read.buffer != buffer || reader >= at || reader <= last) continue;
    last = reader;
    version = read.clone;
  }
  for (OpId use : problem.buffers[Index(buffer)].uses) {
    const int32_t reader = position[Index(use)];
    const bool first_run = std::none_of(
        plan.clone_reads.begin(), plan.clone_reads.end(),
        [&](const CloneRead& read) { return read.buffer == buffer && read.reader == use; });
    if (first_run && reader < at && reader > last) {
      last = reader;
      version = -1;
    }
  }
  return version;
}

// Adds a clone of the buffer's producer right before `back_for`; its number.
int32_t AddClone(const Problem& problem, BufferId buffer, OpId back_for, Plan* plan) {
  const OpId source = problem.buffers[Index(buffer)].producer;
  const auto number = static_cast<int32_t>(plan->clones.size());
  const auto op = static_cast<OpId>(problem.ops.size()) + number;
  const std::vector<int32_t> old_position = Positions(plan->order);
  const int32_t at = old_position[Index(back_for)];
  std::vector<CloneRead> reads;  // the new clone's: it has no old position
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const std::vector<OpId>& uses = problem.buffers[id].uses;
    if (!std::binary_search(uses.begin(), uses.end(), source)) continue;
    const int32_t version = VersionAt(problem, *plan, static_cast<BufferId>(id), at, old_position);
    if (version >= 0) reads.push_back({static_cast<BufferId>(id), op, version});
  }
  plan->clone_reads.insert(plan->clone_reads.end(), reads.begin(), reads.end());
  plan->clones.push_back(source);
  plan->order.insert(plan->order.begin() + at, op);
  plan->pin_order = true;
  return number;
}

}  // namespace

const char* FateName(Fate fate) {
  switch (fate) {
    case Fate::kKept:
      return "kept";
    case Fate::kSwapped:
      return "swapped";
    case Fate::kRecomputed:
      return "recomputed";
  }
  return "unknown";
}

Fate FateOf(const Plan& plan, BufferId buffer) {
  for (const CloneRead& read : plan.clone_reads) {
    if (read.buffer == buffer) return Fate::kRecomputed;
  }
  for (const SwapGap& gap : plan.swaps) {
    if (gap.buffer == buffer) return Fate::kSwapped;
  }
  return Fate::kKept;
}

Result<Plan> KeepTensor(const Problem& problem, const Plan& plan, BufferId buffer) {
  Plan out = plan;
  std::erase_if(out.swaps, [&](const SwapGap& gap) { return gap.buffer == buffer; });
  std::erase_if(out.clone_reads, [&](const CloneRead& read) { return read.buffer == buffer; });
  return Checked(problem, CloneSweeper(problem, out).Run());
}

std::vector<AccessGap> GapsOf(const Problem& problem, const Plan& plan, BufferId buffer) {
  const Problem expanded = Expand(problem, plan).problem;
  const std::vector<OpId> accesses =
      Accesses(expanded.buffers[Index(buffer)], Positions(plan.order));
  std::vector<AccessGap> gaps;
  for (size_t i = 1; i < accesses.size(); ++i) gaps.push_back({accesses[i - 1], accesses[i]});
  return gaps;
}

Result<Plan> SwapTensor(const Problem& problem, const Plan& plan, BufferId buffer,
                        const AccessGap& gap, const Machine& machine) {
  const Problem expanded = Expand(problem, plan).problem;
  const std::vector<int32_t> position = Positions(plan.order);
  const int32_t from = position[Index(gap.leave_after)], to = position[Index(gap.back_for)];
  const double rate = machine.in_bytes_per_us;
  const double copy_us =
      rate > 0 ? static_cast<double>(problem.buffers[Index(buffer)].size_bytes) / rate : 0;
  SwapGap swap{buffer, gap.leave_after, gap.back_for, kNoOp, kNoOp};
  double hidden_us = 0;
  for (int32_t p = to - 1; p >= from; --p) {
    const OpId op = plan.order[Index(p)];
    const ProblemOp& info = expanded.ops[Index(op)];
    // The last op behind which enough compute is left; the earliest, when there is none.
    if (info.orderable) swap.trigger = op;
    if (swap.trigger != kNoOp && hidden_us >= copy_us) break;
    if (info.on_device) hidden_us += static_cast<double>(info.time_us);
  }
  if (swap.trigger == kNoOp) return Unsupported("no operation in between can start the copy back");
  for (int32_t p = from + 1; p <= position[Index(swap.trigger)] && swap.sync == kNoOp; ++p) {
    const OpId op = plan.order[Index(p)];
    if (expanded.ops[Index(op)].on_device && expanded.ops[Index(op)].orderable) swap.sync = op;
  }
  Plan out = plan;
  out.swaps.push_back(swap);
  return Checked(problem, std::move(out));
}

Result<Plan> RecomputeTensor(const Problem& problem, const Plan& plan, BufferId buffer,
                             const AccessGap& gap) {
  if (!problem.buffers[Index(buffer)].recomputable) {
    return Unsupported("its operation may not run a second time");
  }
  const std::vector<OpId> readers = Expand(problem, plan).problem.buffers[Index(buffer)].uses;
  Plan out = plan;
  const int32_t clone = AddClone(problem, buffer, gap.back_for, &out);
  const std::vector<int32_t> position = Positions(out.order);
  for (OpId reader : readers) {
    if (position[Index(reader)] < position[Index(gap.back_for)]) continue;
    out.clone_reads.push_back({buffer, reader, clone});
  }
  std::sort(out.clone_reads.begin(), out.clone_reads.end(),
            [](const CloneRead& a, const CloneRead& b) {
              return std::pair(a.buffer, a.reader) < std::pair(b.buffer, b.reader);
            });
  const std::string fault = CheckClones(problem, out);
  if (!fault.empty()) return LawBroken(fault);
  // What a new clone makes is numbered last: the swaps' buffers keep their numbers.
  const Expansion expansion = Expand(problem, out);
  const auto op = static_cast<OpId>(problem.ops.size()) + clone;
  std::vector<BufferId> read;
  for (size_t id = 0; id < expansion.problem.buffers.size(); ++id) {
    const std::vector<OpId>& uses = expansion.problem.buffers[id].uses;
    if (std::binary_search(uses.begin(), uses.end(), op)) read.push_back(static_cast<BufferId>(id));
  }
  EndSwapsAt(expansion.problem, op, position, read, &out);
  return Checked(problem, std::move(out));
}

}  // namespace tflms
