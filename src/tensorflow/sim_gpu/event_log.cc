// SPDX-License-Identifier: Apache-2.0
//
// See event_log.h. Cost of an event while on: one lock, one hash look-up of its name.
#include "event_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tflms::sim_gpu {
namespace {

int64_t SteadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool ChangesMemory(int32_t kind) {
  return kind == static_cast<int32_t>(EventKind::kAllocate) ||
         kind == static_cast<int32_t>(EventKind::kFree);
}

}  // namespace

void EventLog::Start(std::vector<int64_t> in_use_bytes, int64_t capacity) {
  std::lock_guard<std::mutex> lock(mutex_);
  in_use_bytes_ = std::move(in_use_bytes);
  capacity_ = std::max<int64_t>(capacity, 0);
  dropped_ = 0;
  events_.clear();
  names_.clear();
  name_index_.clear();
  start_ns_.store(SteadyNs(), std::memory_order_relaxed);
  on_.store(true, std::memory_order_relaxed);
}

void EventLog::Stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  on_.store(false, std::memory_order_relaxed);
}

int64_t EventLog::NowUs() const {
  return (SteadyNs() - start_ns_.load(std::memory_order_relaxed)) / 1000;
}

void EventLog::Append(Event event, std::string_view name, std::string_view op_type) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!on_.load(std::memory_order_relaxed)) return;
  const auto device = static_cast<size_t>(event.device);
  if (device >= in_use_bytes_.size()) return;
  if (ChangesMemory(event.kind)) in_use_bytes_[device] += event.bytes;
  if (static_cast<int64_t>(events_.size()) >= capacity_) {
    ++dropped_;
    return;
  }
  event.in_use_bytes = in_use_bytes_[device];
  event.name = Intern(name);
  event.op_type = op_type.empty() ? -1 : Intern(op_type);
  events_.push_back(event);
}

int32_t EventLog::Intern(std::string_view name) {
  const auto [it, is_new] =
      name_index_.try_emplace(std::string(name), static_cast<int32_t>(names_.size()));
  if (is_new) names_.push_back(&it->first);
  return it->second;
}

int64_t EventLog::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(events_.size());
}

int64_t EventLog::dropped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return dropped_;
}

int64_t EventLog::Read(int64_t first, int64_t n, Event* out) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto size = static_cast<int64_t>(events_.size());
  if (out == nullptr || first < 0 || first >= size || n <= 0) return 0;
  const int64_t count = std::min(n, size - first);
  std::copy_n(events_.begin() + first, count, out);
  return count;
}

const char* EventLog::Name(int32_t index) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto i = static_cast<size_t>(index);
  return index >= 0 && i < names_.size() ? names_[i]->c_str() : nullptr;
}

}  // namespace tflms::sim_gpu
