// SPDX-License-Identifier: Apache-2.0
//
// The log of what happened in device memory and on the link, by operation. Off unless started: one
// relaxed atomic load per allocation then. While on, each event is appended under one mutex, with
// the bytes in use after it, so that the log replays to exactly the figures it holds:
//
//   in_use(i) = in_use(i - 1) + bytes(i)   for the allocations and frees of one device.
//
// A free is logged before the allocator gets the memory back and an allocation after it was
// granted, so the log never shows two owners of one address.
#ifndef TFLMS_SIM_GPU_EVENT_LOG_H_
#define TFLMS_SIM_GPU_EVENT_LOG_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tflms::sim_gpu {

enum class EventKind : int32_t {
  kAllocate = 0,
  kFree = 1,
  kCopyOut = 2,  // device to host
  kCopyIn = 3,   // host to device
  kScratch = 4,  // host heap taken for a kernel's scratch
  kScratchFree = 5,
  kMove = 6,     // an output that its kernel had built in scratch, moved to the device
  kCompute = 7,  // a synchronous kernel ran; without what it waited for memory
};

// One event. Read by Python through ctypes: fixed layout, no padding.
struct Event {
  int64_t time_us;          // since the log was started; of a copy or kernel: its begin, which may
                            // be before
  int64_t duration_us;      // of a copy or kernel; else 0
  int64_t bytes;            // + taken, - given back; of a copy: bytes moved; of a kernel: 0
  int64_t requested_bytes;  // what was asked for; 0 where not known
  int64_t offset;           // from the start of the device's memory; -1 outside it
  int64_t in_use_bytes;     // of the device, after the event
  int32_t kind;             // EventKind
  int32_t device;           // ordinal
  int32_t name;             // index for EventLog::Name: operation or edge
  int32_t op_type;          // index for EventLog::Name, of a kernel: its type; else -1
};
static_assert(sizeof(Event) == 64, "layout is shared with Python");

class EventLog {
 public:
  bool on() const { return on_.load(std::memory_order_relaxed); }

  // Clears the log and starts it. `in_use_bytes` holds one figure per device. At most `capacity`
  // events are kept; later ones are counted as dropped.
  void Start(std::vector<int64_t> in_use_bytes, int64_t capacity);
  void Stop();

  // Microseconds since Start.
  int64_t NowUs() const;

  // Appends an event; fills in its name, its type and in_use_bytes. No effect when off.
  void Append(Event event, std::string_view name, std::string_view op_type = {});

  int64_t size() const;
  int64_t dropped() const;

  // Copies up to `n` events from index `first`; returns how many.
  int64_t Read(int64_t first, int64_t n, Event* out) const;

  // The name with that index, or nullptr. Valid until the next Start.
  const char* Name(int32_t index) const;

 private:
  int32_t Intern(std::string_view name);

  std::atomic<bool> on_{false};
  std::atomic<int64_t> start_ns_{0};
  mutable std::mutex mutex_;
  int64_t capacity_ = 0;
  int64_t dropped_ = 0;
  std::vector<int64_t> in_use_bytes_;
  std::vector<Event> events_;
  std::unordered_map<std::string, int32_t> name_index_;
  std::vector<const std::string*> names_;
};

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_EVENT_LOG_H_
