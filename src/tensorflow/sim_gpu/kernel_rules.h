// SPDX-License-Identifier: Apache-2.0
//
// What differs between a CPU kernel and the kernel an accelerator would have for the same
// operation, as plain tables over names.
#ifndef TFLMS_SIM_GPU_KERNEL_RULES_H_
#define TFLMS_SIM_GPU_KERNEL_RULES_H_

#include <string_view>

namespace tflms::sim_gpu {

// True for operations that an accelerator does not have: they stay on the CPU by soft placement.
bool StaysOnCpu(std::string_view op);

// True for an integer input that accelerators read on the host: shapes, axes, paddings and the
// like.
bool IsHostInput(std::string_view input);

// True for operations whose int32 form an accelerator keeps on the host altogether.
bool IsHostWhenInt32(std::string_view op);

// True for operations whose kernels build their outputs as temporaries: those are no scratch.
bool BuildsOutputsAsTemporaries(std::string_view op);

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_KERNEL_RULES_H_
