// SPDX-License-Identifier: Apache-2.0
//
// What all simulated devices of the process share: settings, log, and per ordinal its memory and
// link. As with real GPUs these belong to the process, not to a session: every session's device of
// one ordinal allocates from the same memory.
#ifndef TFLMS_SIM_GPU_SIMULATOR_H_
#define TFLMS_SIM_GPU_SIMULATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "copy_lanes.h"
#include "device_memory.h"
#include "event_log.h"
#include "run_times.h"
#include "settings.h"

namespace tflms::sim_gpu {

struct DeviceState {
  std::unique_ptr<DeviceMemory> memory;
  LinkContext* link = nullptr;  // reference-counted; one reference is held for the process
  std::atomic<int64_t> moved_outputs{0};
  std::atomic<int64_t> moved_output_bytes{0};
};

struct Simulator {
  Settings settings;
  EventLog log;
  RunTimes run_times;
  std::vector<std::unique_ptr<DeviceState>> devices;
};

// Sets up the process's simulator, once. An error when it is already there, when a setting is out
// of range, or when the host cannot reserve the memory; nothing is set up then.
absl::Status StartSimulator(const Settings& settings);

// The simulator, or nullptr before StartSimulator. Never destroyed: tensors may outlive any
// orderly end of the process.
Simulator* GetSimulator();

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_SIMULATOR_H_
