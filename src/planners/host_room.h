// SPDX-License-Identifier: Apache-2.0
//
// Host memory under a limit: which of a plan's swapped buffers may be on the host together.
//
//   max over positions of sum of bytes(x), x swapped, from x's producer to x's last return
//     <= host_bytes
//
// Buffers are taken in falling order of bytes x positions away, and each stays swapped if it still
// fits beside those taken before. What does not fit keeps its place on the device. Choosing the
// best set is a packing problem (NP-hard); for the nested gaps of a training step, where all are
// away at the peak, this order is that of what they relieve. Cost: O(k log k) for k swaps.

#ifndef TFLMS_PLANNERS_HOST_ROOM_H_
#define TFLMS_PLANNERS_HOST_ROOM_H_

#include <cstdint>

#include "src/sim/problem.h"

namespace tflms {

// Drops swaps from `plan` until its host peak, as PlannedMemory counts it, is at most `host_bytes`;
// 0 = no limit: nothing is done. `problem` is what Expand gives for the plan. True when a swap was
// dropped; the device's peak may then be higher.
bool KeepToHostRoom(const Problem& problem, int64_t host_bytes, Plan* plan);

}  // namespace tflms

#endif  // TFLMS_PLANNERS_HOST_ROOM_H_
