// SPDX-License-Identifier: Apache-2.0
//
// What the plugin remembers between calls: settings, registrations, reports. One object for the
// process, behind one mutex, which is never held while a graph is worked on or TensorFlow is
// called.

#ifndef TFLMS_TENSORFLOW_PLUGIN_STATE_H_
#define TFLMS_TENSORFLOW_PLUGIN_STATE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/cost/feedback.h"
#include "src/tensorflow/plugin/counters.h"
#include "src/tensorflow/plugin/report_log.h"
#include "src/tensorflow/plugin/settings.h"
#include "src/tensorflow/plugin/tf_api.h"

namespace tflms {

// Every member function may be called from any thread.
class PluginState {
 public:
  // Settings given by configure, else those of the environment. An error when the environment
  // holds a bad value.
  Result<Settings> GetSettings();
  // Where costs come from elsewhere than before, nothing that was learnt of them counts any more.
  void SetSettings(const Settings& settings);

  // TensorFlow's functions, once TF_InitGraph has found them; all null before.
  TfApi GetTfApi();
  void SetTfApi(const TfApi& api);

  // The device type under which to register next: `device_type` when it is wanted and was not
  // taken in this process before, else a name that no device has and that was not taken either.
  // The text stays valid for the life of the process.
  const char* TakeDeviceType(bool wanted, const std::string& device_type);
  // The real device types taken, oldest first.
  std::vector<std::string> RegisteredDeviceTypes();

  // True on the first call only.
  bool TakeFirstReport();

  // Number of the next graph, from 1, counting it as seen.
  int64_t CountGraph();
  void AddReport(const Report& report);
  std::string ReportsJson();
  std::string PlansJson();
  std::string PlanFilesJson();
  void ClearReports();
  void AddCostTable(const std::string& graph, const std::string& table);
  std::string CostTablesJson();
  // Whether tables of costs are also kept of graphs that pass while tflms is off.
  bool watches_costs();
  void WatchCosts(bool on);

  // Feedback: corrections from what was measured since the graphs that are expected to run were
  // planned. All 1 when there is nothing to read.
  void SetCounters(const Counters& counters);
  Corrections LearnCorrections();
  void ExpectRuns(const Expected& graph);

  // Whether Grappler was seen to go over a graph only once (instance.h says why that matters).
  bool single_pass_seen();
  void SetSinglePassSeen();

  // Keeps `bytes` until GiveBack is called with the address it returns. This is how a graph of
  // gigabytes goes to TensorFlow, which hands back no more than an address, without a copy.
  const void* Lend(std::string bytes);
  void GiveBack(const void* address);

  // Around fork: a child must not inherit a locked mutex.
  void LockForFork() { mutex_.lock(); }
  void UnlockAfterFork() { mutex_.unlock(); }

 private:
  void ForgetLocked();  // what feedback has learnt

  std::mutex mutex_;
  bool configured_ = false;
  Settings settings_;
  TfApi api_{};
  std::deque<std::string> taken_types_;  // a deque: elements do not move
  std::vector<std::string> real_types_;
  bool first_report_taken_ = false;
  bool single_pass_seen_ = false;
  bool watches_costs_ = false;
  int64_t graphs_ = 0;
  Counters counters_;
  Feedback feedback_;
  ReportLog reports_;
  std::unordered_map<const void*, std::unique_ptr<std::string>> lent_;
};

// The process's state, made on first use and never destroyed.
PluginState& GetState();

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_STATE_H_
