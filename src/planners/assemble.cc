// SPDX-License-Identifier: Apache-2.0
//
// Ledger -> Plan. See assemble.h.

#include "src/planners/assemble.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

class Assembler {
 public:
  explicit Assembler(const Ledger& ledger) : ledger_(ledger), problem_(ledger.problem()) {}

  Plan Run() {
    plan_.pin_order = true;
    PlaceClones();
    for (size_t id = 0; id < problem_.buffers.size(); ++id) AddReads(static_cast<BufferId>(id));
    position_ = Positions(plan_.order);
    for (size_t p = 0; p < plan_.order.size(); ++p) {
      const OpId op = plan_.order[p];
      if (Index(op) >= problem_.ops.size()) continue;
      const ProblemOp& info = problem_.ops[Index(op)];
      if (info.on_device && info.orderable) steps_.push_back(op);
    }
    for (size_t id = 0; id < problem_.buffers.size(); ++id) AddSwaps(static_cast<BufferId>(id));
    return std::move(plan_);
  }

 private:
  struct Placed {
    int32_t position;  // runs before the op there
    int32_t source;    // position of the op it is a clone of
    Key slot;
    friend auto operator<=>(const Placed&, const Placed&) = default;
  };

  void PlaceClones() {
    std::vector<Placed> clones;
    for (size_t op = 0; op < problem_.ops.size(); ++op) {
      for (Key slot : ledger_.slots(static_cast<OpId>(op))) {
        clones.push_back(
            {FirstOfGroup(PositionOf(slot)), ledger_.position(static_cast<OpId>(op)), slot});
      }
    }
    std::sort(clones.begin(), clones.end());
    size_t next = 0;
    for (int32_t p = 0; p < ledger_.positions(); ++p) {
      for (; next < clones.size() && clones[next].position == p; ++next) {
        const OpId source = ledger_.order()[Index(clones[next].source)];
        clone_[{source, clones[next].slot}] = static_cast<int32_t>(plan_.clones.size());
        plan_.order.push_back(IdOfClone(source, clones[next].slot));
        plan_.clones.push_back(source);
      }
      plan_.order.push_back(ledger_.order()[Index(p)]);
    }
  }

  // Ops of one group stand together: a clone goes before all of them.
  int32_t FirstOfGroup(int32_t position) const {
    const int32_t group = problem_.ops[Index(ledger_.order()[Index(position)])].group;
    while (group > 0 && position > 0 &&
           problem_.ops[Index(ledger_.order()[Index(position - 1)])].group == group) {
      --position;
    }
    return position;
  }

  OpId IdOfClone(OpId source, Key slot) const {
    return static_cast<OpId>(problem_.ops.size()) + clone_.at({source, slot});
  }

  OpId IdOf(const Access& access) const {
    return access.by_clone ? IdOfClone(access.op, access.key) : access.op;
  }

  void AddReads(BufferId id) {
    const OpId producer = problem_.buffers[Index(id)].producer;
    std::vector<CloneRead> reads;
    for (const Line& line : ledger_.buffer(id).again) {
      const int32_t clone = clone_.at({producer, line.accesses.front().key});
      for (const Access& access : line.accesses) {
        if (access.op != producer) reads.push_back({id, IdOf(access), clone});
      }
    }
    std::sort(reads.begin(), reads.end(),
              [](const CloneRead& a, const CloneRead& b) { return a.reader < b.reader; });
    plan_.clone_reads.insert(plan_.clone_reads.end(), reads.begin(), reads.end());
  }

  void AddSwaps(BufferId id) {
    const Line& line = ledger_.buffer(id).first;
    std::vector<OpId> accesses;
    for (const Access& access : line.accesses) accesses.push_back(IdOf(access));
    const auto by_position = [&](OpId a, OpId b) {
      return position_[Index(a)] < position_[Index(b)];
    };
    std::sort(accesses.begin(), accesses.end(), by_position);
    bool on_host = false;
    for (const Away& away : line.away) {
      SwapGap swap;
      swap.buffer = id;
      if (away.window.empty() || !Place(away, accesses, on_host, &swap)) continue;
      plan_.swaps.push_back(swap);
      on_host = true;
    }
  }

  // Finds the ends of the gap around the window, and the ops that wait and trigger in it.
  bool Place(const Away& away, const std::vector<OpId>& accesses, bool on_host,
             SwapGap* swap) const {
    const int32_t from = position_[Index(ledger_.order()[Index(away.window.from)])];
    const int32_t to = position_[Index(ledger_.order()[Index(away.window.to)])];
    const auto back = std::find_if(accesses.begin(), accesses.end(),
                                   [&](OpId access) { return position_[Index(access)] >= from; });
    if (back == accesses.begin() || back == accesses.end()) return false;
    swap->leave_after = back[-1];
    swap->back_for = *back;
    const auto step_at = [&](int32_t position) {
      return std::partition_point(steps_.begin(), steps_.end(),
                                  [&](OpId step) { return position_[Index(step)] < position; });
    };
    const auto sync = step_at(from);
    auto trigger = step_at(std::min(to + 1, position_[Index(*back)]));
    if (sync == steps_.end() || trigger == steps_.begin()) return false;
    --trigger;
    if (position_[Index(*trigger)] < position_[Index(*sync)]) return false;
    swap->trigger = *trigger;
    swap->sync = on_host ? kNoOp : *sync;
    return true;
  }

  const Ledger& ledger_;
  const Problem& problem_;
  Plan plan_;
  std::map<std::pair<OpId, Key>, int32_t> clone_;  // (source, slot) -> index in plan_.clones
  std::vector<int32_t> position_;                  // in the plan's order, of ops and clones
  std::vector<OpId> steps_;  // first runs that may wait or trigger, in the plan's order
};

}  // namespace

Plan Assemble(const Ledger& ledger) { return Assembler(ledger).Run(); }

}  // namespace tflms
