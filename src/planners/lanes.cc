// SPDX-License-Identifier: Apache-2.0
//
// The two copy lanes of a plan in the making. See lanes.h.

#include "src/planners/lanes.h"

#include <algorithm>
#include <cmath>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

int64_t Micros(int64_t bytes, double bytes_per_us) {
  return bytes_per_us > 0
             ? static_cast<int64_t>(std::ceil(static_cast<double>(bytes) / bytes_per_us))
             : 0;
}

// The access behind key `leave`, or null.
const Access* NextAccess(const Line& line, Key leave) {
  const auto next = std::find_if(line.accesses.begin(), line.accesses.end(),
                                 [&](const Access& access) { return access.key > leave; });
  return next == line.accesses.end() ? nullptr : &*next;
}

}  // namespace

Lanes::Lanes(const Ledger& ledger, const Machine& machine, double stretch,
             const std::vector<SwapChoice>& swaps)
    : machine_(machine), clock_(stretch != kNoClock) {
  const Problem& problem = ledger.problem();
  for (int32_t p = 0; p < ledger.positions(); ++p) {
    const ProblemOp& op = problem.ops[Index(ledger.order()[Index(p)])];
    if (op.on_device && op.orderable) steps_.push_back(p);
  }
  MakeClock(ledger, clock_ ? stretch : 1);
  out_done_us_.assign(problem.buffers.size(), -1);
  if (!clock_) return;
  FillOut(ledger, swaps);
  FillIn(ledger, swaps);
}

void Lanes::MakeClock(const Ledger& ledger, double stretch) {
  const Problem& problem = ledger.problem();
  std::vector<int64_t> clones_us(ledger.order().size(), 0);
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    for (Key slot : ledger.slots(static_cast<OpId>(op))) {
      clones_us[Index(PositionOf(slot))] += problem.ops[op].time_us;
    }
  }
  double now_us = 0;
  for (size_t p = 0; p < ledger.order().size(); ++p) {
    const ProblemOp& op = problem.ops[Index(ledger.order()[p])];
    now_us += static_cast<double>(clones_us[p]);
    start_us_.push_back(static_cast<int64_t>(now_us));
    if (op.on_device) now_us += static_cast<double>(op.time_us) * stretch;
    end_us_.push_back(static_cast<int64_t>(now_us));
  }
}

void Lanes::FillOut(const Ledger& ledger, const std::vector<SwapChoice>& swaps) {
  std::vector<std::pair<int32_t, BufferId>> asked;  // (position of the producer, buffer)
  for (const SwapChoice& swap : swaps) {
    asked.emplace_back(ledger.position(ledger.problem().buffers[Index(swap.buffer)].producer),
                       swap.buffer);
  }
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  int64_t free_us = 0;
  for (const auto& [position, id] : asked) {
    const int64_t at_us = end_us_[Index(position)];
    free_us = std::max(free_us, at_us) + OutTime(ledger.problem().buffers[Index(id)].size_bytes);
    out_done_us_[Index(id)] = free_us;
    out_.push_back({at_us, free_us});
  }
}

void Lanes::FillIn(const Ledger& ledger, const std::vector<SwapChoice>& swaps) {
  std::vector<std::pair<int64_t, int64_t>> wanted;  // (start of the use, bytes)
  for (const SwapChoice& swap : swaps) {
    const Access* next = NextAccess(ledger.buffer(swap.buffer).first, swap.leave);
    if (next == nullptr) continue;
    wanted.emplace_back(start_us_[Index(PositionOf(next->key))],
                        ledger.problem().buffers[Index(swap.buffer)].size_bytes);
  }
  std::sort(wanted.rbegin(), wanted.rend());
  int64_t free_us = std::numeric_limits<int64_t>::max();
  for (const auto& [use_us, bytes] : wanted) {
    free_us = std::min(free_us, use_us) - InTime(bytes);
    in_.push_back({use_us, free_us});
  }
  std::reverse(in_.begin(), in_.end());
}

int64_t Lanes::OutTime(int64_t bytes) const { return Micros(bytes, machine_.out_bytes_per_us); }
int64_t Lanes::InTime(int64_t bytes) const { return Micros(bytes, machine_.in_bytes_per_us); }

int64_t Lanes::CopyTime(int64_t bytes, bool on_host) const {
  return InTime(bytes) + (on_host ? 0 : OutTime(bytes));
}

Window Lanes::WindowOf(const Ledger& ledger, SwapChoice choice, bool on_host) const {
  const BufferLedger& buffer = ledger.buffer(choice.buffer);
  const Access* next = NextAccess(buffer.first, choice.leave);
  if (next == nullptr) return {};
  const ProblemBuffer& info = ledger.problem().buffers[Index(choice.buffer)];
  const int32_t leave = PositionOf(choice.leave), back = PositionOf(next->key);
  int32_t from = leave + 1, to = back - 1;
  if (clock_ && !on_host) {
    int64_t done_us = out_done_us_[Index(choice.buffer)];
    if (done_us < 0) {  // not on the lane yet: behind what was asked for before
      const int64_t at_us = end_us_[Index(ledger.position(info.producer))];
      const auto behind =
          std::upper_bound(out_.begin(), out_.end(), at_us,
                           [](int64_t at, const Copy& copy) { return at < copy.at_us; });
      const int64_t free_us = behind == out_.begin() ? 0 : (behind - 1)->done_us;
      done_us = std::max(free_us, at_us) + OutTime(info.size_bytes);
    }
    const auto first = std::lower_bound(start_us_.begin() + from, start_us_.end(), done_us);
    from = static_cast<int32_t>(first - start_us_.begin());
  }
  if (clock_) {
    const int64_t use_us = start_us_[Index(back)];
    const auto ahead =
        std::upper_bound(in_.begin(), in_.end(), use_us,
                         [](int64_t at, const Copy& copy) { return at < copy.at_us; });
    const int64_t limit_us = ahead == in_.end() ? use_us : std::min(use_us, ahead->done_us);
    const auto last = std::upper_bound(end_us_.begin(), end_us_.begin() + back,
                                       limit_us - InTime(info.size_bytes));
    to = std::min(to, static_cast<int32_t>(last - end_us_.begin()) - 1);
  }
  // Somebody has to wait and to trigger.
  const auto sync = std::lower_bound(steps_.begin(), steps_.end(), from);
  auto trigger = std::upper_bound(steps_.begin(), steps_.end(), to);
  if (sync == steps_.end() || trigger == steps_.begin() || *sync > *--trigger) return {};
  return {*sync, *trigger};
}

}  // namespace tflms
