// SPDX-License-Identifier: Apache-2.0
//
// Which kernel runs on this thread: what lets the allocator tell a kernel's outputs from its
// scratch, and the log name an allocation.
#ifndef TFLMS_SIM_GPU_THREAD_STATE_H_
#define TFLMS_SIM_GPU_THREAD_STATE_H_

#include <cstdint>
#include <string_view>

namespace tflms::sim_gpu {

struct RunningKernel {
  // Name of the node; empty when no kernel of a simulated device runs on this thread.
  std::string_view name;

  // True when the temporaries of this kernel are scratch that no accelerator would take.
  bool scratch_to_host = false;
};

// This thread's running kernel.
RunningKernel& CurrentKernel();

// Microseconds that allocations of this thread have waited for memory, in sum. Only grows.
int64_t& ThreadWaitUs();

// Sets the running kernel for a scope; restores the outer one after it (kernels nest when a
// function runs inline).
class ScopedKernel {
 public:
  explicit ScopedKernel(RunningKernel kernel) : outer_(CurrentKernel()) {
    CurrentKernel() = kernel;
  }
  ~ScopedKernel() { CurrentKernel() = outer_; }
  ScopedKernel(const ScopedKernel&) = delete;
  ScopedKernel& operator=(const ScopedKernel&) = delete;

 private:
  RunningKernel outer_;
};

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_THREAD_STATE_H_
