// SPDX-License-Identifier: Apache-2.0
//
// Greedy choice of swaps and recomputations. See cover.h.

#include "src/planners/cover.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Between two choices of equal time the one that moves fewer bytes wins.
constexpr double kTieUsPerByte = 1e-7;
// Windows are set anew after this many choices, and after every quarter more.
constexpr size_t kFirstRefresh = 8;
// Positions looked at for the worth of a choice, of each run of them that changes alike. All are
// when that finds nothing.
constexpr int32_t kSamples = 128;
// Rounds in which the clock is stretched before it is given up.
constexpr int kStuckRounds = 5;

}  // namespace

bool Cover::Scored::operator<(const Scored& other) const {
  if (score != other.score) return score < other.score;
  return other.choice < choice;  // the smaller id first
}

Cover::Cover(const CoverOptions& options, Ledger* ledger)
    : options_(options),
      ledger_(*ledger),
      lanes_(ledger_, options.machine, options.stretch, {}),
      host_(ledger_.order().size(), 0) {}

// Each round scores everything anew: choices that came to nothing may be worth something now.
// Where none is, the clock gives way: what is left may have to wait for copies.
bool Cover::Run(std::vector<int64_t> limit_bytes) {
  limit_bytes_ = std::move(limit_bytes);
  samples_ = ledger_.positions() > kSamples ? kSamples : kAllPositions;
  for (int stuck = 0; Excess() > 0;) {
    const int64_t excess = Excess();
    const bool taken = TakeBest();
    if (taken && Excess() < excess) continue;
    if (std::exchange(samples_, kAllPositions) != kAllPositions) continue;
    if (options_.stretch == kNoClock || !options_.may_swap) return false;
    options_.price /= 4;
    options_.stretch = ++stuck < kStuckRounds ? options_.stretch * 1.5 : kNoClock;
    banned_.clear();
    Refresh();
  }
  DropSwaps();
  return true;
}

int64_t Cover::Excess() const {
  int64_t excess = 0;
  for (size_t p = 0; p < limit_bytes_.size(); ++p) {
    excess += std::max<int64_t>(0, ledger_.memory()[p] - limit_bytes_[p]);
  }
  return excess;
}

void Cover::FindChoices() {
  choices_.clear();
  const Problem& problem = ledger_.problem();
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    if (buffer.size_bytes < options_.min_bytes || buffer.size_bytes <= 0) continue;
    const std::vector<Access>& accesses = ledger_.buffer(static_cast<BufferId>(id)).first.accesses;
    for (size_t i = 0; i + 1 < accesses.size(); ++i) {
      if (PositionOf(accesses[i + 1].key) - PositionOf(accesses[i].key) < 2) continue;
      choices_.push_back({static_cast<BufferId>(id), accesses[i].key});
    }
  }
}

bool Cover::Has(SwapChoice choice) const {
  const Line& line = ledger_.buffer(choice.buffer).first;
  return std::any_of(line.away.begin(), line.away.end(),
                     [&](const Away& away) { return away.leave == choice.leave; });
}

// An earlier stay of the buffer has left a copy on the host.
bool Cover::OnHost(SwapChoice choice) const {
  const auto first = swaps_.lower_bound({choice.buffer, 0});
  return first != swaps_.end() && first->buffer == choice.buffer && first->leave < choice.leave;
}

bool Cover::MaySwap(SwapChoice choice) const {
  const ProblemBuffer& buffer = ledger_.problem().buffers[Index(choice.buffer)];
  if (!options_.may_swap || !buffer.swappable || banned_.contains(choice)) return false;
  for (OpId hold : buffer.holds) {
    if (OpKey(ledger_.position(hold)) > choice.leave) return false;
  }
  const std::vector<Access>& accesses = ledger_.buffer(choice.buffer).first.accesses;
  if (accesses.back().key <= choice.leave) return false;
  if (std::none_of(accesses.begin(), accesses.end(),
                   [&](const Access& access) { return access.key == choice.leave; })) {
    return false;
  }
  return options_.host_bytes == 0 || HostHasRoom(choice, buffer.size_bytes);
}

bool Cover::HostHasRoom(SwapChoice choice, int64_t bytes) const {
  if (OnHost(choice)) return true;  // counted to its last use
  const auto [from, to] = HostStay(choice);
  for (int32_t p = from; p <= to; ++p) {
    if (host_[Index(p)] + bytes > options_.host_bytes) return false;
  }
  return true;
}

// From the producer to the last access that may read the copy.
std::pair<int32_t, int32_t> Cover::HostStay(SwapChoice choice) const {
  const std::vector<Access>& accesses = ledger_.buffer(choice.buffer).first.accesses;
  return {PositionOf(accesses.front().key), PositionOf(accesses.back().key)};
}

// The better of swapping and recomputing; a score of 0 when neither helps.
Cover::Scored Cover::Score(SwapChoice choice) {
  Scored best{0, choice, false};
  if (Has(choice)) return best;
  const int64_t bytes = ledger_.problem().buffers[Index(choice.buffer)].size_bytes;
  const double tie = kTieUsPerByte * static_cast<double>(bytes);
  if (MaySwap(choice)) {
    const Window window = lanes_.WindowOf(ledger_, choice, OnHost(choice));
    if (!window.empty()) {
      ledger_.Begin();
      ledger_.SwapAway(choice.buffer, choice.leave, window);
      const int64_t lowered = ledger_.ExcessLowered(limit_bytes_, samples_);
      ledger_.Rollback();
      const double cost =
          options_.price * static_cast<double>(lanes_.CopyTime(bytes, OnHost(choice)));
      best.score = static_cast<double>(lowered) / (cost + tie);
    }
  }
  if (options_.may_recompute && ledger_.buffer(choice.buffer).dropped_at == kNever) {
    int64_t time_us = 0;
    ledger_.Begin();
    if (ledger_.Recompute(choice.buffer, choice.leave, &time_us)) {
      const int64_t lowered = ledger_.ExcessLowered(limit_bytes_, samples_);
      const double score = static_cast<double>(lowered) / (static_cast<double>(time_us) + tie);
      if (score > best.score) best = {score, choice, true};
    }
    ledger_.Rollback();
  }
  return best;
}

void Cover::Take(const Scored& scored) {
  ledger_.Begin();
  if (scored.recompute) {
    int64_t time_us = 0;
    ledger_.Recompute(scored.choice.buffer, scored.choice.leave, &time_us);
  } else {
    const bool on_host = OnHost(scored.choice);
    ledger_.SwapAway(scored.choice.buffer, scored.choice.leave,
                     lanes_.WindowOf(ledger_, scored.choice, on_host));
    if (!on_host) CountOnHost(scored.choice, 1);
    swaps_.insert(scored.choice);
  }
  ledger_.Commit();
}

void Cover::CountOnHost(SwapChoice choice, int64_t sign) {
  const int64_t bytes = ledger_.problem().buffers[Index(choice.buffer)].size_bytes;
  const auto [from, to] = HostStay(choice);
  for (int32_t p = from; p <= to; ++p) host_[Index(p)] += sign * bytes;
}

// Takes the best choices until nothing is over the limit or none helps. False when none was
// taken.
bool Cover::TakeBest() {
  FindChoices();
  std::priority_queue<Scored> queue;
  for (SwapChoice choice : choices_) {
    const Scored scored = Score(choice);
    if (scored.score > 0) queue.push(scored);
  }
  size_t taken = 0, counted = 0, next_refresh = kFirstRefresh;
  while (!queue.empty() && (taken == counted || Excess() > 0)) {
    counted = taken;
    const Scored top = queue.top();
    queue.pop();
    const Scored now = Score(top.choice);
    if (now.score <= 0) continue;
    if (!queue.empty() && now < queue.top()) {
      queue.push(now);
      continue;
    }
    Take(now);
    if (++taken < next_refresh) continue;
    Refresh();
    next_refresh = taken + std::max(kFirstRefresh, taken / 4);
  }
  Refresh();
  return taken > 0;
}

// Lanes and windows for the swaps there are. One that would not be away any more is ended, and
// not tried again: what it lost its time to is still there.
void Cover::Refresh() {
  DropEnded();
  lanes_ = Lanes(ledger_, options_.machine, options_.stretch, {swaps_.begin(), swaps_.end()});
  const std::set<SwapChoice> swaps = swaps_;
  ledger_.Begin();
  for (SwapChoice choice : swaps) {
    const Window window = lanes_.WindowOf(ledger_, choice, OnHost(choice));
    if (!window.empty()) {
      ledger_.SwapAway(choice.buffer, choice.leave, window);
      continue;
    }
    ledger_.EndSwap(choice.buffer, choice.leave);
    banned_.insert(choice);
  }
  ledger_.Commit();
  DropEnded();
}

// Swaps that a recomputation of their buffer has ended.
void Cover::DropEnded() {
  std::erase_if(swaps_, [&](SwapChoice choice) { return !Has(choice); });
  if (options_.host_bytes == 0) return;
  host_.assign(host_.size(), 0);
  for (SwapChoice choice : swaps_) {
    if (!OnHost(choice)) CountOnHost(choice, 1);
  }
}

void Cover::DropSwaps() {
  std::vector<SwapChoice> by_cost(swaps_.begin(), swaps_.end());
  const auto bytes = [&](SwapChoice choice) {
    return ledger_.problem().buffers[Index(choice.buffer)].size_bytes;
  };
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [&](SwapChoice a, SwapChoice b) { return bytes(a) > bytes(b); });
  for (SwapChoice choice : by_cost) {
    // The copy that later stays live on is made for the first.
    const auto next = swaps_.upper_bound(choice);
    if (next != swaps_.end() && next->buffer == choice.buffer && !OnHost(choice)) continue;
    ledger_.Begin();
    ledger_.EndSwap(choice.buffer, choice.leave);
    if (ledger_.ExcessLowered(limit_bytes_) >= 0) {
      ledger_.Commit();
      swaps_.erase(choice);
    } else {
      ledger_.Rollback();
    }
  }
}

}  // namespace tflms
