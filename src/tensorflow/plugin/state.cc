// SPDX-License-Identifier: Apache-2.0
//
// The process-wide state.

#include "src/tensorflow/plugin/state.h"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace tflms {
namespace {

using Lock = std::lock_guard<std::mutex>;

// No device has this type, so TensorFlow never calls an optimizer registered for it.
constexpr const char* kOffType = "TFLMS_OFF";

// Names of operations that are kept for feedback; with more of them it starts from nothing.
constexpr size_t kMostExpected = 1000000;

PluginState* MakeState() {
  // Never freed: TensorFlow's threads may still optimize a graph while the process ends.
  PluginState* state = std::make_unique<PluginState>().release();
  pthread_atfork([] { GetState().LockForFork(); }, [] { GetState().UnlockAfterFork(); },
                 [] { GetState().UnlockAfterFork(); });
  return state;
}

}  // namespace

PluginState& GetState() {
  static PluginState* const state = MakeState();
  return *state;
}

Result<Settings> PluginState::GetSettings() {
  {
    const Lock lock(mutex_);
    if (configured_) return settings_;
  }
  return SettingsFromEnvironment(ReadEnvironment());
}

void PluginState::SetSettings(const Settings& settings) {
  const Lock lock(mutex_);
  const Options& before = settings_.options;
  const Options& now = settings.options;
  if (now.machine != before.machine || now.profile != before.profile ||
      now.device_type != before.device_type) {
    ForgetLocked();
  }
  configured_ = true;
  settings_ = settings;
}

void PluginState::ForgetLocked() {
  const LaneCounts lanes = feedback_.lanes;  // copies of before are not to be read again
  feedback_ = Feedback();
  feedback_.lanes = lanes;
}

void PluginState::SetCounters(const Counters& counters) {
  const Lock lock(mutex_);
  counters_ = counters;
}

Corrections PluginState::LearnCorrections() {
  Counters counters;
  {
    const Lock lock(mutex_);
    counters = counters_;
  }
  if (!counters.exist()) return {};
  const Measurement measurement = ReadCounters(counters);
  const Lock lock(mutex_);
  return Learn(measurement.lanes, measurement.ops, &feedback_);
}

void PluginState::ExpectRuns(const Expected& graph) {
  const Lock lock(mutex_);
  if (feedback_.expected.op_us.size() + graph.op_us.size() > kMostExpected) ForgetLocked();
  Expect(graph, &feedback_);
}

TfApi PluginState::GetTfApi() {
  const Lock lock(mutex_);
  return api_;
}

void PluginState::SetTfApi(const TfApi& api) {
  const Lock lock(mutex_);
  api_ = api;
}

const char* PluginState::TakeDeviceType(bool wanted, const std::string& device_type) {
  const Lock lock(mutex_);
  const auto taken = [this](const std::string& type) {
    return std::find(taken_types_.begin(), taken_types_.end(), type) != taken_types_.end();
  };
  if (wanted && !taken(device_type)) {
    real_types_.push_back(device_type);
    return taken_types_.emplace_back(device_type).c_str();
  }
  std::string type = kOffType;
  for (int number = 2; taken(type); ++number) {
    type = kOffType;
    type.append("_").append(std::to_string(number));
  }
  return taken_types_.emplace_back(std::move(type)).c_str();
}

std::vector<std::string> PluginState::RegisteredDeviceTypes() {
  const Lock lock(mutex_);
  return real_types_;
}

bool PluginState::TakeFirstReport() {
  const Lock lock(mutex_);
  const bool first = !first_report_taken_;
  first_report_taken_ = true;
  return first;
}

int64_t PluginState::CountGraph() {
  const Lock lock(mutex_);
  reports_.CountGraph();
  return ++graphs_;
}

void PluginState::AddReport(const Report& report) {
  const Lock lock(mutex_);
  reports_.Add(report);
}

std::string PluginState::ReportsJson() {
  const Lock lock(mutex_);
  return reports_.ToJson();
}

std::string PluginState::PlansJson() {
  const Lock lock(mutex_);
  return reports_.PlansToJson();
}

std::string PluginState::PlanFilesJson() {
  const Lock lock(mutex_);
  return reports_.PlanFilesToJson();
}

void PluginState::ClearReports() {
  const Lock lock(mutex_);
  reports_.Clear();
}

void PluginState::AddCostTable(const std::string& graph, const std::string& table) {
  const Lock lock(mutex_);
  reports_.AddCostTable(graph, table);
}

std::string PluginState::CostTablesJson() {
  const Lock lock(mutex_);
  return reports_.CostTablesToJson();
}

bool PluginState::watches_costs() {
  const Lock lock(mutex_);
  return watches_costs_;
}

void PluginState::WatchCosts(bool on) {
  const Lock lock(mutex_);
  watches_costs_ = on;
}

const void* PluginState::Lend(std::string bytes) {
  auto holder = std::make_unique<std::string>(std::move(bytes));
  const void* address = holder->data();
  const Lock lock(mutex_);
  lent_.insert_or_assign(address, std::move(holder));
  return address;
}

void PluginState::GiveBack(const void* address) {
  const Lock lock(mutex_);
  lent_.erase(address);
}

bool PluginState::single_pass_seen() {
  const Lock lock(mutex_);
  return single_pass_seen_;
}

void PluginState::SetSinglePassSeen() {
  const Lock lock(mutex_);
  single_pass_seen_ = true;
}

}  // namespace tflms
