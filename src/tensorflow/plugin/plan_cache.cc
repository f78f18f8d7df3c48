// SPDX-License-Identifier: Apache-2.0
//
// Files of plans. All names are relative to one opened folder, so that nothing between two steps
// can put another one in its place.

#include "src/tensorflow/plugin/plan_cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <system_error>
#include <vector>

#include "src/base/fingerprint.h"
#include "src/rewrite/plan_file.h"

namespace tflms {
namespace {

constexpr std::string_view kSuffix = ".plan.json";
constexpr std::string_view kTemporary = ".tflms-";  // then 32 digits and kSuffix
constexpr size_t kDigits = 32;
constexpr time_t kStaleSeconds = 3600;  // a temporary file older than that was left by a crash

// An open file or folder.
class Handle {
 public:
  explicit Handle(int fd) : fd_(fd) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Closes it now; false when what was written did not arrive.
  bool Close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

bool IsOursAlone(const struct stat& info) {
  return info.st_uid == ::geteuid() && (info.st_mode & S_IWOTH) == 0;
}

// Makes the folder and those above it that are missing.
void MakeFolders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    ::mkdir(path.substr(0, at).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

int OpenFolder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0) return fd;
  if (::fstat(fd, &info) == 0 && IsOursAlone(info)) return fd;
  ::close(fd);
  errno = EPERM;
  return -1;
}

std::optional<std::string> ReadAll(int fd, size_t size) {
  std::string text(size, '\0');
  size_t at = 0;
  while (at < size) {
    const ssize_t got = ::read(fd, text.data() + at, size - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    at += static_cast<size_t>(got);
  }
  return text;
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

std::string RandomDigits() {
  Fingerprinter hash;
  std::random_device device;
  for (int i = 0; i < 8; ++i) hash.Number(device());
  hash.Number(::getpid());
  return hash.Hex();
}

// True for `prefix`, 32 digits and the suffix.
bool IsNamed(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) return false;
  if (name.size() != prefix.size() + kDigits + kSuffix.size()) return false;
  return name.substr(prefix.size(), kDigits).find_first_not_of("0123456789abcdef") ==
         std::string_view::npos;
}

struct CachedFile {
  std::string name;
  int64_t bytes = 0;
  struct timespec time {};
};

// The plans in the folder, oldest first; leftovers of crashes are removed on the way.
std::vector<CachedFile> ListPlans(int folder) {
  std::vector<CachedFile> files;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto close_list = [](DIR* list) { ::closedir(list); };
  const std::unique_ptr<DIR, decltype(close_list)> list(copy < 0 ? nullptr : ::fdopendir(copy),
                                                        close_list);
  if (list == nullptr) {
    if (copy >= 0) ::close(copy);
    return files;
  }
  while (const struct dirent* entry = ::readdir(list.get())) {
    const std::string name = entry->d_name;
    const bool temporary = IsNamed(name, kTemporary);
    if (!temporary && !IsNamed(name, "")) continue;
    struct stat info {};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (temporary) {
      if (info.st_mtime + kStaleSeconds < ::time(nullptr)) ::unlinkat(folder, name.c_str(), 0);
      continue;
    }
    files.push_back({name, info.st_size, info.st_mtim});
  }
  std::sort(files.begin(), files.end(), [](const CachedFile& a, const CachedFile& b) {
    return std::tuple(a.time.tv_sec, a.time.tv_nsec, a.name) <
           std::tuple(b.time.tv_sec, b.time.tv_nsec, b.name);
  });
  return files;
}

// Removes the oldest plans, but never `newest`, until the rest is within the limits.
void Trim(int folder, const std::string& newest) {
  const std::vector<CachedFile> files = ListPlans(folder);
  size_t count = files.size();
  int64_t bytes = 0;
  for (const CachedFile& file : files) bytes += file.bytes;
  for (const CachedFile& file : files) {
    if (count <= kMaxCachedPlans && bytes <= kMaxCacheBytes) return;
    if (file.name == newest) continue;
    ::unlinkat(folder, file.name.c_str(), 0);
    --count;
    bytes -= file.bytes;
  }
}

std::string FaultText() { return std::generic_category().message(errno); }

// Size and time of the file that holds this code; a library that is built or installed anew
// differs.
std::string BuildOfThisLibrary() {
  Fingerprinter hash;
  Dl_info library{};
  struct stat info {};
  if (::dladdr(reinterpret_cast<const void*>(&BuildOfThisLibrary), &library) != 0 &&
      library.dli_fname != nullptr && ::stat(library.dli_fname, &info) == 0) {
    hash.Number(info.st_size);
    hash.Number(info.st_mtim.tv_sec);
    hash.Number(info.st_mtim.tv_nsec);
  }
  return hash.Hex();
}

std::string Value(const Environment& environment, std::string_view name) {
  for (const auto& [variable, value] : environment) {
    if (variable == name && value.starts_with('/')) return value;
  }
  return "";
}

}  // namespace

std::string CacheFolder(std::string_view cache_dir, const Environment& environment) {
  if (cache_dir == "off") return "";
  if (cache_dir != "auto") return std::string(cache_dir);
  const std::string cache = Value(environment, "XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/tflms/plans";
  const std::string home = Value(environment, "HOME");
  return home.empty() ? "" : home + "/.cache/tflms/plans";
}

std::string PlanCache::FileName(const std::string& key) const {
  Fingerprinter hash;
  hash.Text(key);
  hash.Text(build_);
  return hash.Hex() + std::string(kSuffix);
}

void PlanCache::Debug(const std::string& what) const {
  Log(threshold_, LogLevel::kDebug, "plan cache " + folder_ + ": " + what);
}

std::optional<std::string> PlanCache::Lookup(const std::string& key) {
  if (folder_.empty()) return std::nullopt;
  const Handle folder(OpenFolder(folder_));
  if (!folder.ok()) {
    Debug(FaultText());
    return std::nullopt;
  }
  const std::string name = FileName(key);
  // Not to wait for a pipe that somebody put there.
  const Handle file(
      ::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file.ok() || ::fstat(file.get(), &info) != 0) return std::nullopt;
  if (!S_ISREG(info.st_mode) || !IsOursAlone(info) ||
      info.st_size > static_cast<off_t>(kMaxPlanFileBytes)) {
    Debug(name + " is of another user, open to everybody, too large or no file");
    return std::nullopt;
  }
  ::futimens(file.get(), nullptr);
  return ReadAll(file.get(), static_cast<size_t>(info.st_size));
}

void PlanCache::Store(const std::string& key, const std::string& plan) {
  if (folder_.empty() || plan.size() > kMaxPlanFileBytes) return;
  MakeFolders(folder_);
  const Handle folder(OpenFolder(folder_));
  if (!folder.ok()) return Debug(FaultText());
  const std::string name = FileName(key);
  const std::string temporary = std::string(kTemporary) + RandomDigits() + std::string(kSuffix);
  Handle file(::openat(folder.get(), temporary.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.ok()) return Debug(FaultText());
  bool stored = WriteAll(file.get(), plan);
  stored = file.Close() && stored;
  stored = stored && ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) == 0;
  if (!stored) {
    Debug(FaultText());
    ::unlinkat(folder.get(), temporary.c_str(), 0);
  }
  Trim(folder.get(), name);
}

PlanCache OpenPlanCache(std::string_view cache_dir, LogLevel threshold) {
  Environment environment;
  for (const char* name : {"XDG_CACHE_HOME", "HOME"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) environment.emplace_back(name, value);
  }
  return {CacheFolder(cache_dir, environment), BuildOfThisLibrary(), threshold};
}

}  // namespace tflms
