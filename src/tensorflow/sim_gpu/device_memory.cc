// SPDX-License-Identifier: Apache-2.0
//
// See device_memory.h. TensorFlow marks the thread while it allocates a temporary for a kernel
// (`pending_region_type == "temp"`); together with what kernel runs, that tells scratch from
// outputs without touching either.
#include "device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow_compat.h"
#include "thread_state.h"

namespace tflms::sim_gpu {
namespace {

// The allocator's grain; also how far a scratch block's header stands before it.
constexpr size_t kGrainBytes = 256;
constexpr size_t kHeaderBytes = 64;

// An allocation that takes this long has waited for memory: the allocator itself needs
// microseconds.
constexpr std::chrono::milliseconds kShortestWait(1);

// Hands out a region that was reserved beforehand, once.
class ReservedRegion : public tensorflow::SubAllocator {
 public:
  ReservedRegion(char* begin, size_t size_bytes)
      : SubAllocator({}, {}), begin_(begin), size_bytes_(size_bytes) {}
  ~ReservedRegion() override { munmap(begin_, size_bytes_); }

  void* Alloc(size_t /*alignment*/, size_t num_bytes, size_t* received_bytes) override {
    if (taken_ || num_bytes > size_bytes_) return nullptr;
    taken_ = true;
    *received_bytes = num_bytes;
    return begin_;
  }
  void Free(void* /*p*/, size_t /*num_bytes*/) override { taken_ = false; }
  bool SupportsCoalescing() const override { return false; }

 private:
  char* const begin_;
  const size_t size_bytes_;
  bool taken_ = false;
};

// Stands directly before a scratch block.
struct ScratchHeader {
  void* base;
  size_t size_bytes;
};
static_assert(sizeof(ScratchHeader) <= kHeaderBytes, "header must fit before the block");

ScratchHeader* HeaderOf(const void* p) {
  return reinterpret_cast<ScratchHeader*>(static_cast<char*>(const_cast<void*>(p)) -
                                          sizeof(ScratchHeader));
}

void RaiseTo(std::atomic<int64_t>* peak, int64_t value) {
  int64_t seen = peak->load(std::memory_order_relaxed);
  while (seen < value && !peak->compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

bool IsTemporary() { return PendingRegionType() == "temp"; }

std::string_view AllocatingName() {
  const RunningKernel& kernel = CurrentKernel();
  return kernel.name.empty() ? PendingOpName() : kernel.name;
}

}  // namespace

RunningKernel& CurrentKernel() {
  thread_local RunningKernel kernel;
  return kernel;
}

int64_t& ThreadWaitUs() {
  thread_local int64_t wait_us = 0;
  return wait_us;
}

DeviceMemory::DeviceMemory(int32_t ordinal, int64_t limit_bytes, bool wait_when_full, EventLog* log)
    : ordinal_(ordinal), name_(absl::StrCat("tflms_sim_gpu_", ordinal, "_bfc")), log_(log) {
  const size_t size_bytes = static_cast<size_t>(limit_bytes) / kGrainBytes * kGrainBytes;
  void* region = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return;
  limit_bytes_ = static_cast<int64_t>(size_bytes);
  region_begin_ = static_cast<char*>(region);
  region_end_ = region_begin_ + size_bytes;
  tensorflow::BFCAllocator::Options options;
  options.allow_growth = false;
  options.allow_retry_on_failure = wait_when_full;
  bfc_ = std::make_unique<tensorflow::BFCAllocator>(
      std::make_unique<ReservedRegion>(region_begin_, size_bytes), size_bytes, name_, options);
  // The first request makes the allocator take its region; it should cost no one's step.
  bfc_->DeallocateRaw(bfc_->AllocateRaw(kHeaderBytes, kGrainBytes));
  bfc_->ClearStats();
}

DeviceMemory::~DeviceMemory() = default;

int64_t DeviceMemory::InUseBytes() {
  const auto stats = bfc_->GetStats();
  return stats ? stats->bytes_in_use : 0;
}

void DeviceMemory::ResetPeaks() {
  bfc_->ClearStats();
  counters_.scratch_peak_bytes.store(counters_.scratch_bytes.load());
}

void* DeviceMemory::AllocateRaw(size_t alignment, size_t num_bytes,
                                const tensorflow::AllocationAttributes& attributes) {
  if (CurrentKernel().scratch_to_host && IsTemporary()) {
    return AllocateScratch(alignment, num_bytes);
  }
  const auto began = std::chrono::steady_clock::now();
  void* p = bfc_->AllocateRaw(alignment, num_bytes, attributes);
  CountWait(began);
  if (p == nullptr) {
    if (num_bytes > 0) counters_.failed_allocations.fetch_add(1, std::memory_order_relaxed);
  } else if (log_->on()) {
    LogMemory(EventKind::kAllocate, static_cast<int64_t>(bfc_->AllocatedSize(p)),
              static_cast<int64_t>(num_bytes), p);
  }
  return p;
}

void DeviceMemory::CountWait(std::chrono::steady_clock::time_point began) {
  const auto took = std::chrono::steady_clock::now() - began;
  if (took < kShortestWait) return;
  const int64_t took_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  counters_.waits.fetch_add(1, std::memory_order_relaxed);
  counters_.wait_us.fetch_add(took_us, std::memory_order_relaxed);
  ThreadWaitUs() += took_us;
}

void DeviceMemory::DeallocateRaw(void* p) {
  if (p == nullptr) return;
  if (!Owns(p)) {
    FreeScratch(p);
    return;
  }
  if (log_->on()) {
    LogMemory(EventKind::kFree, -static_cast<int64_t>(bfc_->AllocatedSize(p)),
              static_cast<int64_t>(bfc_->RequestedSize(p)), p);
  }
  bfc_->DeallocateRaw(p);
}

void* DeviceMemory::AllocateScratch(size_t alignment, size_t num_bytes) {
  const size_t offset = std::max(kHeaderBytes, alignment);
  if (num_bytes > SIZE_MAX - offset - alignment) return nullptr;
  void* base = std::malloc(num_bytes + offset + alignment);
  if (base == nullptr) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(base) + offset;
  void* p = reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment);
  *HeaderOf(p) = ScratchHeader{base, num_bytes};
  const auto bytes = static_cast<int64_t>(num_bytes);
  counters_.scratch_allocations.fetch_add(1, std::memory_order_relaxed);
  RaiseTo(&counters_.scratch_peak_bytes, counters_.scratch_bytes.fetch_add(bytes) + bytes);
  if (log_->on()) LogMemory(EventKind::kScratch, bytes, bytes, p);
  return p;
}

void DeviceMemory::FreeScratch(void* p) {
  const ScratchHeader header = *HeaderOf(p);
  const auto bytes = static_cast<int64_t>(header.size_bytes);
  counters_.scratch_bytes.fetch_sub(bytes);
  if (log_->on()) LogMemory(EventKind::kScratchFree, -bytes, bytes, p);
  std::free(header.base);
}

size_t DeviceMemory::RequestedSize(const void* p) const {
  return Owns(p) ? bfc_->RequestedSize(p) : HeaderOf(p)->size_bytes;
}

size_t DeviceMemory::AllocatedSize(const void* p) const {
  return Owns(p) ? bfc_->AllocatedSize(p) : HeaderOf(p)->size_bytes;
}

int64_t DeviceMemory::AllocationId(const void* p) const {
  return Owns(p) ? bfc_->AllocationId(p) : 0;
}

void DeviceMemory::LogMemory(EventKind kind, int64_t bytes, int64_t requested_bytes,
                             const void* p) {
  Event event{};
  event.time_us = log_->NowUs();
  event.bytes = bytes;
  event.requested_bytes = requested_bytes;
  event.offset = OffsetOf(p);
  event.kind = static_cast<int32_t>(kind);
  event.device = ordinal_;
  log_->Append(event, AllocatingName());
}

}  // namespace tflms::sim_gpu
