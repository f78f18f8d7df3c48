// SPDX-License-Identifier: Apache-2.0
//
// What the simulated GPU is told to be. Plain numbers; fixed once started.
#ifndef TFLMS_SIM_GPU_SETTINGS_H_
#define TFLMS_SIM_GPU_SETTINGS_H_

#include <cstdint>
#include <map>
#include <string>

namespace tflms::sim_gpu {

struct Settings {
  // TensorFlow device type under which the devices are registered.
  std::string device_type = "GPU";

  // Number of devices; at least 1.
  int32_t count = 1;

  // Memory of each device. Rounded down to the allocator's grain (256 bytes).
  int64_t memory_limit_bytes = 0;

  // Rate of the link, device to host and host to device; 0 is "as fast as memory copies go".
  double link_out_bytes_per_s = 0;
  double link_in_bytes_per_s = 0;

  // Whether an allocation that does not fit waits (TensorFlow's own 10 s) for memory to be freed
  // before it fails. False fails at once.
  bool wait_when_full = true;

  // Whether a kernel's scratch is taken from device memory, as the CPU's kernels would have it.
  // False keeps it on the host's heap: no accelerator needs it.
  bool scratch_on_device = false;

  // Device memory an operation of the given type holds while it runs, on top of its outputs: the
  // workspace that a library kernel of a real accelerator would ask for. Types not named take none.
  std::map<std::string, int64_t, std::less<>> workspace_bytes;
};

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_SETTINGS_H_
