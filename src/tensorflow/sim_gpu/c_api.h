// SPDX-License-Identifier: Apache-2.0
//
// The library's whole surface, for Python's ctypes: plain C, fixed layouts, no exceptions.
// Functions that can fail return 0 on success, and else fill `error` (always ended by a zero byte).
#ifndef TFLMS_SIM_GPU_C_API_H_
#define TFLMS_SIM_GPU_C_API_H_

#include <stddef.h>
#include <stdint.h>

#define TFLMS_SIM_GPU_API extern "C" __attribute__((visibility("default")))

// Raised whenever a layout or a meaning below changes.
#define TFLMS_SIM_GPU_ABI 4

struct TflmsSimGpuWorkspace {
  const char* op;
  int64_t bytes;
};

// As Settings in settings.h.
struct TflmsSimGpuSettings {
  const char* device_type;
  int64_t memory_limit_bytes;
  double link_out_bytes_per_s;
  double link_in_bytes_per_s;
  const TflmsSimGpuWorkspace* workspaces;
  int32_t num_workspaces;
  int32_t count;
  int32_t wait_when_full;
  int32_t scratch_on_device;
};

struct TflmsSimGpuStats {
  int64_t limit_bytes;
  int64_t in_use_bytes;
  int64_t peak_in_use_bytes;
  int64_t largest_allocation_bytes;
  int64_t num_allocations;
  int64_t num_failed_allocations;
  int64_t num_waits;
  int64_t wait_us;
  int64_t scratch_bytes;
  int64_t peak_scratch_bytes;
  int64_t num_scratch_allocations;
  int64_t copied_out_bytes;
  int64_t num_copies_out;
  int64_t copy_out_busy_us;
  int64_t copied_in_bytes;
  int64_t num_copies_in;
  int64_t copy_in_busy_us;
  int64_t same_device_bytes;
  int64_t moved_output_bytes;
  int64_t num_moved_outputs;
};

TFLMS_SIM_GPU_API int32_t tflms_sim_gpu_abi(void);

// Sets up the devices and registers them and their kernels with TensorFlow. Once per process,
// before TensorFlow lists its devices.
TFLMS_SIM_GPU_API int32_t tflms_sim_gpu_start(const TflmsSimGpuSettings* settings, char* error,
                                              size_t error_bytes);

// Figures of one device. Non-zero when there is no such device.
TFLMS_SIM_GPU_API int32_t tflms_sim_gpu_stats(int32_t device, TflmsSimGpuStats* stats);
TFLMS_SIM_GPU_API int32_t tflms_sim_gpu_reset_peak(int32_t device);

// Copies of all devices since the start: bytes out, busy us out, bytes in, busy us in.
TFLMS_SIM_GPU_API void tflms_sim_gpu_copies(int64_t counts[4]);
// Run times of synchronous kernels by node name, without what they waited for memory. The first run
// of each after a taking is not counted: it warms things up. Taking visits each name with the runs
// that were counted and their time in sum, and starts anew. Off unless switched on.
TFLMS_SIM_GPU_API void tflms_sim_gpu_time_runs(int32_t on);
TFLMS_SIM_GPU_API void tflms_sim_gpu_take_runs(void (*visit)(void* context, const char* node,
                                                             int64_t runs, int64_t total_us),
                                               void* context);

// The event log, over all devices; events are `Event` in event_log.h.
TFLMS_SIM_GPU_API int32_t tflms_sim_gpu_log_start(int64_t capacity);
TFLMS_SIM_GPU_API int32_t tflms_sim_gpu_log_stop(void);
TFLMS_SIM_GPU_API int64_t tflms_sim_gpu_log_size(void);
TFLMS_SIM_GPU_API int64_t tflms_sim_gpu_log_dropped(void);
TFLMS_SIM_GPU_API int64_t tflms_sim_gpu_log_read(int64_t first, int64_t n, void* events);
TFLMS_SIM_GPU_API const char* tflms_sim_gpu_log_name(int32_t index);

#endif  // TFLMS_SIM_GPU_C_API_H_
