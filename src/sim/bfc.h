// SPDX-License-Identifier: Apache-2.0
//
// A model of TensorFlow's BFC allocator (best fit with coalescing), to see whether a plan fits in
// one region of memory once fragmentation is counted.
//
// Rules modelled, as tensorflow/core (xla/tsl) framework/bfc_allocator.cc has them:
//   - sizes are rounded up to 256 bytes;
//   - free chunks lie in 21 bins by size, bin b holding sizes >= 256 << b; the search starts in the
//     request's bin and takes the smallest chunk (then the lowest address) that is large enough;
//   - the chunk found is split only when it is at least twice the request, or 128 MiB or more
//     larger; otherwise the request gets all of it;
//   - a chunk given back is joined with free neighbours at once.
//
// Chunks lie in an array and know their neighbours in memory; bins are sorted arrays. Cost of each
// call: O(log chunks) and the moving of at most one bin.

#ifndef TFLMS_SIM_BFC_H_
#define TFLMS_SIM_BFC_H_

#include <array>
#include <cstdint>
#include <vector>

#include "src/sim/problem.h"

namespace tflms {

inline constexpr int64_t kBfcAlignment = 256;

class BfcModel {
 public:
  using ChunkId = int32_t;  // names a chunk from Allocate to Free

  explicit BfcModel(int64_t capacity_bytes);
  // A chunk for `size_bytes` (> 0), or -1 when no free chunk is large enough.
  ChunkId Allocate(int64_t size_bytes);
  // Gives back a chunk; nothing happens when it is not allocated.
  void Free(ChunkId id);
  int64_t OffsetOf(ChunkId id) const { return chunks_[static_cast<size_t>(id)].offset; }
  int64_t in_use_bytes() const { return in_use_bytes_; }  // with rounding and unsplit rests
  int64_t peak_bytes() const { return peak_bytes_; }
  int64_t largest_free_bytes() const;

 private:
  static constexpr int kBins = 21;
  enum class State : uint8_t { kUnused, kFree, kAllocated };
  struct Chunk {
    int64_t offset = 0;
    int64_t size_bytes = 0;
    ChunkId before = -1, behind = -1;  // neighbours in memory
    State state = State::kUnused;
  };
  struct FreeChunk {
    int64_t size_bytes;
    int64_t offset;
    ChunkId id;
  };
  static int BinOf(int64_t size_bytes);
  Chunk& At(ChunkId id) { return chunks_[static_cast<size_t>(id)]; }
  bool IsFree(ChunkId id) const {
    return id >= 0 && chunks_[static_cast<size_t>(id)].state == State::kFree;
  }
  ChunkId NewChunk();
  void PutInBin(ChunkId id);
  void TakeFromBin(ChunkId id);
  void SplitBehind(ChunkId id, int64_t size_bytes);
  void JoinWithNext(ChunkId id);

  std::vector<Chunk> chunks_;
  std::vector<ChunkId> unused_;                     // of chunks_
  std::array<std::vector<FreeChunk>, kBins> bins_;  // each by (size, offset)
  int64_t in_use_bytes_ = 0, peak_bytes_ = 0;
};

struct BfcReplayResult {
  bool fits = true;
  int64_t peak_bytes = 0;        // of chunks handed out
  int32_t failed_position = -1;  // first position with a request that found no chunk
  int64_t failed_bytes = 0;      // that request
};

// Replays `steps` runs of a pinned plan in a region of `capacity_bytes`. What a run leaves to
// chance is drawn from `seed`:
//   - the order in which buffers that begin at one position ask for their memory;
//   - how soon swap-outs end before the op that waits for them: anywhere, or in every second seed
//     from 24 on as if copies took next to no time;
//   - where persistent bytes lie: at the region's start without gaps, from seed 24 on with the gaps
//     that initial values leave, which are as large as the variables;
//   - whether they stay there: in half of the runs with gaps each op that writes a variable moves
//     it, since kernels write into a new buffer while something refers to the old value.
// Seed 0 is the run with the slowest copies, kFastCopies the one with copies that take next to no
// time, both without gaps and in the order of the buffers.
inline constexpr uint32_t kFastCopies = 0xFFFFFFFF;
BfcReplayResult ReplayBfc(const Problem& problem, const Plan& plan, int64_t capacity_bytes,
                          int steps, uint32_t seed);

// How a plan is tried before it counts as fitting: runs that differ in what is left to chance, of
// several steps each, since later ones meet what the first left behind.
inline constexpr int kReplaySteps = 3;
inline constexpr uint32_t kReplaySeeds = 36;

// The runs of seeds 0 .. seeds - 1 that do not fit.
std::vector<BfcReplayResult> FailedReplays(const Problem& problem, const Plan& plan,
                                           int64_t capacity_bytes, int steps, uint32_t seeds);

// True when the runs of seeds 0 .. seeds - 1 all fit.
bool FitsInBfc(const Problem& problem, const Plan& plan, int64_t capacity_bytes, int steps,
               uint32_t seeds);

}  // namespace tflms

#endif  // TFLMS_SIM_BFC_H_
