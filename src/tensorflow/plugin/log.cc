// SPDX-License-Identifier: Apache-2.0
//
// Log lines on standard error.

#include "src/tensorflow/plugin/log.h"

#include <algorithm>
#include <cstdio>
#include <string>

namespace tflms {

LogLevel ParseLogLevel(std::string_view name) {
  if (name == "silent") return LogLevel::kSilent;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "debug") return LogLevel::kDebug;
  return LogLevel::kInfo;
}

void Log(LogLevel threshold, LogLevel level, std::string_view text) {
  if (level == LogLevel::kSilent || threshold < level) return;
  std::string line = level == LogLevel::kWarning ? "tflms: warning: " : "tflms: ";
  line += text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace tflms
