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
  slot_.assign(n, kNever);
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
  memory_.assign(order.size(), problem.persistent_bytes);
  scratch_.assign(order.size() + 1, 0);
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

int64_t Ledger::PeakBytes() const {
  int64_t peak = problem_.persistent_bytes;
  for (int64_t bytes : memory_) peak = std::max(peak, bytes);
  return peak;
}

int32_t Ledger::LastPosition(BufferId id, const Line& line, bool first) const {
  if (first && problem_.buffers[Index(id)].live_at_end) return positions() - 1;
  const Access& last = line.accesses.back();
  return PositionOf(last.key) - (last.op == taken_by_[Index(id)] ? 1 : 0);
}

template <typename Visit>
void Ledger::ForEachStay(BufferId id, const BufferLedger& ledger, Visit visit) const {
  for (const Line* line : {&ledger.first, &ledger.again}) {
    if (line->accesses.empty()) continue;
    int32_t from = PositionOf(line->accesses.front().key);
    for (const Away& away : line->away) {
      if (away.window.empty()) continue;
      visit(from, away.window.from - 1);
      from = away.window.to + 1;
    }
    const int32_t last = LastPosition(id, *line, line == &ledger.first);
    if (from <= last) visit(from, last);
  }
}

void Ledger::Begin() {
  saved_.clear();
  saved_slots_.clear();
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
  return slot > leave && Need(buffer.producer, slot, time_us) &&
         (DropBehind(id, slot_[Index(buffer.producer)]), true);
}

bool Ledger::Need(OpId op, Key slot, int64_t* time_us) {
  const Key old = slot_[Index(op)];
  if (old <= slot) return true;
  const ProblemOp& info = problem_.ops[Index(op)];
  if (!info.repeatable || slot > must_precede_[Index(op)] || ++closure_ > kMaxClosure) return false;
  saved_slots_.push_back({op, old});
  slot_[Index(op)] = slot;
  if (old == kNever) *time_us += info.time_us;
  for (BufferId id : reads(op)) {
    if (old != kNever) {
      BufferLedger& ledger = Touch(id);
      for (Line* line : {&ledger.first, &ledger.again}) {
        std::erase(line->accesses, Access{old, op, true});
      }
    }
    if (!ReadByClone(id, op, slot, time_us)) return false;
  }
  for (BufferId id : makes(op)) {
    BufferLedger& ledger = Touch(id);
    std::erase(ledger.again.accesses, Access{old, op, true});
    ledger.again.accesses.insert(ledger.again.accesses.begin(), {slot, op, true});
    if (ledger.dropped) DropBehind(id, slot);
  }
  return true;
}

// The clone of `source` at `slot` reads the buffer: of the run that is there, or made again.
bool Ledger::ReadByClone(BufferId id, OpId source, Key slot, int64_t* time_us) {
  const ProblemBuffer& buffer = problem_.buffers[Index(id)];
  const Access access{slot, source, true};
  const BufferLedger& now = buffers_[Index(id)];
  const bool reaches = buffer.live_at_end || now.first.accesses.back().key >= slot;
  const bool made_by_then = now.dropped && slot_[Index(buffer.producer)] <= slot;
  if (!made_by_then && (reaches || !buffer.recomputable)) {
    AddAccess(&Touch(id).first, access);
    return true;
  }
  if (!made_by_then) {
    if (!Need(buffer.producer, slot, time_us)) return false;
    DropBehind(id, slot_[Index(buffer.producer)]);
  }
  AddAccess(&Touch(id).again, access);
  return true;
}

// Whoever comes at or behind the slot reads what the clone there makes.
void Ledger::DropBehind(BufferId id, Key slot) {
  BufferLedger& ledger = Touch(id);
  ledger.dropped = true;
  std::vector<Access>& first = ledger.first.accesses;
  for (const Access& access : first) {
    if (access.key >= slot) AddAccess(&ledger.again, access);
  }
  std::erase_if(first, [&](const Access& access) { return access.key >= slot; });
  const Key last = first.back().key;
  std::erase_if(ledger.first.away, [&](const Away& away) { return away.leave >= last; });
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
}

int64_t Ledger::ExcessLowered(int64_t limit) {
  CollectDeltas();
  int32_t low = positions(), high = -1;
  for (const Delta& delta : deltas_) {
    scratch_[Index(delta.from)] += delta.bytes;
    scratch_[Index(delta.to) + 1] -= delta.bytes;
    low = std::min(low, delta.from), high = std::max(high, delta.to);
  }
  int64_t lowered = 0, change = 0;
  for (int32_t p = low; p <= high; ++p) {
    change += scratch_[Index(p)];
    scratch_[Index(p)] = 0;
    if (change == 0) continue;
    const int64_t over = memory_[Index(p)] - limit;
    lowered += std::max<int64_t>(over, 0) - std::max<int64_t>(over + change, 0);
  }
  if (high >= 0) scratch_[Index(high) + 1] = 0;
  return lowered;
}

void Ledger::Commit() {
  CollectDeltas();
  for (const Delta& delta : deltas_) {
    for (int32_t p = delta.from; p <= delta.to; ++p) memory_[Index(p)] += delta.bytes;
  }
  Begin();
}

void Ledger::Rollback() {
  for (Saved& saved : saved_) buffers_[Index(saved.id)] = std::move(saved.ledger);
  for (size_t i = saved_slots_.size(); i-- > 0;) {
    slot_[Index(saved_slots_[i].first)] = saved_slots_[i].second;
  }
  Begin();
}

}  // namespace tflms
