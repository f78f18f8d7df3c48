// SPDX-License-Identifier: Apache-2.0
//
// The BFC model. See bfc.h.

#include "src/sim/bfc.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tflms {
namespace {

constexpr int64_t kMaxUnsplitRest = int64_t{128} << 20;

int64_t RoundUp(int64_t size_bytes) {
  return std::max<int64_t>(1, (size_bytes + kBfcAlignment - 1) / kBfcAlignment) * kBfcAlignment;
}

// The first entry of a bin that is at least (size, offset).
template <typename Bin>
auto LowerBound(Bin& bin, int64_t size_bytes, int64_t offset) {
  return std::lower_bound(bin.begin(), bin.end(), std::pair(size_bytes, offset),
                          [](const auto& entry, const std::pair<int64_t, int64_t>& key) {
                            return std::pair(entry.size_bytes, entry.offset) < key;
                          });
}

}  // namespace

BfcModel::BfcModel(int64_t capacity_bytes) {
  const int64_t usable = capacity_bytes / kBfcAlignment * kBfcAlignment;
  if (usable <= 0) return;
  const ChunkId all = NewChunk();
  At(all).size_bytes = usable;
  PutInBin(all);
}

int BfcModel::BinOf(int64_t size_bytes) {
  const auto units = static_cast<uint64_t>(std::max<int64_t>(1, size_bytes / kBfcAlignment));
  return std::min(static_cast<int>(std::bit_width(units)) - 1, kBins - 1);
}

BfcModel::ChunkId BfcModel::NewChunk() {
  if (unused_.empty()) {
    chunks_.emplace_back();
    return static_cast<ChunkId>(chunks_.size()) - 1;
  }
  const ChunkId id = unused_.back();
  unused_.pop_back();
  At(id) = Chunk();
  return id;
}

void BfcModel::PutInBin(ChunkId id) {
  Chunk& chunk = At(id);
  chunk.state = State::kFree;
  auto& bin = bins_[static_cast<size_t>(BinOf(chunk.size_bytes))];
  bin.insert(LowerBound(bin, chunk.size_bytes, chunk.offset), {chunk.size_bytes, chunk.offset, id});
}

void BfcModel::TakeFromBin(ChunkId id) {
  const Chunk& chunk = At(id);
  auto& bin = bins_[static_cast<size_t>(BinOf(chunk.size_bytes))];
  bin.erase(LowerBound(bin, chunk.size_bytes, chunk.offset));
}

// Cuts the chunk to `size_bytes`; the rest becomes a free chunk behind it.
void BfcModel::SplitBehind(ChunkId id, int64_t size_bytes) {
  const ChunkId rest = NewChunk();
  Chunk& chunk = At(id);
  At(rest) = {chunk.offset + size_bytes, chunk.size_bytes - size_bytes, id, chunk.behind,
              State::kFree};
  if (chunk.behind >= 0) At(chunk.behind).before = rest;
  chunk.behind = rest;
  chunk.size_bytes = size_bytes;
  PutInBin(rest);
}

// Makes one chunk of `id` and the one behind it; neither is in a bin.
void BfcModel::JoinWithNext(ChunkId id) {
  Chunk& chunk = At(id);
  const ChunkId next = chunk.behind;
  chunk.size_bytes += At(next).size_bytes;
  chunk.behind = At(next).behind;
  if (chunk.behind >= 0) At(chunk.behind).before = id;
  At(next).state = State::kUnused;
  unused_.push_back(next);
}

BfcModel::ChunkId BfcModel::Allocate(int64_t size_bytes) {
  const int64_t want = RoundUp(size_bytes);
  for (size_t bin = static_cast<size_t>(BinOf(want)); bin < bins_.size(); ++bin) {
    const auto found = LowerBound(bins_[bin], want, 0);
    if (found == bins_[bin].end()) continue;
    const ChunkId id = found->id;
    const int64_t have = found->size_bytes;
    bins_[bin].erase(found);
    if (have >= 2 * want || have - want >= kMaxUnsplitRest) SplitBehind(id, want);
    At(id).state = State::kAllocated;
    in_use_bytes_ += At(id).size_bytes;
    peak_bytes_ = std::max(peak_bytes_, in_use_bytes_);
    return id;
  }
  return -1;
}

void BfcModel::Free(ChunkId id) {
  if (id < 0 || static_cast<size_t>(id) >= chunks_.size()) return;
  if (At(id).state != State::kAllocated) return;
  in_use_bytes_ -= At(id).size_bytes;
  if (IsFree(At(id).behind)) {
    TakeFromBin(At(id).behind);
    JoinWithNext(id);
  }
  const ChunkId before = At(id).before;
  if (IsFree(before)) {
    TakeFromBin(before);
    JoinWithNext(before);
    id = before;
  }
  PutInBin(id);
}

int64_t BfcModel::largest_free_bytes() const {
  for (size_t bin = bins_.size(); bin-- > 0;) {
    if (!bins_[bin].empty()) return bins_[bin].back().size_bytes;
  }
  return 0;
}

}  // namespace tflms
