// SPDX-License-Identifier: Apache-2.0
//
// Files of option dump_dir.

#include "src/tensorflow/plugin/dump.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace tflms {
namespace {

Status WriteFile(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.flush();
  if (!file) return InvalidArgument("dump_dir: cannot write " + path);
  return Status();
}

std::string JsonList(const std::vector<Report>& reports, std::string (*to_json)(const Report&)) {
  std::string json = "[";
  std::string_view separator = "\n";
  for (const Report& report : reports) {
    json.append(separator).append(to_json(report));
    separator = ",\n";
  }
  return json + "\n]\n";
}

std::string Stem(const std::string& dir, int64_t number) {
  return dir + "/tflms-" + std::to_string(getpid()) + "-" + std::to_string(number);
}

}  // namespace

Status DumpInput(const std::string& dir, int64_t number, std::string_view before) {
  std::error_code fault;
  std::filesystem::create_directories(dir, fault);
  if (fault) return InvalidArgument("dump_dir: cannot make " + dir + ": " + fault.message());
  return WriteFile(Stem(dir, number) + ".before.pb", before);
}

Status DumpResult(const std::string& dir, int64_t number, const OptimizedGraph& result) {
  const std::string stem = Stem(dir, number);
  if (!result.text.empty()) TFLMS_RETURN_IF_ERROR(WriteFile(stem + ".before.txt", result.text));
  if (!result.bytes.empty()) TFLMS_RETURN_IF_ERROR(WriteFile(stem + ".after.pb", result.bytes));
  TFLMS_RETURN_IF_ERROR(WriteFile(stem + ".report.json", JsonList(result.reports, ReportToJson)));
  return WriteFile(stem + ".plan.json", JsonList(result.reports, PlanToJson));
}

}  // namespace tflms
