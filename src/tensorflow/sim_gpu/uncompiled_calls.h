// SPDX-License-Identifier: Apache-2.0
//
// Calls that ask to be compiled by XLA, on a device XLA knows nothing of.
#ifndef TFLMS_SIM_GPU_UNCOMPILED_CALLS_H_
#define TFLMS_SIM_GPU_UNCOMPILED_CALLS_H_

#include <string>

namespace tflms::sim_gpu {

// From now on, calls on devices of `device_type` that ask for XLA run uncompiled, with one warning
// per process; calls on other devices are compiled as before. Call once, before TensorFlow makes
// its function runtimes.
void RunCallsUncompiled(const std::string& device_type);

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_UNCOMPILED_CALLS_H_
