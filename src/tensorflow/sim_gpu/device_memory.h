// SPDX-License-Identifier: Apache-2.0
//
// The memory of one simulated device: TensorFlow's own BFC allocator over one host region of
// exactly the limit, and a second account for what a kernel takes only because it is a CPU kernel.
//
//   device account   outputs, variables, received tensors, temporaries that an accelerator has too
//   scratch account  temporaries of computing kernels (im2col buffers and the like): host heap
//
// An address belongs to the device exactly when it lies inside the region.
#ifndef TFLMS_SIM_GPU_DEVICE_MEMORY_H_
#define TFLMS_SIM_GPU_DEVICE_MEMORY_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "event_log.h"
#include "tensorflow/core/common_runtime/bfc_allocator.h"
#include "tensorflow/core/framework/allocator.h"

namespace tflms::sim_gpu {

// Counters beyond those of the BFC allocator.
struct MemoryCounters {
  std::atomic<int64_t> failed_allocations{0};
  // Allocations that had to wait for memory, and for how long; failed ones included.
  std::atomic<int64_t> waits{0};
  std::atomic<int64_t> wait_us{0};
  std::atomic<int64_t> scratch_bytes{0};
  std::atomic<int64_t> scratch_peak_bytes{0};
  std::atomic<int64_t> scratch_allocations{0};
};

class DeviceMemory : public tensorflow::Allocator {
 public:
  // `log` must outlive the memory. Reserves address space at once, pages as they are touched.
  DeviceMemory(int32_t ordinal, int64_t limit_bytes, bool wait_when_full, EventLog* log);
  ~DeviceMemory() override;

  // False when the host could not reserve the region.
  bool ok() const { return region_begin_ != nullptr; }

  bool Owns(const void* p) const {
    const char* c = static_cast<const char*>(p);
    return c >= region_begin_ && c < region_end_;
  }

  // Bytes from the start of the device's memory; -1 outside it.
  int64_t OffsetOf(const void* p) const {
    return Owns(p) ? static_cast<const char*>(p) - region_begin_ : -1;
  }

  int32_t ordinal() const { return ordinal_; }
  const MemoryCounters& counters() const { return counters_; }
  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t InUseBytes();

  // Peaks start again from what is in use now.
  void ResetPeaks();

  std::string Name() override { return name_; }
  void* AllocateRaw(size_t alignment, size_t num_bytes) override {
    return AllocateRaw(alignment, num_bytes, tensorflow::AllocationAttributes());
  }
  void* AllocateRaw(size_t alignment, size_t num_bytes,
                    const tensorflow::AllocationAttributes& attributes) override;
  void DeallocateRaw(void* p) override;
  bool TracksAllocationSizes() const override { return true; }
  size_t RequestedSize(const void* p) const override;
  size_t AllocatedSize(const void* p) const override;
  int64_t AllocationId(const void* p) const override;
  std::optional<tensorflow::AllocatorStats> GetStats() override { return bfc_->GetStats(); }
  bool ClearStats() override {
    ResetPeaks();
    return true;
  }

 private:
  void CountWait(std::chrono::steady_clock::time_point began);
  void* AllocateScratch(size_t alignment, size_t num_bytes);
  void FreeScratch(void* p);
  void LogMemory(EventKind kind, int64_t bytes, int64_t requested_bytes, const void* p);

  const int32_t ordinal_;
  const std::string name_;
  EventLog* const log_;
  int64_t limit_bytes_ = 0;
  char* region_begin_ = nullptr;
  char* region_end_ = nullptr;
  std::unique_ptr<tensorflow::BFCAllocator> bfc_;
  MemoryCounters counters_;
};

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_DEVICE_MEMORY_H_
