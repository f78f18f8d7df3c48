// SPDX-License-Identifier: Apache-2.0
//
// The one place where the plugin writes for people: lines "tflms: ..." on standard error.

#ifndef TFLMS_TENSORFLOW_PLUGIN_LOG_H_
#define TFLMS_TENSORFLOW_PLUGIN_LOG_H_

#include <string_view>

namespace tflms {

// As option log_level: a level shows itself and all before it.
enum class LogLevel { kSilent, kWarning, kInfo, kDebug };

// "silent", "warning", "info" or "debug"; anything else counts as info.
LogLevel ParseLogLevel(std::string_view name);

// Writes `text` as one line when `threshold` shows lines of `level`. Line breaks in `text` become
// blanks. Safe from any thread: a line is written by one call.
void Log(LogLevel threshold, LogLevel level, std::string_view text);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_LOG_H_
