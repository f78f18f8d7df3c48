// SPDX-License-Identifier: Apache-2.0
//
// Where each buffer is at each position of a plan, under the slowest copies the plan allows.
//
// A buffer with accesses a0 < a1 < ... < ak is on the device from a0 to ak. A swap gap (ai, aj)
// takes it away between:
//   first gap of the buffer    until the op before `sync`; the whole gap when nobody waits
//   later gaps                 until ai: the host has a copy already
//   and it is back             from the op after `trigger`
// A buffer that takes over another's memory starts where that one ends: the two never count at
// once.

#ifndef TFLMS_SIM_RESIDENCY_H_
#define TFLMS_SIM_RESIDENCY_H_

#include <vector>

#include "src/sim/problem.h"

namespace tflms {

// Bytes of one buffer on one side during the positions from .. to, both included.
struct Stay {
  BufferId buffer = -1;
  int32_t from = 0;
  int32_t to = 0;
  int64_t size_bytes = 0;
  int64_t takes_from = -1;  // index of the stay whose memory this one takes over, or -1
  bool handed_on = false;   // some stay takes this one's memory over
  bool made = false;        // begins with the buffer's producer, not with a swap-in
  bool until_sync = false;  // ends because the op right behind `to` waits for its swap-out
  int32_t earliest_to = 0;  // a fast copy out may end it any time from here to `to`
};

struct Residency {
  std::vector<Stay> on_device;  // ordered by (buffer, from)
  std::vector<Stay> on_host;    // at most one for each buffer
};

// `position` = Positions(plan.order). O((accesses + swaps) log).
Residency FindResidency(const Problem& problem, const Plan& plan,
                        const std::vector<int32_t>& position);

// By buffer: the buffer whose memory it takes over in this order, or -1. That one is read by the
// producer and by nothing later, has the same size, does not outlive the step, and is taken once.
std::vector<BufferId> FindTakeovers(const Problem& problem, const std::vector<int32_t>& position);

}  // namespace tflms

#endif  // TFLMS_SIM_RESIDENCY_H_
