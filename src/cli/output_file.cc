// SPDX-License-Identifier: Apache-2.0
//
// Temporary names, renamed at the end. What is no file, a pipe or a terminal, is written into.
// O(size of the content, and for a SavedModel of its folder).

#include "src/cli/output_file.h"

#include <unistd.h>

#include <cstdio>
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

// Where `path` leads through symbolic links; the last may lead nowhere yet. `path` itself when
// there are too many of them.
std::string FollowLinks(const std::string& path) {
  constexpr int kMostLinks = 40;
  fs::path at = path;
  std::error_code fault;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path to = fs::read_symlink(at, fault);
    if (fault) return at.string();
    at = at.parent_path() / to;  // `to` alone when it is absolute
  }
  return path;
}

Status WriteToStandardOutput(const std::string& path, std::string_view content) {
  const bool written = std::fwrite(content.data(), 1, content.size(), stdout) == content.size();
  return std::fflush(stdout) == 0 && written ? Status() : CannotWrite(path, {});
}

// Writes beside `target` and renames; the older file's permissions stay.
Status Replace(const std::string& target, const fs::file_status& old, std::string_view content) {
  const std::string temporary = Beside(target);
  const Leftovers leftovers(temporary);
  if (!Write(temporary, content).ok()) return CannotWrite(target, {});
  std::error_code fault;
  if (fs::exists(old)) fs::permissions(temporary, old.permissions(), fault);
  if (!fault) fs::rename(temporary, target, fault);
  return fault ? CannotWrite(target, fault) : Status();
}

}  // namespace

bool IsStandardOutput(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

Status WriteWhole(const std::string& path, std::string_view content) {
  if (IsStandardOutput(path)) return WriteToStandardOutput(path, content);
  std::error_code fault;
  const fs::file_status old = fs::status(path, fault);
  switch (old.type()) {
    case fs::file_type::directory:
      return InvalidArgument(path + ": is a folder");
    case fs::file_type::character:
    case fs::file_type::fifo:
      return Write(path, content);
    case fs::file_type::regular:
    case fs::file_type::not_found:
      return Replace(FollowLinks(path), old, content);
    default:
      return fault ? CannotWrite(path, fault)
                   : InvalidArgument(path + ": is neither a file nor a pipe; name a file");
  }
}

Status WriteSavedModel(const std::string& from, const std::string& to, std::string_view content) {
  std::error_code fault;
  if (fs::exists(to, fault)) {
    return InvalidArgument(to + ": is there already; name a folder that is not");
  }
  std::string target = to;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  target = FollowLinks(target);
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
