// SPDX-License-Identifier: Apache-2.0
//
// Temporary names, renamed at the end.

#include "src/cli/output_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace tflms::cli {
namespace {

namespace fs = std::filesystem;

// A name beside `path` that no other process uses.
std::string Beside(const std::string& path) { return path + ".tflms-" + std::to_string(getpid()); }

// Removes what is left of a failed attempt when it goes out of scope.
class Leftovers {
 public:
  explicit Leftovers(std::string path) : path_(std::move(path)) {}
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

 private:
  std::string path_;
};

Status CannotWrite(const std::string& path, const std::error_code& fault) {
  return InvalidArgument(path + ": cannot be written" + (fault ? ": " + fault.message() : ""));
}

Status Write(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  return file ? Status() : CannotWrite(path, {});
}

}  // namespace

Status WriteWhole(const std::string& path, std::string_view content) {
  std::error_code fault;
  if (fs::is_directory(path, fault)) return InvalidArgument(path + ": is a folder");
  const std::string temporary = Beside(path);
  const Leftovers leftovers(temporary);
  if (!Write(temporary, content).ok()) return CannotWrite(path, {});
  fs::rename(temporary, path, fault);
  return fault ? CannotWrite(path, fault) : Status();
}

Status WriteSavedModel(const std::string& from, const std::string& to, std::string_view content) {
  std::error_code fault;
  if (fs::exists(to, fault)) {
    return InvalidArgument(to + ": is there already; name a folder that is not");
  }
  std::string target = to;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const std::string temporary = Beside(target);
  const Leftovers leftovers(temporary);
  fs::copy(from, temporary, fs::copy_options::recursive, fault);
  if (fault) return CannotWrite(to, fault);
  fs::remove(fs::path(temporary) / "fingerprint.pb", fault);
  TFLMS_RETURN_IF_ERROR(Write((fs::path(temporary) / "saved_model.pb").string(), content));
  fs::rename(temporary, target, fault);
  return fault ? CannotWrite(to, fault) : Status();
}

}  // namespace tflms::cli
