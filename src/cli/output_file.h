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

// Writes a file; an older one of that name is replaced. On an error nothing is there, or the older
// one still is.
Status WriteWhole(const std::string& path, std::string_view content);

// Copies the SavedModel folder `from` to the new folder `to`, with `content` as its saved_model.pb.
// fingerprint.pb stays behind: it is about the old content. An error when `to` exists already.
Status WriteSavedModel(const std::string& from, const std::string& to, std::string_view content);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_OUTPUT_FILE_H_
