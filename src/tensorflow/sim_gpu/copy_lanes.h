// SPDX-License-Identifier: Apache-2.0
//
// The link of one simulated device: two lanes, one thread each, one per direction. Copies of one
// direction run one after another in the order asked; the two directions overlap, with each other
// and with compute. With a rate r, a copy of n bytes asked for at time a begins at
//
//   begin = max(a, end of the copy before it)     and ends no sooner than     begin + n / r.
//
// Completions run on threads of their own, so that whatever a completion wakes (and waits for)
// never holds up the link.
#ifndef TFLMS_SIM_GPU_COPY_LANES_H_
#define TFLMS_SIM_GPU_COPY_LANES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "event_log.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/lib/core/threadpool.h"
#include "tensorflow_compat.h"

namespace tflms::sim_gpu {

// One direction.
class CopyLane {
 public:
  // `bytes_per_s` 0 is no limit. `log` must outlive the lane.
  CopyLane(int32_t ordinal, EventKind kind, double bytes_per_s, EventLog* log);

  // Copies the bytes of `from` to `to` (same size, already allocated) and calls `done`; both
  // buffers are kept alive until then. `name` is for the log.
  void Copy(const tensorflow::Tensor& from, const tensorflow::Tensor& to, std::string name,
            tensorflow::StatusCallback done);

  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  int64_t copies() const { return copies_.load(std::memory_order_relaxed); }
  int64_t busy_us() const { return busy_us_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  void Run(const tensorflow::Tensor& from, const tensorflow::Tensor& to, const std::string& name,
           Clock::time_point asked);

  const int32_t ordinal_;
  const EventKind kind_;
  const double bytes_per_s_;
  EventLog* const log_;
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> copies_{0};
  std::atomic<int64_t> busy_us_{0};
  Clock::time_point free_at_{};  // only touched by the lane's thread
  // Last: their threads must be gone before what they use.
  tensorflow::thread::ThreadPool completions_;
  tensorflow::thread::ThreadPool thread_;
};

// Both directions, as TensorFlow asks for copies.
class LinkContext : public tensorflow::DeviceContext {
 public:
  LinkContext(int32_t ordinal, double out_bytes_per_s, double in_bytes_per_s, EventLog* log)
      : out_(ordinal, EventKind::kCopyOut, out_bytes_per_s, log),
        in_(ordinal, EventKind::kCopyIn, in_bytes_per_s, log) {}

  void CopyCPUTensorToDevice(const tensorflow::Tensor* cpu_tensor, tensorflow::Device* device,
                             tensorflow::Tensor* device_tensor, tensorflow::StatusCallback done,
                             bool sync_dst_compute) const override;
  void CopyDeviceTensorToCPU(const tensorflow::Tensor* device_tensor,
                             absl::string_view tensor_name, tensorflow::Device* device,
                             tensorflow::Tensor* cpu_tensor,
                             tensorflow::StatusCallback done) override;
  void CopyTensorInSameDevice(const tensorflow::Tensor* input_tensor, tensorflow::Device* device,
                              tensorflow::Tensor* output_tensor,
                              tensorflow::StatusCallback done) const override;

  const CopyLane& out() const { return out_; }
  const CopyLane& in() const { return in_; }
  int64_t same_device_bytes() const { return same_device_bytes_.load(std::memory_order_relaxed); }

 private:
  // Mutable because TensorFlow declares one direction const.
  mutable CopyLane out_;
  mutable CopyLane in_;
  mutable std::atomic<int64_t> same_device_bytes_{0};
};

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_COPY_LANES_H_
