// SPDX-License-Identifier: Apache-2.0
//
// The link of one simulated device: two lanes, one thread each, one per direction. Copies of one
// direction run one after another in the order asked; the two directions overlap, with each other
// and with compute. With a rate r, a copy of n bytes asked for at time a begins at
//
//   begin = max(a, end of the copy before it)
//   end   = max(begin + n / r, when the bytes were there)
//
// These are the times that the log and the counters hold: the copies of one lane never overlap, and
// none is faster than the rate. Waking up late from the wait for `end` is not part of a copy, and
// the next one does not pay for it.
//
// Completions run on threads of their own, so that whatever a completion wakes (and waits for)
// never holds up the link.
#ifndef TFLMS_SIM_GPU_COPY_LANES_H_
#define TFLMS_SIM_GPU_COPY_LANES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "device_memory.h"
#include "event_log.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/lib/core/threadpool.h"
#include "tensorflow_compat.h"

namespace tflms::sim_gpu {

// One direction.
class CopyLane {
 public:
  // `bytes_per_s` 0 is no limit. `memory` and `log` must outlive the lane.
  CopyLane(const DeviceMemory* memory, EventKind kind, double bytes_per_s, EventLog* log);

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

  const DeviceMemory* const memory_;
  const EventKind kind_;
  const double bytes_per_s_;
  EventLog* const log_;
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> copies_{0};
  std::atomic<int64_t> busy_us_{0};
  Clock::time_point free_at_{};  // end of the last copy; only touched by the lane's thread
  // Last: their threads must be gone before what they use.
  tensorflow::thread::ThreadPool completions_;
  tensorflow::thread::ThreadPool thread_;
};

// Both directions, as TensorFlow asks for copies.
class LinkContext : public tensorflow::DeviceContext {
 public:
  LinkContext(const DeviceMemory* memory, double out_bytes_per_s, double in_bytes_per_s,
              EventLog* log)
      : out_(memory, EventKind::kCopyOut, out_bytes_per_s, log),
        in_(memory, EventKind::kCopyIn, in_bytes_per_s, log) {}

  void CopyCPUTensorToDevice(const tensorflow::Tensor* cpu_tensor, tensorflow::Device* device,
                             tensorflow::Tensor* device_tensor, tensorflow::StatusCallback done,
                             bool sync_dst_compute) const override;
  void CopyDeviceTensorToCPU(const tensorflow::Tensor* device_tensor, absl::string_view tensor_name,
                             tensorflow::Device* device, tensorflow::Tensor* cpu_tensor,
                             tensorflow::StatusCallback done) override;
  void CopyTensorInSameDevice(const tensorflow::Tensor* input_tensor, tensorflow::Device* device,
                              tensorflow::Tensor* output_tensor,
                              tensorflow::StatusCallback done) const override;

  // Kernels compute on the host's threads, so what was asked for before has been computed.
  absl::Status ThenExecute(tensorflow::Device* device, stream_executor::Stream* stream,
                           std::function<void()> then) override;

  // As CopyCPUTensorToDevice, with a name for the log.
  void CopyIn(const tensorflow::Tensor& cpu_tensor, const tensorflow::Tensor& device_tensor,
              std::string name, tensorflow::StatusCallback done) const {
    in_.Copy(cpu_tensor, device_tensor, std::move(name), std::move(done));
  }

  const CopyLane& out() const { return out_; }
  const CopyLane& in() const { return in_; }
  int64_t same_device_bytes() const { return same_device_bytes_.load(std::memory_order_relaxed); }

 private:
  // Mutable because TensorFlow declares one direction const.
  mutable CopyLane out_;
  mutable CopyLane in_;
  mutable std::atomic<int64_t> same_device_bytes_{0};
};

// The context a Recv node is given while the log is on: a link that knows the node's name.
class NamedLinkContext : public tensorflow::DeviceContext {
 public:
  // Takes a reference to `link`.
  NamedLinkContext(LinkContext* link, std::string_view name) : link_(link), name_(name) {
    link_->Ref();
  }
  ~NamedLinkContext() override { link_->Unref(); }

  void CopyCPUTensorToDevice(const tensorflow::Tensor* cpu_tensor, tensorflow::Device* /*device*/,
                             tensorflow::Tensor* device_tensor, tensorflow::StatusCallback done,
                             bool /*sync_dst_compute*/) const override {
    link_->CopyIn(*cpu_tensor, *device_tensor, name_, std::move(done));
  }
  void CopyDeviceTensorToCPU(const tensorflow::Tensor* device_tensor, absl::string_view tensor_name,
                             tensorflow::Device* device, tensorflow::Tensor* cpu_tensor,
                             tensorflow::StatusCallback done) override {
    link_->CopyDeviceTensorToCPU(device_tensor, tensor_name, device, cpu_tensor, std::move(done));
  }
  void CopyTensorInSameDevice(const tensorflow::Tensor* input_tensor, tensorflow::Device* device,
                              tensorflow::Tensor* output_tensor,
                              tensorflow::StatusCallback done) const override {
    link_->CopyTensorInSameDevice(input_tensor, device, output_tensor, std::move(done));
  }

 private:
  LinkContext* const link_;
  const std::string name_;
};

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_COPY_LANES_H_
