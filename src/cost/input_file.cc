// SPDX-License-Identifier: Apache-2.0
//
// O(bytes of the file). Whether it is a regular file is asked before it is opened: opening a pipe
// would wait for a writer.

#include "src/cost/input_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tflms {

Result<std::string> ReadInputFile(const std::string& path, int64_t limit_bytes) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error);
  if (!std::filesystem::exists(kind)) return InvalidArgument(path + ": there is no such file");
  if (!std::filesystem::is_regular_file(kind)) {
    return InvalidArgument(path + ": expected a file, found a folder, device or pipe");
  }
  const std::string too_large =
      path + ": expected at most " + std::to_string(limit_bytes) + " bytes, found more";
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > static_cast<uintmax_t>(limit_bytes)) return InvalidArgument(too_large);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // One byte beyond the limit tells a file that has grown since.
  std::string bytes(static_cast<size_t>(error ? limit_bytes : static_cast<int64_t>(size)) + 1,
                    '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.is_open() || file.bad()) {
    return InvalidArgument(path + ": cannot be read: " + std::strerror(errno));
  }
  bytes.resize(static_cast<size_t>(file.gcount()));
  if (static_cast<int64_t>(bytes.size()) > limit_bytes) return InvalidArgument(too_large);
  return bytes;
}

}  // namespace tflms
