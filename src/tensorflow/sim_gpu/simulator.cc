// SPDX-License-Identifier: Apache-2.0
//
// See simulator.h.
#include "simulator.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tflms::sim_gpu {
namespace {

constexpr int64_t kLeastMemoryBytes = int64_t{1} << 20;
constexpr int32_t kMostDevices = 64;

std::atomic<Simulator*>& Slot() {
  static std::atomic<Simulator*> slot{nullptr};
  return slot;
}

absl::Status CheckSettings(const Settings& settings) {
  if (settings.device_type.empty() || settings.device_type == "CPU") {
    return absl::InvalidArgumentError(
        absl::StrCat("device_type must be a device type other than CPU, usually GPU; found '",
                     settings.device_type, "'."));
  }
  if (settings.count < 1 || settings.count > kMostDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat("count must be 1 to ", kMostDevices, "; found ", settings.count, "."));
  }
  if (settings.memory_limit_bytes < kLeastMemoryBytes) {
    return absl::InvalidArgumentError(absl::StrCat("memory_limit_bytes must be at least ",
                                                   kLeastMemoryBytes, "; found ",
                                                   settings.memory_limit_bytes, "."));
  }
  if (!(settings.link_out_bytes_per_s >= 0) || !(settings.link_in_bytes_per_s >= 0)) {
    return absl::InvalidArgumentError(
        "Link rates must be 0 (no limit) or more, in bytes per second.");
  }
  for (const auto& [op, bytes] : settings.workspace_bytes) {
    if (bytes < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("workspace_bytes of '", op, "' must be 0 or more; found ", bytes, "."));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Simulator* GetSimulator() { return Slot().load(std::memory_order_acquire); }

absl::Status StartSimulator(const Settings& settings) {
  if (GetSimulator() != nullptr) {
    return absl::FailedPreconditionError("The simulated GPU has already been started.");
  }
  if (absl::Status status = CheckSettings(settings); !status.ok()) return status;
  auto simulator = std::make_unique<Simulator>();
  simulator->settings = settings;
  for (int32_t ordinal = 0; ordinal < settings.count; ++ordinal) {
    auto state = std::make_unique<DeviceState>();
    state->memory = std::make_unique<DeviceMemory>(ordinal, settings.memory_limit_bytes,
                                                   settings.wait_when_full, &simulator->log);
    if (!state->memory->ok()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("The host could not reserve ", settings.memory_limit_bytes,
                       " bytes of address space for device ", ordinal, "."));
    }
    simulator->devices.push_back(std::move(state));
  }
  for (const auto& state : simulator->devices) {
    // Reference-counted by TensorFlow, which takes and drops plain pointers.
    state->link = std::make_unique<LinkContext>(state->memory.get(), settings.link_out_bytes_per_s,
                                                settings.link_in_bytes_per_s, &simulator->log)
                      .release();
  }
  Slot().store(simulator.release(), std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace tflms::sim_gpu
