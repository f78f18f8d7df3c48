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
// Cost: O(log chunks) for each call.

#ifndef TFLMS_SIM_BFC_H_
#define TFLMS_SIM_BFC_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "src/sim/problem.h"

namespace tflms {

inline constexpr int64_t kBfcAlignment = 256;

class BfcModel {
 public:
  explicit BfcModel(int64_t capacity_bytes);
  // Offset of a chunk for `size_bytes` (> 0), or -1 when no free chunk is large enough.
  int64_t Allocate(int64_t size_bytes);
  // Gives back the chunk at `offset`, which must have come from Allocate.
  void Free(int64_t offset);
  int64_t in_use_bytes() const { return in_use_bytes_; }  // with rounding and unsplit rests
  int64_t peak_bytes() const { return peak_bytes_; }
  int64_t largest_free_bytes() const;

 private:
  struct Chunk {
    int64_t size_bytes;
    bool free;
  };
  static int Bin(int64_t size_bytes);
  void Insert(int64_t offset, int64_t size_bytes);
  void Remove(int64_t offset, int64_t size_bytes);

  std::map<int64_t, Chunk> chunks_;                        // by offset, the whole region
  std::set<std::pair<int64_t, int64_t>> free_by_size_[21];  // (size, offset) by bin
  int64_t in_use_bytes_ = 0, peak_bytes_ = 0;
};

struct BfcReplayResult {
  bool fits = true;
  int64_t peak_bytes = 0;         // of chunks handed out
  int32_t failed_position = -1;   // first position with a request that found no chunk
  int64_t failed_bytes = 0;       // that request
};

// Replays `steps` runs of a pinned plan in a region of `capacity_bytes`. Persistent bytes lie at the
// region's start. What a run leaves to chance is drawn from `seed`: how soon a swap-out ends before
// the op that waits for it, and in which order the buffers that begin at one position ask for their
// memory. Seed 0 is the run with the slowest copies, in the order of the buffers.
BfcReplayResult ReplayBfc(const Problem& problem, const Plan& plan, int64_t capacity_bytes,
                          int steps, uint32_t seed);

// True when the runs of seeds 0 .. seeds - 1 all fit.
bool FitsInBfc(const Problem& problem, const Plan& plan, int64_t capacity_bytes, int steps,
               uint32_t seeds);

}  // namespace tflms

#endif  // TFLMS_SIM_BFC_H_
