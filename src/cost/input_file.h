// SPDX-License-Identifier: Apache-2.0
//
// Files that users write and this layer reads: whole, and no larger than a limit.

#ifndef TFLMS_COST_INPUT_FILE_H_
#define TFLMS_COST_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "tflms/status.h"

namespace tflms {

// The bytes of a regular file of at most `limit_bytes`. An error names the path and says what is
// wrong: missing, no file (a folder, a pipe), too large, cannot be read.
Result<std::string> ReadInputFile(const std::string& path, int64_t limit_bytes);

}  // namespace tflms

#endif  // TFLMS_COST_INPUT_FILE_H_
