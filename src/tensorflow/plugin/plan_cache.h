// SPDX-License-Identifier: Apache-2.0
//
// Plans on disk, option cache_dir: one file for each key.
//
//   <folder>/<32 hexadecimal digits>.plan.json
//
// The folder is made with mode 0700, files with 0600. A file appears whole: it is written under
// another name in the folder and renamed, so that any number of processes may share a folder. Read
// is only what belongs to this user and cannot be written by everybody; what is read is checked by
// whoever asked. A file found has its time set to now; beyond kMaxCachedPlans files or
// kMaxCacheBytes bytes the oldest go. Other files in the folder are not touched.
//
// Whatever fails, fails in silence but for a debug line: the plan is then made anew. Cost: a
// look-up reads one file; storing lists the folder.

#ifndef TFLMS_TENSORFLOW_PLUGIN_PLAN_CACHE_H_
#define TFLMS_TENSORFLOW_PLUGIN_PLAN_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/tensorflow/plugin/log.h"
#include "src/tensorflow/plugin/settings.h"
#include "tflms/plan_store.h"

namespace tflms {

inline constexpr size_t kMaxCachedPlans = 256;
inline constexpr int64_t kMaxCacheBytes = int64_t{256} << 20;

// The folder that option cache_dir stands for: "" for "off", and for "auto" without a home folder.
// `environment` has XDG_CACHE_HOME and HOME; relative ones do not count.
std::string CacheFolder(std::string_view cache_dir, const Environment& environment);

class PlanCache : public PlanStore {
 public:
  // Keys are joined with `build`, what tells one build of the library from another: other planners
  // make other plans. An empty folder keeps nothing.
  PlanCache(std::string folder, std::string build, LogLevel threshold)
      : folder_(std::move(folder)), build_(std::move(build)), threshold_(threshold) {}

  std::optional<std::string> Lookup(const std::string& key) override;
  void Store(const std::string& key, const std::string& plan) override;

 private:
  std::string FileName(const std::string& key) const;
  void Debug(const std::string& what) const;

  const std::string folder_, build_;
  const LogLevel threshold_;
};

// The cache of this process under `cache_dir`, by its environment and its build of the library.
PlanCache OpenPlanCache(std::string_view cache_dir, LogLevel threshold);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_PLAN_CACHE_H_
