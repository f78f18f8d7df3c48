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
#include <set>
#include <utility>
#include <vector>

#include "src/planners/lanes.h"
#include "src/planners/ledger.h"
#include "src/planners/planner.h"

namespace tflms {

struct CoverOptions {
  double stretch = 1;  // of the clock, or kNoClock; see lanes.h
  double price = 0;    // of a microsecond of copying, in microseconds
  bool may_swap = true;
  bool may_recompute = true;
  int64_t min_bytes = 0;   // smaller buffers stay
  int64_t host_bytes = 0;  // swapped buffers together; 0 = no limit
  Machine machine;
};

class Cover {
 public:
  // The ledger has no choices yet, and no transaction is open.
  Cover(const CoverOptions& options, Ledger* ledger);

  // Makes choices in the ledger until its memory keeps to the limits, which are by position. True
  // when it does. Another run goes on from the choices of the one before.
  bool Run(std::vector<int64_t> limit_bytes);

 private:
  struct Scored {
    double score = 0;
    SwapChoice choice;
    bool recompute = false;
    bool operator<(const Scored& other) const;
  };

  int64_t Excess() const;
  void FindChoices();
  bool Has(SwapChoice choice) const;
  bool OnHost(SwapChoice choice) const;
  bool MaySwap(SwapChoice choice) const;
  bool HostHasRoom(SwapChoice choice, int64_t bytes) const;
  std::pair<int32_t, int32_t> HostStay(SwapChoice choice) const;
  Scored Score(SwapChoice choice);
  void Take(const Scored& scored);
  void CountOnHost(SwapChoice choice, int64_t sign);
  bool TakeBest();
  void Refresh();
  void DropEnded();
  void DropSwaps();

  CoverOptions options_;  // as asked for, then as given way
  Ledger& ledger_;
  Lanes lanes_;
  std::vector<int64_t> limit_bytes_;  // by position
  int32_t samples_ = kAllPositions;   // see Ledger::ExcessLowered
  std::vector<SwapChoice> choices_;
  std::set<SwapChoice> swaps_, banned_;
  std::vector<int64_t> host_;  // by position
};

}  // namespace tflms

#endif  // TFLMS_PLANNERS_COVER_H_
