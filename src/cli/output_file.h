// SPDX-License-Identifier: Apache-2.0
//
// Files that appear whole or not at all: written beside their place under another name, then
// renamed.

#ifndef TFLMS_CLI_OUTPUT_FILE_H_
#define TFLMS_CLI_OUTPUT_FILE_H_

#include <string>
#include <string_view>

#include "tflms/status.h"

namespace tflms::cli {

// True for the names of this process's standard output.
bool IsStandardOutput(const std::string& path);

// Writes a file; an older one of that name is replaced, one behind a symbolic link where it is. On
// an error nothing is there, or the older one still is. What is at `path` and is no file is never
// replaced: character devices and pipes are written into, the rest is an error.
Status WriteWhole(const std::string& path, std::string_view content);

// Copies the SavedModel folder `from` to the new folder `to`, with `content` as its saved_model.pb.
// A link that leads nowhere yet is followed. fingerprint.pb stays behind: it is about the old
// content. An error when `to` exists already.
Status WriteSavedModel(const std::string& from, const std::string& to, std::string_view content);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_OUTPUT_FILE_H_
