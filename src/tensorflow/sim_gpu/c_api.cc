// SPDX-License-Identifier: Apache-2.0
//
// See c_api.h. Nothing is thrown past this file.
#include "c_api.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "device.h"
#include "kernels.h"
#include "simulator.h"
#include "uncompiled_calls.h"

namespace {

using tflms::sim_gpu::DeviceState;
using tflms::sim_gpu::GetSimulator;
using tflms::sim_gpu::Settings;
using tflms::sim_gpu::Simulator;

void FillError(const std::string& message, char* error, size_t error_bytes) {
  if (error == nullptr || error_bytes == 0) return;
  const size_t n = std::min(message.size(), error_bytes - 1);
  std::memcpy(error, message.data(), n);
  error[n] = '\0';
}

Settings SettingsOf(const TflmsSimGpuSettings& from) {
  Settings settings;
  settings.device_type = from.device_type == nullptr ? "" : from.device_type;
  settings.count = from.count;
  settings.memory_limit_bytes = from.memory_limit_bytes;
  settings.link_out_bytes_per_s = from.link_out_bytes_per_s;
  settings.link_in_bytes_per_s = from.link_in_bytes_per_s;
  settings.wait_when_full = from.wait_when_full != 0;
  settings.scratch_on_device = from.scratch_on_device != 0;
  for (int32_t i = 0; i < from.num_workspaces; ++i) {
    settings.workspace_bytes[from.workspaces[i].op] = from.workspaces[i].bytes;
  }
  return settings;
}

absl::Status Start(const Settings& settings) {
  absl::Status status = tflms::sim_gpu::StartSimulator(settings);
  if (status.ok()) status = tflms::sim_gpu::RegisterDeviceFactory();
  if (!status.ok()) return status;
  tflms::sim_gpu::RegisterKernels(settings.device_type);
  tflms::sim_gpu::RunCallsUncompiled(settings.device_type);
  return absl::OkStatus();
}

DeviceState* StateOf(int32_t device) {
  Simulator* simulator = GetSimulator();
  if (simulator == nullptr || device < 0) return nullptr;
  const auto ordinal = static_cast<size_t>(device);
  return ordinal < simulator->devices.size() ? simulator->devices[ordinal].get() : nullptr;
}

}  // namespace

int32_t tflms_sim_gpu_abi(void) { return TFLMS_SIM_GPU_ABI; }

int32_t tflms_sim_gpu_start(const TflmsSimGpuSettings* settings, char* error, size_t error_bytes) {
  try {
    const absl::Status status = Start(SettingsOf(*settings));
    if (status.ok()) return 0;
    FillError(std::string(status.message()), error, error_bytes);
  } catch (const std::exception& e) {
    FillError(e.what(), error, error_bytes);
  } catch (...) {
    FillError("unknown error", error, error_bytes);
  }
  return 1;
}

int32_t tflms_sim_gpu_stats(int32_t device, TflmsSimGpuStats* stats) {
  DeviceState* state = StateOf(device);
  if (state == nullptr || stats == nullptr) return 1;
  *stats = TflmsSimGpuStats{};
  stats->limit_bytes = state->memory->limit_bytes();
  if (const auto bfc = state->memory->GetStats()) {
    stats->in_use_bytes = bfc->bytes_in_use;
    stats->peak_in_use_bytes = bfc->peak_bytes_in_use;
    stats->largest_allocation_bytes = bfc->largest_alloc_size;
    stats->num_allocations = bfc->num_allocs;
  }
  const auto& counters = state->memory->counters();
  stats->num_failed_allocations = counters.failed_allocations.load();
  stats->num_waits = counters.waits.load();
  stats->wait_us = counters.wait_us.load();
  stats->scratch_bytes = counters.scratch_bytes.load();
  stats->peak_scratch_bytes = counters.scratch_peak_bytes.load();
  stats->num_scratch_allocations = counters.scratch_allocations.load();
  stats->copied_out_bytes = state->link->out().bytes();
  stats->num_copies_out = state->link->out().copies();
  stats->copy_out_busy_us = state->link->out().busy_us();
  stats->copied_in_bytes = state->link->in().bytes();
  stats->num_copies_in = state->link->in().copies();
  stats->copy_in_busy_us = state->link->in().busy_us();
  stats->same_device_bytes = state->link->same_device_bytes();
  stats->moved_output_bytes = state->moved_output_bytes.load();
  stats->num_moved_outputs = state->moved_outputs.load();
  return 0;
}

int32_t tflms_sim_gpu_reset_peak(int32_t device) {
  DeviceState* state = StateOf(device);
  if (state == nullptr) return 1;
  state->memory->ResetPeaks();
  return 0;
}

void tflms_sim_gpu_copies(int64_t counts[4]) {
  std::fill(counts, counts + 4, 0);
  Simulator* simulator = GetSimulator();
  if (simulator == nullptr) return;
  for (const auto& state : simulator->devices) {
    counts[0] += state->link->out().bytes();
    counts[1] += state->link->out().busy_us();
    counts[2] += state->link->in().bytes();
    counts[3] += state->link->in().busy_us();
  }
}

void tflms_sim_gpu_time_runs(int32_t on) {
  Simulator* simulator = GetSimulator();
  if (simulator != nullptr) simulator->run_times.Switch(on != 0);
}

void tflms_sim_gpu_take_runs(void (*visit)(void* context, const char* node, int64_t runs,
                                           int64_t total_us),
                             void* context) {
  Simulator* simulator = GetSimulator();
  if (simulator == nullptr) return;
  for (const auto& [node, runs] : simulator->run_times.Take()) {
    visit(context, node.c_str(), runs.runs, runs.total_us);
  }
}

int32_t tflms_sim_gpu_log_start(int64_t capacity) {
  Simulator* simulator = GetSimulator();
  if (simulator == nullptr) return 1;
  std::vector<int64_t> in_use_bytes;
  for (const auto& state : simulator->devices) in_use_bytes.push_back(state->memory->InUseBytes());
  simulator->log.Start(std::move(in_use_bytes), capacity);
  return 0;
}

int32_t tflms_sim_gpu_log_stop(void) {
  Simulator* simulator = GetSimulator();
  if (simulator == nullptr) return 1;
  simulator->log.Stop();
  return 0;
}

int64_t tflms_sim_gpu_log_size(void) {
  Simulator* simulator = GetSimulator();
  return simulator == nullptr ? 0 : simulator->log.size();
}

int64_t tflms_sim_gpu_log_dropped(void) {
  Simulator* simulator = GetSimulator();
  return simulator == nullptr ? 0 : simulator->log.dropped();
}

int64_t tflms_sim_gpu_log_read(int64_t first, int64_t n, void* events) {
  Simulator* simulator = GetSimulator();
  if (simulator == nullptr) return 0;
  return simulator->log.Read(first, n, static_cast<tflms::sim_gpu::Event*>(events));
}

const char* tflms_sim_gpu_log_name(int32_t index) {
  Simulator* simulator = GetSimulator();
  return simulator == nullptr ? nullptr : simulator->log.Name(index);
}
