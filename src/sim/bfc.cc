// SPDX-License-Identifier: Apache-2.0
//
// The BFC model and the replay of a plan in it. See bfc.h.

#include "src/sim/bfc.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "src/sim/residency.h"

namespace tflms {
namespace {

constexpr int kBins = 21;
constexpr int64_t kMaxUnsplitRest = int64_t{128} << 20;

size_t Index(int32_t id) { return static_cast<size_t>(id); }

int64_t RoundUp(int64_t size_bytes) {
  return std::max<int64_t>(1, (size_bytes + kBfcAlignment - 1) / kBfcAlignment) * kBfcAlignment;
}

}  // namespace

BfcModel::BfcModel(int64_t capacity_bytes) {
  const int64_t usable = capacity_bytes / kBfcAlignment * kBfcAlignment;
  if (usable > 0) {
    chunks_[0] = {usable, true};
    Insert(0, usable);
  }
}

int BfcModel::Bin(int64_t size_bytes) {
  int bin = 0;
  for (int64_t units = size_bytes / kBfcAlignment; units > 1 && bin < kBins - 1; units /= 2) ++bin;
  return bin;
}

void BfcModel::Insert(int64_t offset, int64_t size_bytes) {
  free_by_size_[Bin(size_bytes)].insert({size_bytes, offset});
}

void BfcModel::Remove(int64_t offset, int64_t size_bytes) {
  free_by_size_[Bin(size_bytes)].erase({size_bytes, offset});
}

int64_t BfcModel::Allocate(int64_t size_bytes) {
  const int64_t want = RoundUp(size_bytes);
  for (int bin = Bin(want); bin < kBins; ++bin) {
    const auto it = free_by_size_[bin].lower_bound({want, 0});
    if (it == free_by_size_[bin].end()) continue;
    const auto [have, offset] = *it;
    Remove(offset, have);
    int64_t got = have;
    if (have >= 2 * want || have - want >= kMaxUnsplitRest) {
      got = want;
      chunks_[offset + want] = {have - want, true};
      Insert(offset + want, have - want);
    }
    chunks_[offset] = {got, false};
    in_use_bytes_ += got;
    peak_bytes_ = std::max(peak_bytes_, in_use_bytes_);
    return offset;
  }
  return -1;
}

void BfcModel::Free(int64_t offset) {
  auto it = chunks_.find(offset);
  if (it == chunks_.end() || it->second.free) return;
  in_use_bytes_ -= it->second.size_bytes;
  it->second.free = true;
  if (const auto next = std::next(it); next != chunks_.end() && next->second.free) {
    Remove(next->first, next->second.size_bytes);
    it->second.size_bytes += next->second.size_bytes;
    chunks_.erase(next);
  }
  if (it != chunks_.begin()) {
    const auto before = std::prev(it);
    if (before->second.free) {
      Remove(before->first, before->second.size_bytes);
      before->second.size_bytes += it->second.size_bytes;
      chunks_.erase(it);
      it = before;
    }
  }
  Insert(it->first, it->second.size_bytes);
}

int64_t BfcModel::largest_free_bytes() const {
  for (int bin = kBins - 1; bin >= 0; --bin) {
    if (!free_by_size_[bin].empty()) return free_by_size_[bin].rbegin()->first;
  }
  return 0;
}

namespace {

// What begins and ends at each position of one run.
struct Schedule {
  std::vector<std::vector<size_t>> begins, ends;  // by position: indices of stays
};

Schedule MakeSchedule(const std::vector<Stay>& stays, size_t positions, uint32_t seed) {
  std::mt19937 random(seed);
  Schedule schedule;
  schedule.begins.resize(positions);
  schedule.ends.resize(positions);
  for (size_t i = 0; i < stays.size(); ++i) {
    const Stay& stay = stays[i];
    if (stay.from > stay.to) continue;
    int32_t to = stay.to;
    if (seed != 0 && stay.until_sync && stay.earliest_to < stay.to) {
      to -= static_cast<int32_t>(random() % static_cast<uint32_t>(stay.to - stay.earliest_to + 1));
    }
    schedule.begins[Index(stay.from)].push_back(i);
    schedule.ends[Index(to)].push_back(i);
  }
  if (seed != 0) {
    for (auto& begins : schedule.begins) std::shuffle(begins.begin(), begins.end(), random);
  }
  return schedule;
}

}  // namespace

BfcReplayResult ReplayBfc(const Problem& problem, const Plan& plan, int64_t capacity_bytes,
                          int steps, uint32_t seed) {
  const std::vector<int32_t> position = Positions(plan.order);
  const std::vector<Stay> stays = FindResidency(problem, plan, position).on_device;
  BfcModel model(capacity_bytes);
  if (problem.persistent_bytes > 0 && model.Allocate(problem.persistent_bytes) < 0) {
    return {false, 0, 0, problem.persistent_bytes};
  }
  std::vector<int64_t> offset(stays.size(), -1);
  for (int step = 0; step < steps; ++step) {
    // Every step of one run draws anew.
    const uint32_t draw = seed == 0 ? 0 : seed * 1000 + static_cast<uint32_t>(step);
    const Schedule schedule = MakeSchedule(stays, plan.order.size(), draw);
    for (size_t p = 0; p < plan.order.size(); ++p) {
      const auto failed = [&](int64_t bytes) {
        return BfcReplayResult{false, model.peak_bytes(), static_cast<int32_t>(p), bytes};
      };
      for (size_t i : schedule.begins[p]) {
        const int64_t giver = stays[i].takes_from;
        offset[i] = giver >= 0 ? offset[static_cast<size_t>(giver)]
                               : model.Allocate(stays[i].size_bytes);
        if (offset[i] < 0) return failed(stays[i].size_bytes);
      }
      const int64_t workspace = problem.ops[Index(plan.order[p])].workspace_bytes;
      if (workspace > 0) {
        const int64_t at = model.Allocate(workspace);
        if (at < 0) return failed(workspace);
        model.Free(at);
      }
      for (size_t i : schedule.ends[p]) {
        if (!stays[i].handed_on) model.Free(offset[i]);
      }
    }
  }
  return {true, model.peak_bytes(), -1, 0};
}

bool FitsInBfc(const Problem& problem, const Plan& plan, int64_t capacity_bytes, int steps,
               uint32_t seeds) {
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    if (!ReplayBfc(problem, plan, capacity_bytes, steps, seed).fits) return false;
  }
  return true;
}

}  // namespace tflms
