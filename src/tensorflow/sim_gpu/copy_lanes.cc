// SPDX-License-Identifier: Apache-2.0
//
// See copy_lanes.h. Cost of a copy: one memcpy, two thread hops.
#include "copy_lanes.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/dma_helper.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/env.h"

namespace tflms::sim_gpu {
namespace {

using tensorflow::DMAHelper;
using tensorflow::Tensor;

absl::Status CheckCopy(const Tensor& from, const Tensor& to) {
  if (from.TotalBytes() == to.TotalBytes()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("Copy between tensors of different sizes: ",
                                          from.TotalBytes(), " and ", to.TotalBytes(), " bytes."));
}

int64_t MicrosBetween(std::chrono::steady_clock::time_point a,
                      std::chrono::steady_clock::time_point b) {
  return std::chrono::duration_cast<std::chrono::microseconds>(b - a).count();
}

}  // namespace

CopyLane::CopyLane(const DeviceMemory* memory, EventKind kind, double bytes_per_s, EventLog* log)
    : memory_(memory),
      kind_(kind),
      bytes_per_s_(bytes_per_s),
      log_(log),
      completions_(tensorflow::Env::Default(), "tflms_sim_done", 1),
      thread_(tensorflow::Env::Default(), "tflms_sim_copy", 1) {}

void CopyLane::Copy(const Tensor& from, const Tensor& to, std::string name,
                    tensorflow::StatusCallback done) {
  const absl::Status status = CheckCopy(from, to);
  if (!status.ok() || from.TotalBytes() == 0) {
    done(status);
    return;
  }
  const Clock::time_point asked = Clock::now();
  thread_.Schedule([this, from = Tensor(from), to = Tensor(to), asked, name = std::move(name),
                    done = std::move(done)]() mutable {
    Run(from, to, name, asked);
    // The buffers go before `done` does, so that what it wakes finds them free.
    from = Tensor();
    to = Tensor();
    completions_.Schedule([done = std::move(done)] { done(absl::OkStatus()); });
  });
}

void CopyLane::Run(const Tensor& from, const Tensor& to, const std::string& name,
                   Clock::time_point asked) {
  const size_t size_bytes = from.TotalBytes();
  const Clock::time_point begin = std::max(asked, free_at_);
  std::memcpy(const_cast<void*>(DMAHelper::base(&to)), DMAHelper::base(&from), size_bytes);
  free_at_ = Clock::now();
  if (bytes_per_s_ > 0) {
    const auto needed = std::chrono::ceil<Clock::duration>(
        std::chrono::duration<double>(static_cast<double>(size_bytes) / bytes_per_s_));
    free_at_ = std::max(free_at_, begin + needed);
    std::this_thread::sleep_until(free_at_);
  }
  const int64_t duration_us = MicrosBetween(begin, free_at_);
  bytes_.fetch_add(static_cast<int64_t>(size_bytes), std::memory_order_relaxed);
  copies_.fetch_add(1, std::memory_order_relaxed);
  busy_us_.fetch_add(duration_us, std::memory_order_relaxed);
  if (!log_->on()) return;
  Event event{};
  event.time_us = log_->NowUs() - MicrosBetween(begin, Clock::now());
  event.duration_us = duration_us;
  event.bytes = static_cast<int64_t>(size_bytes);
  event.offset = memory_->OffsetOf(DMAHelper::base(kind_ == EventKind::kCopyIn ? &to : &from));
  event.kind = static_cast<int32_t>(kind_);
  event.device = memory_->ordinal();
  log_->Append(event, name);
}

void LinkContext::CopyCPUTensorToDevice(const Tensor* cpu_tensor, tensorflow::Device* /*device*/,
                                        Tensor* device_tensor, tensorflow::StatusCallback done,
                                        bool /*sync_dst_compute*/) const {
  in_.Copy(*cpu_tensor, *device_tensor, std::string(PendingOpName()), std::move(done));
}

void LinkContext::CopyDeviceTensorToCPU(const Tensor* device_tensor, absl::string_view tensor_name,
                                        tensorflow::Device* /*device*/, Tensor* cpu_tensor,
                                        tensorflow::StatusCallback done) {
  out_.Copy(*device_tensor, *cpu_tensor, std::string(tensor_name), std::move(done));
}

void LinkContext::CopyTensorInSameDevice(const Tensor* input_tensor, tensorflow::Device* /*device*/,
                                         Tensor* output_tensor,
                                         tensorflow::StatusCallback done) const {
  const absl::Status status = CheckCopy(*input_tensor, *output_tensor);
  const size_t size_bytes = input_tensor->TotalBytes();
  if (status.ok() && size_bytes > 0) {
    std::memcpy(const_cast<void*>(DMAHelper::base(output_tensor)), DMAHelper::base(input_tensor),
                size_bytes);
    same_device_bytes_.fetch_add(static_cast<int64_t>(size_bytes), std::memory_order_relaxed);
  }
  done(status);
}

absl::Status LinkContext::ThenExecute(tensorflow::Device* /*device*/,
                                      stream_executor::Stream* /*stream*/,
                                      std::function<void()> then) {
  then();
  return absl::OkStatus();
}

}  // namespace tflms::sim_gpu
