// SPDX-License-Identifier: Apache-2.0
//
// The replay of plans in the BFC model. See bfc.h. What does not depend on the seed is found once:
// where every buffer stays. Cost of a run: O(steps * (ops + stays)) and that of the model's calls.

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "src/sim/bfc.h"
#include "src/sim/residency.h"

namespace tflms {
namespace {

// Seeds from here on leave gaps between variables.
constexpr uint32_t kSeedsWithoutGaps = 24;
// Initial values that there are at once: one, and one more for this many variables; at most eight.
constexpr size_t kVariablesForOne = 16;
constexpr size_t kMostInitialValues = 8;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Indices of stays by position, in compressed rows.
struct ByPosition {
  std::vector<size_t> row;  // of position p: items[row[p]] .. items[row[p + 1] - 1]
  std::vector<size_t> items;
};

// Sorts the stays of at least one position by `at(stay)`; at equal positions by their index.
template <typename At>
void Sort(const std::vector<Stay>& stays, size_t positions, At at, ByPosition* out) {
  out->row.assign(positions + 2, 0);
  for (size_t i = 0; i < stays.size(); ++i) {
    if (stays[i].from <= stays[i].to) ++out->row[Index(at(i)) + 2];
  }
  std::partial_sum(out->row.begin(), out->row.end(), out->row.begin());
  out->items.resize(out->row.back());
  for (size_t i = 0; i < stays.size(); ++i) {
    if (stays[i].from <= stays[i].to) out->items[out->row[Index(at(i)) + 1]++] = i;
  }
  out->row.pop_back();
}

class Replayer {
 public:
  Replayer(const Problem& problem, const Plan& plan)
      : persistent_bytes_(problem.persistent_bytes),
        persistent_sizes_(problem.persistent_sizes),
        stays_(FindResidency(problem, plan, Positions(plan.order)).on_device) {
    for (OpId op : plan.order) workspace_.push_back(problem.ops[Index(op)].workspace_bytes);
    const std::vector<int32_t> position = Positions(plan.order);
    writes_.resize(plan.order.size());
    for (const StateWrite& write : problem.state_writes) {
      writes_[Index(position[Index(write.op)])].push_back(Index(write.state));
    }
    chunk_.resize(stays_.size());
    to_.resize(stays_.size());
  }

  BfcReplayResult Run(int64_t capacity_bytes, int steps, uint32_t seed) {
    if (persistent_bytes_ > capacity_bytes) return {false, 0, 0, persistent_bytes_};
    // Every step of one run draws anew.
    const bool drawn = seed != 0 && seed != kFastCopies;
    const bool gaps = drawn && seed >= kSeedsWithoutGaps;
    moves_ = gaps && seed % 4 >= 2;
    const bool fast = seed == kFastCopies || (gaps && seed % 2 == 0);
    const int64_t held =
        gaps ? 0 : (persistent_bytes_ + kBfcAlignment - 1) / kBfcAlignment * kBfcAlignment;
    BfcModel model(capacity_bytes - held);
    const int64_t without_room = gaps ? PlaceVariables(seed, &model) : 0;
    if (without_room > 0) return {false, model.peak_bytes(), 0, without_room};
    for (int step = 0; step < steps; ++step) {
      Draw(drawn ? seed * 1000 + static_cast<uint32_t>(step) : seed, fast);
      for (size_t p = 0; p < workspace_.size(); ++p) {
        const int64_t failed_bytes = RunPosition(p, &model);
        if (failed_bytes == 0) continue;
        return {false, held + model.peak_bytes(), static_cast<int32_t>(p), failed_bytes};
      }
    }
    return {true, held + model.peak_bytes(), -1, 0};
  }

 private:
  // Each variable beside its initial value, which goes some variables later. The bytes of the
  // request that found no chunk; 0 when all did.
  int64_t PlaceVariables(uint32_t seed, BfcModel* model) {
    std::mt19937 random(seed);
    const size_t together =
        std::min(kMostInitialValues, 1 + persistent_sizes_.size() / kVariablesForOne);
    // (variable with which it goes, chunk)
    std::vector<std::pair<size_t, BfcModel::ChunkId>> initial;
    int64_t rest = persistent_bytes_;
    variables_.clear();
    for (size_t i = 0; i < persistent_sizes_.size(); ++i) {
      const int64_t size_bytes = persistent_sizes_[i];
      const BfcModel::ChunkId value = model->Allocate(size_bytes);
      const BfcModel::ChunkId variable = value < 0 ? -1 : model->Allocate(size_bytes);
      if (value < 0) return size_bytes;
      variables_.push_back(variable < 0 ? value : variable);
      rest -= size_bytes;
      // Without room for both the value is the variable.
      if (variable >= 0) initial.emplace_back(i + random() % together, value);
      std::erase_if(initial, [&](const auto& one) {
        if (one.first <= i) model->Free(one.second);
        return one.first <= i;
      });
    }
    for (const auto& [with, value] : initial) model->Free(value);
    return rest > 0 && model->Allocate(rest) < 0 ? rest : 0;
  }

  // What begins and ends at each position of one step.
  void Draw(uint32_t seed, bool fast) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < stays_.size(); ++i) {
      const Stay& stay = stays_[i];
      to_[i] = stay.to;
      if (seed == 0 || !stay.until_sync || stay.from > stay.to) continue;
      if (stay.earliest_to >= stay.to) continue;
      if (fast) {
        // The op behind the last access starts beside the copy.
        to_[i] = std::min(stay.to, stay.earliest_to + 1);
        continue;
      }
      const auto choices = static_cast<uint32_t>(stay.to - stay.earliest_to + 1);
      to_[i] -= static_cast<int32_t>(random() % choices);
    }
    Sort(
        stays_, workspace_.size(), [&](size_t i) { return stays_[i].from; }, &begins_);
    Sort(
        stays_, workspace_.size(), [&](size_t i) { return to_[i]; }, &ends_);
    if (seed == 0 || seed == kFastCopies) return;
    const auto item = [&](size_t p) {
      return begins_.items.begin() + static_cast<std::ptrdiff_t>(begins_.row[p]);
    };
    for (size_t p = 0; p < workspace_.size(); ++p) std::shuffle(item(p), item(p + 1), random);
  }

  // Each variable that the op at `p` writes is somewhere else behind it. Returns as RunPosition.
  int64_t MoveStates(size_t p, BfcModel* model) {
    if (!moves_) return 0;
    for (size_t state : writes_[p]) {
      const BfcModel::ChunkId chunk = model->Allocate(persistent_sizes_[state]);
      if (chunk < 0) return persistent_sizes_[state];
      model->Free(variables_[state]);
      variables_[state] = chunk;
    }
    return 0;
  }

  // The bytes of the request that found no chunk; 0 when all did.
  int64_t RunPosition(size_t p, BfcModel* model) {
    for (size_t i = begins_.row[p]; i < begins_.row[p + 1]; ++i) {
      const size_t stay = begins_.items[i];
      const int64_t giver = stays_[stay].takes_from;
      chunk_[stay] = giver >= 0 ? chunk_[static_cast<size_t>(giver)]
                                : model->Allocate(stays_[stay].size_bytes);
      if (chunk_[stay] < 0) return stays_[stay].size_bytes;
    }
    if (workspace_[p] > 0) {
      const BfcModel::ChunkId chunk = model->Allocate(workspace_[p]);
      if (chunk < 0) return workspace_[p];
      model->Free(chunk);
    }
    if (const int64_t failed_bytes = MoveStates(p, model); failed_bytes > 0) return failed_bytes;
    for (size_t i = ends_.row[p]; i < ends_.row[p + 1]; ++i) {
      const size_t stay = ends_.items[i];
      if (!stays_[stay].handed_on) model->Free(chunk_[stay]);
    }
    return 0;
  }

  const int64_t persistent_bytes_;
  const std::vector<int64_t> persistent_sizes_;
  const std::vector<Stay> stays_;
  std::vector<int64_t> workspace_;            // by position
  std::vector<BfcModel::ChunkId> chunk_;      // by stay
  std::vector<int32_t> to_;                   // by stay: where it ends in this step
  ByPosition begins_, ends_;                  // in this step
  std::vector<std::vector<size_t>> writes_;   // by position: variables written there
  std::vector<BfcModel::ChunkId> variables_;  // by variable, in runs with gaps
  bool moves_ = false;                        // whether writes move variables in this run
};

}  // namespace

BfcReplayResult ReplayBfc(const Problem& problem, const Plan& plan, int64_t capacity_bytes,
                          int steps, uint32_t seed) {
  return Replayer(problem, plan).Run(capacity_bytes, steps, seed);
}

std::vector<BfcReplayResult> FailedReplays(const Problem& problem, const Plan& plan,
                                           int64_t capacity_bytes, int steps, uint32_t seeds) {
  Replayer replayer(problem, plan);
  std::vector<BfcReplayResult> failed;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    const BfcReplayResult result = replayer.Run(capacity_bytes, steps, seed);
    if (!result.fits) failed.push_back(result);
  }
  return failed;
}

bool FitsInBfc(const Problem& problem, const Plan& plan, int64_t capacity_bytes, int steps,
               uint32_t seeds) {
  Replayer replayer(problem, plan);
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    if (!replayer.Run(capacity_bytes, steps, seed).fits) return false;
  }
  return true;
}

}  // namespace tflms
