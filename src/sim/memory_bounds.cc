// SPDX-License-Identifier: Apache-2.0
//
// M1 and M3. See bounds.h.
//
// M3 asks for the ops on the way from each buffer's producer to one of its uses. Ops v are looked
// at in blocks of kColumns; for a block, one sweep along the order and one back mark for every op
// which v are its ancestors and which its descendants, a bit each. A buffer counts at
//   descendants-or-self(producer) & union over uses u of ancestors-or-self(u)
// The bytes live at v in one order are never below what M3 counts at v. So blocks are taken with
// the largest of them first, and the search ends when the next are not above the bound found.

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <vector>

#include "src/base/checked_math.h"
#include "src/sim/bounds.h"
#include "src/sim/sharing.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

constexpr size_t kWords = 8;
constexpr size_t kColumns = 64 * kWords;
using Bits = std::array<uint64_t, kWords>;

void Unite(Bits* into, const Bits& from) {
  for (size_t word = 0; word < kWords; ++word) (*into)[word] |= from[word];
}

class KeepEverything {
 public:
  KeepEverything(const Problem& problem, const std::vector<OpId>& order)
      : problem_(problem), order_(order), made_(BuffersByProducer(problem)) {}

  OrderBound Run() {
    OrderBound bound{problem_.persistent_bytes, kNoOp, true};
    const std::vector<int64_t> live = PlannedMemory(problem_, {order_, false, {}}).running;
    std::vector<size_t> positions(order_.size());
    std::iota(positions.begin(), positions.end(), size_t{0});
    std::stable_sort(positions.begin(), positions.end(),
                     [&](size_t a, size_t b) { return live[a] > live[b]; });
    const size_t n = std::max<size_t>(order_.size(), 1);
    const size_t most = std::max(kColumns, size_t{kOrderBoundOps * kOrderBoundOps} / n);
    for (size_t begin = 0; begin < positions.size(); begin += kColumns) {
      if (live[positions[begin]] <= bound.bytes) break;
      if (begin >= most) {
        bound.complete = false;
        break;
      }
      const size_t end = std::min(begin + kColumns, positions.size());
      std::vector<OpId> columns;
      for (size_t i = begin; i < end; ++i) columns.push_back(order_[positions[i]]);
      CountBlock(columns, &bound);
    }
    return bound;
  }

 private:
  // Marks the columns that are ancestors or descendants of each op, or the op itself.
  void Sweep(const std::vector<OpId>& columns) {
    ancestors_.assign(problem_.ops.size(), Bits{});
    for (size_t i = 0; i < columns.size(); ++i) {
      ancestors_[Index(columns[i])][i / 64] |= uint64_t{1} << (i % 64);
    }
    descendants_ = ancestors_;
    for (OpId op : order_) {
      for (OpId next : problem_.successors[Index(op)]) {
        Unite(&ancestors_[Index(next)], ancestors_[Index(op)]);
      }
    }
    for (auto op = order_.rbegin(); op != order_.rend(); ++op) {
      for (OpId next : problem_.successors[Index(*op)]) {
        Unite(&descendants_[Index(*op)], descendants_[Index(next)]);
      }
    }
  }

  void CountBlock(const std::vector<OpId>& columns, OrderBound* bound) {
    Sweep(columns);
    std::array<int64_t, kColumns> bytes{};
    for (const ProblemBuffer& buffer : problem_.buffers) {
      Bits at = ancestors_[Index(buffer.producer)];  // of these only the producer itself remains
      for (OpId use : buffer.uses) Unite(&at, ancestors_[Index(use)]);
      const Bits& after = descendants_[Index(buffer.producer)];
      for (size_t word = 0; word < kWords; ++word) {
        uint64_t left = buffer.live_at_end ? after[word] : at[word] & after[word];
        for (; left != 0; left &= left - 1) {
          int64_t& sum = bytes[word * 64 + static_cast<size_t>(std::countr_zero(left))];
          sum = SaturatingAdd(sum, buffer.size_bytes);
        }
      }
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      const OpId op = columns[i];
      const int64_t shared = SharedAtMost(
          problem_, made_[Index(op)],
          [&](BufferId giver, BufferId) { return !problem_.buffers[Index(giver)].live_at_end; });
      int64_t sum = SaturatingAdd(bytes[i] - shared, problem_.ops[Index(op)].workspace_bytes);
      sum = SaturatingAdd(sum, problem_.persistent_bytes);
      if (sum > bound->bytes) *bound = {sum, op, bound->complete};
    }
  }

  const Problem& problem_;
  const std::vector<OpId>& order_;
  const std::vector<std::vector<BufferId>> made_;
  std::vector<Bits> ancestors_, descendants_;
};

}  // namespace

Floor WorkingSetFloor(const Problem& problem) {
  std::vector<int64_t> need(problem.ops.size());
  for (size_t op = 0; op < need.size(); ++op) need[op] = problem.ops[op].workspace_bytes;
  const auto add = [&](OpId op, int64_t bytes) {
    need[Index(op)] = SaturatingAdd(need[Index(op)], bytes);
  };
  for (const ProblemBuffer& buffer : problem.buffers) {
    add(buffer.producer, buffer.size_bytes);
    for (OpId use : buffer.uses) add(use, buffer.size_bytes);
  }
  // A fetched buffer is never taken over, but a clone's output in its place may be.
  const auto may_give = [&](BufferId id, BufferId) {
    const ProblemBuffer& giver = problem.buffers[Index(id)];
    return giver.recomputable || !giver.live_at_end;
  };
  const std::vector<std::vector<BufferId>> made = BuffersByProducer(problem);
  Floor floor{problem.persistent_bytes, kNoOp};
  for (size_t op = 0; op < need.size(); ++op) {
    const int64_t alone = need[op] - SharedAtMost(problem, made[op], may_give);
    const int64_t bytes = SaturatingAdd(problem.persistent_bytes, alone);
    if (bytes > floor.bytes) floor = {bytes, static_cast<OpId>(op)};
  }
  return floor;
}

OrderBound KeepEverythingBound(const Problem& problem, const std::vector<OpId>& order) {
  return KeepEverything(problem, order).Run();
}

}  // namespace tflms
