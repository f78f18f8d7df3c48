// SPDX-License-Identifier: Apache-2.0
//
// The simulator: what a plan costs in memory and time. Every planner is judged by it.
//
// Two views:
//   PlannedMemory   memory by position with no clock, under the slowest copies the plan allows: a
//                   swapped buffer is on the device until its sync op starts (until its return,
//                   when nobody waits), and again from the end of its trigger. The peak therefore
//                   holds for every link speed, as long as the order is pinned. Two moments count
//                   at each position: `running`, while its op runs, and `waiting`, just before it
//                   starts, when its outputs are not there yet but what it waits for to leave
//                   still is, and what was triggered is back already. O(ops + accesses).
//   Simulate        the same plan on a machine with a clock: three lanes that each do one thing at
//                   a time in first-in-first-out order (compute, copies out, copies in). An op
//                   starts when its inputs are resident and its waits are over; copies take
//                   size / rate. At equal ticks frees come before allocations.
//                   O((ops + accesses) log ops).

#ifndef TFLMS_SIM_SIMULATOR_H_
#define TFLMS_SIM_SIMULATOR_H_

#include <cstdint>
#include <vector>

#include "src/sim/problem.h"

namespace tflms {

struct Machine {
  double out_bytes_per_us = 0;  // device -> host; 0 = no limit
  double in_bytes_per_us = 0;   // host -> device; 0 = no limit
};

struct MemoryView {
  std::vector<int64_t> running;  // device bytes while the op at each position runs
  std::vector<int64_t> waiting;  // device bytes just before it starts
  std::vector<int64_t> host;     // bytes of swapped buffers on the host
  int64_t peak_bytes = 0;        // max of both; persistent bytes when there is no op
  int32_t peak_position = -1;
  int64_t host_peak_bytes = 0;  // max of `host`
};

MemoryView PlannedMemory(const Problem& problem, const Plan& plan);

struct SimulationResult {
  int64_t peak_bytes = 0;
  OpId peak_op = kNoOp;
  int64_t host_peak_bytes = 0;
  int64_t time_us = 0;
  int64_t stall_us = 0;         // time the compute lane waited for copies
  OpId worst_stall_op = kNoOp;  // the op that waited longest
  int64_t out_bytes = 0;        // copied device -> host
  int64_t in_bytes = 0;         // copied host -> device
};

SimulationResult Simulate(const Problem& problem, const Plan& plan, const Machine& machine);

}  // namespace tflms

#endif  // TFLMS_SIM_SIMULATOR_H_
