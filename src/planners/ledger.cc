// SPDX-License-Identifier: Apache-2.0
//
// Transactions on the ledger. See ledger.h.

#include "src/planners/ledger.h"

#include <algorithm>

#include "src/base/checked_math.h"
#include "src/sim/residency.h"

namespace tflms {
namespace {

// Ops that one closure may run again: chains beyond that are not worth their price.
constexpr int32_t kMaxClosure = 128;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

bool Before(const Access& a, const Access& b) {
  return std::pair(a.key, a.op) < std::pair(b.key, b.op);
}

// Only clones of the slot in which it is made read it.
bool IsTransient(const Line& line) { return line.accesses.back().key == line.accesses.front().key; }

// Puts the access at its place; a stay on the host around it ends there.
void AddAccess(Line* line, Access access) {
  const auto at = std::lower_bound(line->accesses.begin(), line->accesses.end(), access, Before);
  if (at != line->accesses.end() && *at == access) return;
  const bool is_last = at == line->accesses.end();
  line->accesses.insert(at, access);
  if (is_last) return;
  for (Away& away : line->away) {
    if (away.leave < access.key) {
      away.window.to = std::min(away.window.to, PositionOf(access.key) - 1);
    }
    if (away.leave > access.key) break;
  }
}

}  // namespace

Ledger::Ledger(const Problem& problem, const std::vector<OpId>& order)
    : problem_(problem), order_(order), position_(Positions(order)) {
  const size_t n = problem.ops.size();
  reads_.resize(n), makes_.resize(n);
  must_precede_.assign(n, kNever);
  slots_.resize(n);
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    makes_[Index(buffer.producer)].push_back(static_cast<BufferId>(id));
    for (OpId use : buffer.uses) reads_[Index(use)].push_back(static_cast<BufferId>(id));
  }
  for (const auto& [reader, writer] : problem.writes_after_reads) {
    must_precede_[Index(reader)] = std::min(must_precede_[Index(reader)], OpKey(position(writer)));
  }
  touched_in_.assign(problem.buffers.size(), 0);
  BuildLines();
  FindGivers();
  clones_at_.resize(order.size());
  CountOwn();
  extra_.assign(order.size(), 0);
  memory_.assign(order.size(), problem.persistent_bytes);
  for (size_t p = 0; p < order.size(); ++p) {
    memory_[p] = SaturatingAdd(memory_[p], problem.ops[Index(order[p])].workspace_bytes);
  }
  for (size_t id = 0; id < buffers_.size(); ++id) {
    ForEachStay(static_cast<BufferId>(id), buffers_[id], [&](int32_t from, int32_t to) {
      for (int32_t p = from; p <= to; ++p) {
        memory_[Index(p)] = SaturatingAdd(memory_[Index(p)], problem.buffers[id].size_bytes);
      }
    });
  }
}

void Ledger::BuildLines() {
  buffers_.resize(problem_.buffers.size());
  for (size_t id = 0; id < buffers_.size(); ++id) {
    const ProblemBuffer& buffer = problem_.buffers[id];
    std::vector<Access>& accesses = buffers_[id].first.accesses;
    accesses.push_back({OpKey(position(buffer.producer)), buffer.producer, false});
    for (OpId use : buffer.uses) accesses.push_back({OpKey(position(use)), use, false});
    std::sort(accesses.begin(), accesses.end(), Before);
  }
}

void Ledger::FindGivers() {
  taken_by_.assign(buffers_.size(), kNoOp);
  const std::vector<BufferId> giver_of = FindTakeovers(problem_, position_);
  for (size_t id = 0; id < giver_of.size(); ++id) {
    if (giver_of[id] >= 0) taken_by_[Index(giver_of[id])] = problem_.buffers[id].producer;
  }
}

// What each op needs for itself: workspace, and outputs that take over no input's memory.
void Ledger::CountOwn() {
  for (OpId op : order_) {
    int64_t bytes = problem_.ops[Index(op)].workspace_bytes;
    const bool takes = std::any_of(reads(op).begin(), reads(op).end(),
                                   [&](BufferId read) { return taken_by_[Index(read)] == op; });
    for (BufferId id : makes(op)) {
      if (!takes) bytes += problem_.buffers[Index(id)].size_bytes;
    }
    own_.push_back(bytes);
  }
}

int64_t Ledger::PeakBytes() const {
  int64_t peak = problem_.persistent_bytes;
  for (int64_t bytes : memory_) peak = std::max(peak, bytes);
  return peak;
}

int64_t Ledger::WorkingSet(int32_t position) const {
  int64_t bytes = SaturatingAdd(problem_.persistent_bytes, own_[Index(position)]);
  for (BufferId id : reads(order_[Index(position)])) {
    bytes = SaturatingAdd(bytes, problem_.buffers[Index(id)].size_bytes);
  }
  return bytes;
}

int32_t Ledger::LastPosition(BufferId id, const Line& line, bool first) const {
  if (first && problem_.buffers[Index(id)].live_at_end) return positions() - 1;
  const Access& last = line.accesses.back();
  return PositionOf(last.key) - (last.op == taken_by_[Index(id)] ? 1 : 0);
}

template <typename Visit>
void Ledger::ForEachStay(BufferId id, const BufferLedger& ledger, Visit visit) const {
  const auto stays_of = [&](const Line& line, bool first) {
    if (!first && IsTransient(line)) return;
    int32_t from = PositionOf(line.accesses.front().key);
    for (const Away& away : line.away) {
      if (away.window.empty()) continue;
      visit(from, away.window.from - 1);
      from = away.window.to + 1;
    }
    const int32_t last = LastPosition(id, line, first);
    if (from <= last) visit(from, last);
  };
  stays_of(ledger.first, true);
  for (const Line& line : ledger.again) stays_of(line, false);
}

void Ledger::Begin() {
  saved_.clear();
  saved_slots_.clear();
  touched_slots_.clear();
  ++transaction_;
}

BufferLedger& Ledger::Touch(BufferId id) {
  BufferLedger& ledger = buffers_[Index(id)];
  if (touched_in_[Index(id)] != transaction_) {
    touched_in_[Index(id)] = transaction_;
    saved_.push_back({id, ledger});
  }
  return ledger;
}

void Ledger::SwapAway(BufferId id, Key leave, Window window) {
  Line& line = Touch(id).first;
  EndSwap(id, leave);
  const Away away{leave, window};
  const auto at = std::lower_bound(line.away.begin(), line.away.end(), away,
                                   [](const Away& a, const Away& b) { return a.leave < b.leave; });
  line.away.insert(at, away);
}

void Ledger::EndSwap(BufferId id, Key leave) {
  std::erase_if(Touch(id).first.away, [&](const Away& away) { return away.leave == leave; });
}

bool Ledger::Recompute(BufferId id, Key leave, int64_t* time_us) {
  const ProblemBuffer& buffer = problem_.buffers[Index(id)];
  const Line& line = buffers_[Index(id)].first;
  const auto next = std::find_if(line.accesses.begin(), line.accesses.end(),
                                 [&](const Access& access) { return access.key > leave; });
  if (!buffer.recomputable || buffer.live_at_end || next == line.accesses.end()) return false;
  closure_ = 0;
  const Key slot = SlotKey(PositionOf(next->key));
  Key made_at = kNever;
  if (slot <= leave || !Need(buffer.producer, slot, time_us, &made_at) || made_at <= leave) {
    return false;
  }
  DropBehind(id, made_at);
  return true;
}

void Ledger::SetSlots(OpId op, std::vector<Key> slots) {
  std::vector<Key>& now = slots_[Index(op)];
  saved_slots_.emplace_back(op, now);
  ListClones(op, now, false);
  ListClones(op, slots, true);
  now = std::move(slots);
}

void Ledger::ListClones(OpId op, const std::vector<Key>& slots, bool add) {
  for (Key slot : slots) {
    touched_slots_.push_back(PositionOf(slot));
    std::vector<OpId>& clones = clones_at_[Index(PositionOf(slot))];
    if (!add) {
      std::erase(clones, op);
      continue;
    }
    const auto at = std::partition_point(
        clones.begin(), clones.end(), [&](OpId other) { return position(other) < position(op); });
    clones.insert(at, op);
  }
}

// The key of the first op that reads what the clone at `slot` makes; kNever when only clones do.
Key Ledger::FirstOpBehind(OpId op, Key slot) const {
  Key first = kNever;
  for (BufferId id : makes(op)) {
    for (const Line& line : buffers_[Index(id)].again) {
      if (line.accesses.front().key != slot) continue;
      for (const Access& access : line.accesses) {
        if (!access.by_clone) first = std::min(first, access.key);
      }
    }
  }
  return first;
}

bool Ledger::Need(OpId op, Key slot, int64_t* time_us, Key* made_at) {
  const ProblemOp& info = problem_.ops[Index(op)];
  if (!info.repeatable || slot > must_precede_[Index(op)] || ++closure_ > kMaxClosure) return false;
  const std::vector<Key>& slots = slots_[Index(op)];
  const auto behind = std::upper_bound(slots.begin(), slots.end(), slot);
  if (behind != slots.begin() && slot - behind[-1] <= 2 * kNear) {
    *made_at = behind[-1];
    return true;
  }
  *made_at = slot;
  if (behind != slots.end() && FirstOpBehind(op, *behind) - slot <= 2 * kNear) {
    MoveClone(op, *behind, slot);
  } else {
    *time_us += info.time_us;
    std::vector<Key> more = slots;
    more.insert(more.begin() + (behind - slots.begin()), slot);
    SetSlots(op, std::move(more));
    for (BufferId id : makes(op)) {
      std::vector<Line>& again = Touch(id).again;
      const auto at = std::find_if(again.begin(), again.end(), [&](const Line& line) {
        return line.accesses.front().key > slot;
      });
      again.insert(at, {{{slot, op, true}}, {}});
    }
  }
  for (BufferId id : reads(op)) {
    if (!ReadByClone(id, op, slot, time_us)) return false;
  }
  return true;
}

// Takes the clone's reads off and moves what it makes; the reads at the new slot are the caller's.
void Ledger::MoveClone(OpId op, Key from, Key to) {
  std::vector<Key> slots = slots_[Index(op)];
  std::replace(slots.begin(), slots.end(), from, to);
  SetSlots(op, std::move(slots));
  for (BufferId id : reads(op)) {
    BufferLedger& ledger = Touch(id);
    std::erase(ledger.first.accesses, Access{from, op, true});
    for (Line& line : ledger.again) {
      if (std::erase(line.accesses, Access{from, op, true}) == 0) continue;
      touched_slots_.push_back(PositionOf(line.accesses.front().key));
    }
  }
  for (BufferId id : makes(op)) {
    BufferLedger& ledger = Touch(id);
    for (Line& line : ledger.again) {
      if (line.accesses.front().key == from) line.accesses.front().key = to;
    }
    if (ledger.dropped_at == from) DropBehind(id, to);
  }
}

// The clone of `source` at `slot` reads the buffer: of the first run where that is there, else made
// again.
bool Ledger::ReadByClone(BufferId id, OpId source, Key slot, int64_t* time_us) {
  const ProblemBuffer& buffer = problem_.buffers[Index(id)];
  const Access access{slot, source, true};
  const bool reaches = buffer.live_at_end || buffers_[Index(id)].first.accesses.back().key >= slot;
  if (reaches || !buffer.recomputable) {
    AddAccess(&Touch(id).first, access);
    return true;
  }
  Key made_at = kNever;
  if (!Need(buffer.producer, slot, time_us, &made_at)) return false;
  for (Line& line : Touch(id).again) {
    if (line.accesses.front().key == made_at) AddAccess(&line, access);
  }
  touched_slots_.push_back(PositionOf(made_at));
  return true;
}

// Whoever comes at or behind the slot reads what the clone there makes.
void Ledger::DropBehind(BufferId id, Key slot) {
  BufferLedger& ledger = Touch(id);
  ledger.dropped_at = slot;
  touched_slots_.push_back(PositionOf(slot));
  const auto made = std::find_if(ledger.again.begin(), ledger.again.end(), [&](const Line& line) {
    return line.accesses.front().key == slot;
  });
  std::vector<Access>& first = ledger.first.accesses;
  for (const Access& access : first) {
    if (access.key >= slot) AddAccess(&*made, access);
  }
  std::erase_if(first, [&](const Access& access) { return access.key >= slot; });
  const Key last = first.back().key;
  std::erase_if(ledger.first.away, [&](const Away& away) { return away.leave >= last; });
}

// What the clones before the op at `position` need beyond what that op needs itself.
int64_t Ledger::ExtraAt(int32_t position) const {
  const Key slot = SlotKey(position);
  int64_t kept = own_[Index(position)];
  struct Waiting {
    int32_t until;  // position of the source of its last reader
    int64_t bytes;
    bool taken;
  };
  std::vector<Waiting> waiting;
  int64_t live = 0, peak = 0;
  const auto free_up_to = [&](int32_t source, bool taken) {
    std::erase_if(waiting, [&](const Waiting& one) {
      const bool goes = one.until < source || (one.until == source && one.taken == taken);
      if (goes) live -= one.bytes;
      return goes;
    });
  };
  for (OpId clone : clones_at_[Index(position)]) {
    const int32_t source = this->position(clone);
    free_up_to(source, true);
    for (BufferId id : makes(clone)) {
      const int64_t bytes = problem_.buffers[Index(id)].size_bytes;
      live += bytes;
      for (const Line& line : buffers_[Index(id)].again) {
        if (line.accesses.front().key != slot) continue;
        if (!IsTransient(line)) {
          kept += bytes;
          continue;
        }
        Waiting one{source, bytes, false};
        for (const Access& access : line.accesses) {
          if (this->position(access.op) < one.until) continue;
          one.until = this->position(access.op);
          one.taken = access.op == taken_by_[Index(id)];
        }
        waiting.push_back(one);
      }
    }
    peak = std::max(peak, live + problem_.ops[Index(clone)].workspace_bytes);
    free_up_to(source, false);
  }
  return std::max<int64_t>(0, peak - kept);
}

// New extras of the slots that the transaction has changed.
void Ledger::CountSlots() {
  std::sort(touched_slots_.begin(), touched_slots_.end());
  touched_slots_.erase(std::unique(touched_slots_.begin(), touched_slots_.end()),
                       touched_slots_.end());
  new_extra_.clear();
  for (int32_t position : touched_slots_) new_extra_.emplace_back(position, ExtraAt(position));
}

void Ledger::CollectDeltas() {
  deltas_.clear();
  for (const Saved& saved : saved_) {
    const int64_t bytes = problem_.buffers[Index(saved.id)].size_bytes;
    ForEachStay(saved.id, saved.ledger, [&](int32_t from, int32_t to) {
      deltas_.push_back({from, to, -bytes});
    });
    ForEachStay(saved.id, buffers_[Index(saved.id)], [&](int32_t from, int32_t to) {
      deltas_.push_back({from, to, bytes});
    });
  }
  CountSlots();
  for (const auto& [position, bytes] : new_extra_) {
    deltas_.push_back({position, position, bytes - extra_[Index(position)]});
  }
}

int64_t Ledger::ExcessLowered(const std::vector<int64_t>& limit_bytes, int32_t samples) {
  CollectDeltas();
  changes_.clear();
  for (const Delta& delta : deltas_) {
    changes_.emplace_back(delta.from, delta.bytes);
    changes_.emplace_back(delta.to + 1, -delta.bytes);
  }
  std::sort(changes_.begin(), changes_.end());
  int64_t lowered = 0, change = 0;
  for (size_t i = 0; i + 1 < changes_.size(); ++i) {
    change += changes_[i].second;
    const int32_t from = changes_[i].first, behind = changes_[i + 1].first;
    if (change == 0 || from == behind) continue;
    const int32_t stride = (behind - from - 1) / samples + 1;
    for (int32_t p = from; p < behind; p += stride) {
      const int64_t over = memory_[Index(p)] - limit_bytes[Index(p)];
      const int64_t less = std::max<int64_t>(over, 0) - std::max<int64_t>(over + change, 0);
      lowered += (less < 0 ? kRaised * less : less) * std::min(stride, behind - p);
    }
  }
  return lowered;
}

void Ledger::Commit() {
  CollectDeltas();
  for (const Delta& delta : deltas_) {
    for (int32_t p = delta.from; p <= delta.to; ++p) memory_[Index(p)] += delta.bytes;
  }
  for (const auto& [position, bytes] : new_extra_) extra_[Index(position)] = bytes;
  Begin();
}

void Ledger::Rollback() {
  for (Saved& saved : saved_) buffers_[Index(saved.id)] = std::move(saved.ledger);
  for (size_t i = saved_slots_.size(); i-- > 0;) {
    auto& [op, slots] = saved_slots_[i];
    ListClones(op, slots_[Index(op)], false);
    ListClones(op, slots, true);
    slots_[Index(op)] = std::move(slots);
  }
  Begin();
}

}  // namespace tflms
