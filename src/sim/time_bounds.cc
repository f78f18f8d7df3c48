// SPDX-License-Identifier: Apache-2.0
//
// T0, T1, T2 and T2'. See bounds.h, and docs/bounds.md for why they hold.
//
// Let v be an op, pre, c, post the compute time before, in and behind it, and E the bytes by which
// what is live at v exceeds the budget. At least E bytes of buffers that v does not touch are away
// while v runs. A plan takes T = C + a + b, with the extra time a before v's start and b behind its
// end, for stalls and clones alike.
//   swapped    S bytes: copied out between their producers' ends and v's start, and back between
//              v's end and their next use:
//                a >= p + S / Bo - pre     p = max over candidates k of (compute up to the end of
//                                              k's producer - bytes made before k / Bo)
//                b >= q + S / Bi - post    q the same from the end of the step: (compute from k's
//                                              next use on - bytes of those used later than k / Bi)
//   made again R bytes: K(b) >= R, K(b) = the most bytes that b of runs behind v make: each op
//   once,
//              for all its buffers that are away; a fractional knapsack
//   T1  = max over v of the least C + a + b with S >= E
//   T2  = ...                               with R >= E
//   T2' = ...                               with S + R >= E
// The last is a convex function of b with a = max(0, p + (E - K(b)) / Bo - pre), searched by
// thirds. Results are rounded up to whole microseconds, as copies and ops take, but for a billionth
// that rounding errors may make.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "src/base/checked_math.h"
#include "src/sim/bounds.h"
#include "src/sim/residency.h"
#include "src/sim/sharing.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

constexpr double kNever = std::numeric_limits<double>::infinity();

// One copy lane beside the compute on one side of an op.
struct Lane {
  double rate = 0;                     // bytes per us; 0 = no limit
  double compute = 0;                  // on that side of the op
  double late = -kNever;               // p or q above
  double candidates = 0;               // bytes that may be copied
  void Add(double at, double bytes) {  // by ascending `at`
    if (rate > 0) late = std::max(late, at - candidates / rate);
    candidates += bytes;
  }
  // The least extra time on that side in which `bytes` (of the candidates) can be copied.
  double ExtraFor(double bytes) const {
    if (bytes <= 0 || rate <= 0) return 0;
    return std::max(0.0, late + bytes / rate - compute);
  }
};

// K: ops to run again, best bytes per time first.
class Knapsack {
 public:
  void Add(double bytes, double time_us) { items_.push_back({bytes, time_us}); }
  void Sort() {
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return a.time_us * b.bytes < b.time_us * a.bytes;
    });
    for (size_t i = 1; i < items_.size(); ++i) {
      items_[i].bytes += items_[i - 1].bytes;  // sums from here on
      items_[i].time_us += items_[i - 1].time_us;
    }
  }
  double bytes() const { return items_.empty() ? 0 : items_.back().bytes; }
  double time_us() const { return items_.empty() ? 0 : items_.back().time_us; }
  double BytesIn(double time_us) const {
    const auto next =
        std::upper_bound(items_.begin(), items_.end(), time_us,
                         [](double value, const Item& item) { return value < item.time_us; });
    if (next == items_.end()) return bytes();
    const Item before = next == items_.begin() ? Item{} : *(next - 1);
    return before.bytes + (time_us - before.time_us) * (next->bytes - before.bytes) /
                              (next->time_us - before.time_us);
  }
  double TimeFor(double bytes) const {
    if (bytes <= 0) return 0;
    const auto next =
        std::lower_bound(items_.begin(), items_.end(), bytes,
                         [](const Item& item, double value) { return item.bytes < value; });
    if (next == items_.end()) return kNever;
    const Item before = next == items_.begin() ? Item{} : *(next - 1);
    return before.time_us +
           (bytes - before.bytes) * (next->time_us - before.time_us) / (next->bytes - before.bytes);
  }

 private:
  struct Item {
    double bytes = 0, time_us = 0;
  };
  std::vector<Item> items_;
};

// What can be away while one op runs.
struct Choice {
  double excess = 0;      // E
  double candidates = 0;  // bytes that can be swapped or made again
  Lane out, in;
  Knapsack reruns;

  double SwapOnly() const {
    if (excess > out.candidates) return kNever;
    return out.ExtraFor(excess) + in.ExtraFor(excess);
  }
  double RecomputeOnly() const { return reruns.TimeFor(excess); }
  double Both() const {
    if (excess <= 0) return 0;
    if (excess > candidates) return kNever;
    const auto swapped = [&](double b) { return std::max(0.0, excess - reruns.BytesIn(b)); };
    const auto possible = [&](double b) {
      return swapped(b) <= out.candidates && in.ExtraFor(swapped(b)) <= b;
    };
    const auto extra = [&](double b) { return b + out.ExtraFor(swapped(b)); };
    double low = 0;
    double high = std::max(reruns.time_us(), in.ExtraFor(std::min(excess, out.candidates)));
    constexpr int kSteps = 100;
    if (!possible(0)) {
      double upper = high;
      for (int i = 0; i < kSteps; ++i) {
        const double middle = (low + upper) / 2;
        (possible(middle) ? upper : low) = middle;
      }
    }
    double least = std::min(extra(low), extra(high));
    for (int i = 0; i < kSteps; ++i) {
      const double third = (high - low) / 3, left = low + third, right = high - third;
      least = std::min({least, extra(left), extra(right)});
      (extra(left) < extra(right) ? high : low) = extra(left) < extra(right) ? right : left;
    }
    return least;
  }
};

class Bounder {
 public:
  Bounder(const Problem& problem, const std::vector<OpId>& order, const Machine& machine,
          int64_t budget_bytes)
      : problem_(problem),
        order_(order),
        machine_(machine),
        budget_bytes_(budget_bytes),
        position_(Positions(order)),
        made_(BuffersByProducer(problem)),
        giver_of_(FindTakeovers(problem, position_)),
        live_(PlannedMemory(problem, {order, false, {}}).running) {
    before_.assign(order.size() + 1, 0);
    for (size_t p = 0; p < order.size(); ++p) before_[p + 1] = before_[p] + TimeAt(p);
    for (OpId op : order) {
      by_producer_.insert(by_producer_.end(), made_[Index(op)].begin(), made_[Index(op)].end());
    }
    IndexAccesses();
  }

  TimeBounds Run() const {
    double swap = 0, recompute = 0, both = 0;
    for (size_t p : WorstPositions()) {
      const Choice kept = ChoiceAt(p, false), cloned = ChoiceAt(p, true);
      swap = std::max(swap, kept.SwapOnly());
      recompute = std::max(recompute, cloned.RecomputeOnly());
      both = std::max(both, cloned.Both());
    }
    TimeBounds bounds{static_cast<int64_t>(before_.back()), Total(swap), Total(recompute),
                      Total(both)};
    bounds.both_us = std::min({bounds.both_us, bounds.swap_us, bounds.recompute_time_us});
    return bounds;
  }

 private:
  double TimeAt(size_t p) const {
    const ProblemOp& op = problem_.ops[Index(order_[p])];
    return op.on_device ? static_cast<double>(op.time_us) : 0;
  }

  int64_t Total(double extra) const {
    const double total = before_.back() + extra;
    return total < 9e18 ? static_cast<int64_t>(std::ceil(total - 1e-6 - 1e-9 * total)) : kNoPlan;
  }

  // Positions of each buffer's accesses, ascending, in compressed rows.
  void IndexAccesses() {
    row_.assign(1, 0);
    for (const ProblemBuffer& buffer : problem_.buffers) {
      for (OpId op : Accesses(buffer, position_)) accesses_.push_back(position_[Index(op)]);
      row_.push_back(accesses_.size());
      int32_t hold = -1;
      for (OpId op : buffer.holds) hold = std::max(hold, position_[Index(op)]);
      last_hold_.push_back(hold);
      // A clone of a reader may be a later access than any in the problem.
      read_again_.push_back(std::any_of(buffer.uses.begin(), buffer.uses.end(), [&](OpId op) {
        return problem_.ops[Index(op)].repeatable;
      }));
    }
  }

  // Of equal parts of the order, each one's op with the greatest excess. Ops that take no time are
  // no moment on the clock.
  std::vector<size_t> WorstPositions() const {
    constexpr size_t kParts = 64, kFewest = 8, kWork = 2000000;
    const size_t n = order_.size();
    const size_t parts = std::clamp(kWork / (problem_.buffers.size() + 1), kFewest, kParts);
    std::vector<size_t> worst;
    for (size_t part = 0; part < parts; ++part) {
      int64_t most = budget_bytes_;
      size_t at = n;
      for (size_t p = n * part / parts; p < n * (part + 1) / parts; ++p) {
        if (TimeAt(p) > 0 && live_[p] > most) {
          most = live_[p];
          at = p;
        }
      }
      if (at < n) worst.push_back(at);
    }
    return worst;
  }

  // With clones an output may lie in the memory of an input that is made again for later uses.
  int64_t SharedByClones(size_t p) const {
    int64_t shared = 0;
    const std::vector<BufferId>& made = made_[Index(order_[p])];
    for (BufferId taker : made) {
      if (giver_of_[Index(taker)] < 0) continue;
      shared = SaturatingAdd(shared, problem_.buffers[Index(taker)].size_bytes);
    }
    return SharedAtMost(problem_, made,
                        [&](BufferId giver, BufferId taker) {
                          return problem_.buffers[Index(giver)].recomputable ||
                                 giver_of_[Index(taker)] == giver;
                        }) -
           shared;
  }

  Choice ChoiceAt(size_t p, bool clones) const {
    Choice choice;
    choice.excess = static_cast<double>(live_[p]) - static_cast<double>(budget_bytes_);
    if (clones) choice.excess -= static_cast<double>(SharedByClones(p));
    choice.out.rate = machine_.out_bytes_per_us;
    choice.in.rate = machine_.in_bytes_per_us;
    choice.out.compute = before_[p];
    choice.in.compute = before_.back() - before_[p + 1];
    std::vector<std::pair<double, double>> back;  // (compute from the next use on, bytes)
    OpId producer = kNoOp;
    double away = 0;  // bytes that one run of `producer` makes
    const auto add_rerun = [&] {
      if (away > 0) choice.reruns.Add(away, TimeAt(Index(position_[Index(producer)])));
      away = 0;
    };
    for (BufferId id : by_producer_) {
      const ProblemBuffer& buffer = problem_.buffers[Index(id)];
      const size_t made_at = Index(position_[Index(buffer.producer)]);
      if (made_at >= p) break;
      const auto end = accesses_.begin() + static_cast<std::ptrdiff_t>(row_[Index(id) + 1]);
      const auto next =
          std::lower_bound(accesses_.begin() + static_cast<std::ptrdiff_t>(row_[Index(id)]), end,
                           static_cast<int32_t>(p));
      if (next != end && Index(*next) == p) continue;
      // Fetched and read by no later op: it can still be away until the clone of a reader.
      const bool only_clones = next == end;
      if (only_clones && !(clones && buffer.live_at_end && read_again_[Index(id)])) continue;
      const auto bytes = static_cast<double>(buffer.size_bytes);
      const bool swaps = buffer.swappable && last_hold_[Index(id)] < static_cast<int32_t>(p);
      const bool reruns = clones && buffer.recomputable && !only_clones;
      if (swaps || reruns) choice.candidates += bytes;
      if (swaps) {
        choice.out.Add(before_[made_at + 1], bytes);
        back.emplace_back(only_clones ? 0 : before_.back() - before_[Index(*next)], bytes);
      }
      if (!reruns) continue;
      if (buffer.producer != producer) add_rerun();
      producer = buffer.producer;
      away += bytes;
    }
    add_rerun();
    choice.reruns.Sort();
    std::sort(back.begin(), back.end());
    for (const auto& [rest, bytes] : back) choice.in.Add(rest, bytes);
    return choice;
  }

  const Problem& problem_;
  const std::vector<OpId>& order_;
  const Machine machine_;
  const int64_t budget_bytes_;
  const std::vector<int32_t> position_;
  const std::vector<std::vector<BufferId>> made_;
  const std::vector<BufferId> giver_of_;
  const std::vector<int64_t> live_;    // by position, with nothing swapped or made again
  std::vector<double> before_;         // compute time before each position, and of all
  std::vector<BufferId> by_producer_;  // in the order of their producers
  std::vector<size_t> row_;            // of buffer i: accesses_[row_[i]] .. [row_[i + 1] - 1]
  std::vector<int32_t> accesses_;      // positions
  std::vector<int32_t> last_hold_;     // by buffer: position, -1 = not held
  std::vector<bool> read_again_;       // by buffer: an op that reads it may have a clone
};

}  // namespace

TimeBounds BoundTime(const Problem& problem, const std::vector<OpId>& order, const Machine& machine,
                     int64_t budget_bytes) {
  return Bounder(problem, order, machine, budget_bytes).Run();
}

}  // namespace tflms
