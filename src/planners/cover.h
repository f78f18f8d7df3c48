// SPDX-License-Identifier: Apache-2.0
//
// The joint greedy: swaps and recomputations chosen together until no position is over the limit.
//
//   score(choice) = excess it takes away, summed over all positions over the limit
//                   / time it costs
//   time of a swap           price x (copy out + copy in): nothing while the lanes are idle at a
//                            price of 0, as dear as computing at a price of 1
//   time of a recomputation  the clones that it adds
//
// The best choice is taken, the others are scored again when their turn comes (scores mostly fall).
// Windows of swaps follow the lanes (lanes.h) and are set anew from time to time, since every swap
// delays those behind it. When nothing is over the limit, swaps that are not needed are dropped,
// the dearest first. Counting all positions at once, not the highest alone, saves going from peak
// to peak.
//
// Sources: peak-driven choice as in Grappler's memory optimizer; swap beside recompute by cost as
// in Capuchin (ASPLOS 2020). Cost: O(choices x positions) for the first scores and each further
// one.

#ifndef TFLMS_PLANNERS_COVER_H_
#define TFLMS_PLANNERS_COVER_H_

#include <cstdint>
#include <vector>

#include "src/planners/lanes.h"
#include "src/planners/ledger.h"
#include "src/planners/planner.h"

namespace tflms {

struct CoverOptions {
  int64_t limit_bytes = 0;
  double stretch = 1;  // of the clock, or kNoClock; see lanes.h
  double price = 0;    // of a microsecond of copying, in microseconds
  bool may_swap = true;
  bool may_recompute = true;
  int64_t min_bytes = 0;   // smaller buffers stay
  int64_t host_bytes = 0;  // swapped buffers together; 0 = no limit
  Machine machine;
};

// Makes choices in `ledger` until its memory keeps to the limit. True when it does. The ledger has
// no choices yet, and no transaction is open.
bool Cover(const CoverOptions& options, Ledger* ledger);

}  // namespace tflms

#endif  // TFLMS_PLANNERS_COVER_H_
