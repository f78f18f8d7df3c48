// SPDX-License-Identifier: Apache-2.0
//
// Run times of kernels by node name, summed over runs. Off unless switched on: one relaxed atomic
// load per kernel then. While on, one look-up under a mutex.
#ifndef TFLMS_SIM_GPU_RUN_TIMES_H_
#define TFLMS_SIM_GPU_RUN_TIMES_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tflms::sim_gpu {

// Every member function may be called from any thread.
class RunTimes {
 public:
  struct Sum {
    int64_t runs = -1;  // the first run is not counted
    int64_t total_us = 0;
  };
  using Sums = std::unordered_map<std::string, Sum>;

  bool on() const { return on_.load(std::memory_order_relaxed); }
  void Switch(bool on) { on_.store(on, std::memory_order_relaxed); }

  void Add(std::string_view node, int64_t time_us) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (sums_.size() >= kMostNames) return;
    Sum& sum = sums_[std::string(node)];
    if (++sum.runs > 0) sum.total_us += time_us;
  }

  // What was added since the last call.
  Sums Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    Sums taken;
    taken.swap(sums_);
    return taken;
  }

 private:
  static constexpr size_t kMostNames = 1000000;

  std::atomic<bool> on_{false};
  std::mutex mutex_;
  Sums sums_;
};

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_RUN_TIMES_H_
