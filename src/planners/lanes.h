// SPDX-License-Identifier: Apache-2.0
//
// When copies end and when they have to begin, for a plan in the making: lane assignment by
// deadlines.
//
//   clock    start(p), end(p) of the op at position p: run times, stretched by a factor, and those
//   of
//            the clones before it. A stretch of 1.2 asks which copies hide in a step that takes 20
//            % longer, whatever it is that makes it longer.
//   out      first in, first out, from the end of the producer:
//            done(i) = max(end(producer i), done(i - 1)) + bytes / rate
//   in       backwards from the last use: start(i) = min(start(use i), start(i + 1)) - bytes / rate
//   window   a buffer is away from the first op that starts when it is out, to the last op that
//   ends
//            before it has to come back
//
// Both lanes hold the swaps that are in the ledger when Lanes is made. Cost: O(positions + swaps
// log).

#ifndef TFLMS_PLANNERS_LANES_H_
#define TFLMS_PLANNERS_LANES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "src/planners/ledger.h"
#include "src/sim/simulator.h"

namespace tflms {

// The stretch of windows that are as wide as they go: copies take no time.
inline constexpr double kNoClock = 0;

// One stay on the host that is planned: behind access `leave` of the buffer's first run.
struct SwapChoice {
  BufferId buffer = -1;
  Key leave = 0;
  friend auto operator<=>(const SwapChoice&, const SwapChoice&) = default;
};

class Lanes {
 public:
  Lanes(const Ledger& ledger, const Machine& machine, double stretch,
        const std::vector<SwapChoice>& swaps);

  // Where the buffer is away behind access `leave` when it is swapped there; `on_host`: an earlier
  // stay has made the copy. Empty when it would not be away at all.
  Window WindowOf(const Ledger& ledger, SwapChoice choice, bool on_host) const;
  // Time that the copies of one stay take on both lanes.
  int64_t CopyTime(int64_t bytes, bool on_host) const;

 private:
  struct Copy {
    int64_t at_us;    // out: asked for; in: the use starts
    int64_t done_us;  // out: ends; in: has to begin
  };

  void MakeClock(const Ledger& ledger, double stretch);
  void FillOut(const Ledger& ledger, const std::vector<SwapChoice>& swaps);
  void FillIn(const Ledger& ledger, const std::vector<SwapChoice>& swaps);
  int64_t OutTime(int64_t bytes) const;
  int64_t InTime(int64_t bytes) const;

  Machine machine_;
  bool clock_;
  std::vector<int64_t> start_us_, end_us_;  // by position
  std::vector<int32_t> steps_;              // positions of the ops that may wait or trigger
  std::vector<int64_t> out_done_us_;        // by buffer; -1: not swapped
  std::vector<Copy> out_, in_;              // by at_us
};

}  // namespace tflms

#endif  // TFLMS_PLANNERS_LANES_H_
