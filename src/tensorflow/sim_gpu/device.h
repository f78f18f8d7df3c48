// SPDX-License-Identifier: Apache-2.0
//
// The simulated device as TensorFlow sees it: it computes with the CPU's kernels and threads, and
// keeps to its own memory and link.
#ifndef TFLMS_SIM_GPU_DEVICE_H_
#define TFLMS_SIM_GPU_DEVICE_H_

#include "absl/status/status.h"

namespace tflms::sim_gpu {

// Registers the device factory for the simulator's device type. An error when the type already has
// one (a real accelerator). The simulator must have been started.
absl::Status RegisterDeviceFactory();

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_DEVICE_H_
