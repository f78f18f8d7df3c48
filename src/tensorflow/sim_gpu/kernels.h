// SPDX-License-Identifier: Apache-2.0
//
// Gives the simulated device its kernels: for every kernel the CPU has, one of the same definition
// that makes the CPU's kernel, except where TensorFlow already has one for accelerators in general
// (device type DEFAULT) or where an accelerator would have none.
#ifndef TFLMS_SIM_GPU_KERNELS_H_
#define TFLMS_SIM_GPU_KERNELS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tflms::sim_gpu {

// What RegisterKernels did.
struct KernelCounts {
  int registered = 0;
  int left_to_default = 0;
};

// Registers the kernels for `device_type`. Call once, before any graph is placed on it.
KernelCounts RegisterKernels(const std::string& device_type);

// The CPU's kernel for `op`, over the attributes, names and types of the node under construction.
// Null, with the construction's status set, when there is none.
std::unique_ptr<tensorflow::OpKernel> MakeCpuKernel(tensorflow::OpKernelConstruction* construction,
                                                    const tensorflow::NodeDef& node);

// Registers kernels of our own, for operations whose CPU kernel cannot stand in.
void RegisterFusedBatchNorm(const std::string& device_type);

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_KERNELS_H_
