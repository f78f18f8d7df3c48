// SPDX-License-Identifier: Apache-2.0
//
// Plans on disk: found again, shared, bounded, and never trusted when they are somebody else's.

#ifdef TFLMS_HAS_PLUGIN

#include "src/tensorflow/plugin/plan_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "src/rewrite/plan_file.h"

namespace tflms {
namespace {

namespace fs = std::filesystem;

// No test of this program keeps plans in the home folder.
class NoHomeCache : public ::testing::Environment {
 public:
  void SetUp() override {
    const std::string folder = ::testing::TempDir() + "/tflms-cache-" + std::to_string(getpid());
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(std::getenv("XDG_CACHE_HOME")); }
};
const ::testing::Environment* const kNoHomeCache =
    ::testing::AddGlobalTestEnvironment(new NoHomeCache);  // GoogleTest owns it

class PlanCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/tflms-plan-cache-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  PlanCache Cache(const std::string& build = "b") const {
    return {folder_, build, LogLevel::kSilent};
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_)) files.push_back(entry.path());
    return files;
  }
  std::string folder_;
};

mode_t ModeOf(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST_F(PlanCacheTest, WhatIsStoredIsFound) {
  Cache().Store("one", "plan 1");
  Cache().Store("two", "plan 2");
  EXPECT_EQ(Cache().Lookup("one"), "plan 1");
  EXPECT_EQ(Cache().Lookup("two"), "plan 2");
  EXPECT_EQ(Cache().Lookup("three"), std::nullopt);
  Cache().Store("one", "plan 3");
  EXPECT_EQ(Cache().Lookup("one"), "plan 3");
  EXPECT_EQ(Cache("another build").Lookup("one"), std::nullopt);
  EXPECT_EQ(Files().size(), 2u) << "nothing else is left";
}

TEST_F(PlanCacheTest, FoldersAreMadeAndAreForThisUserOnly) {
  PlanCache cache(folder_ + "/a/b", "b", LogLevel::kSilent);
  cache.Store("key", "plan");
  EXPECT_EQ(cache.Lookup("key"), "plan");
  EXPECT_EQ(ModeOf(folder_ + "/a"), 0700u);
  EXPECT_EQ(ModeOf(folder_ + "/a/b"), 0700u);
  for (const auto& entry : fs::directory_iterator(folder_ + "/a/b")) {
    EXPECT_EQ(ModeOf(entry.path()), 0600u);
  }
}

TEST_F(PlanCacheTest, FilesOpenToEverybodyAreNotRead) {
  Cache().Store("key", "plan");
  fs::permissions(Files()[0], fs::perms(0602));
  EXPECT_EQ(Cache().Lookup("key"), std::nullopt);
  fs::permissions(Files()[0], fs::perms(0600));
  EXPECT_EQ(Cache().Lookup("key"), "plan");
}

TEST_F(PlanCacheTest, NeitherIsAFolderOpenToEverybody) {
  Cache().Store("key", "plan");
  fs::permissions(folder_, fs::perms(0777));
  EXPECT_EQ(Cache().Lookup("key"), std::nullopt);
  Cache().Store("other", "plan");
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(PlanCacheTest, FilesOfAnotherUserAreNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  Cache().Store("key", "plan");
  ASSERT_EQ(chown(Files()[0].c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(Cache().Lookup("key"), std::nullopt);
}

TEST_F(PlanCacheTest, LinksPipesAndFoldersInTheWayAreNotRead) {
  Cache().Store("key", "plan");
  const fs::path file = Files()[0], away = folder_ + "-away";
  fs::rename(file, away);
  fs::create_symlink(away, file);
  EXPECT_EQ(Cache().Lookup("key"), std::nullopt);
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(Cache().Lookup("key"), std::nullopt) << "and does not wait for a writer";
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(Cache().Lookup("key"), std::nullopt);
  Cache().Store("key", "plan");
  EXPECT_EQ(Files().size(), 1u) << "what could not be put in place is gone";
  fs::remove_all(away);
}

TEST_F(PlanCacheTest, FoldersThatCannotBeAreSilent) {
  for (const char* folder : {"/dev/null/plans", "/proc/plans", ""}) {
    PlanCache cache(folder, "b", LogLevel::kSilent);
    cache.Store("key", "plan");
    EXPECT_EQ(cache.Lookup("key"), std::nullopt) << folder;
  }
  Cache().Store("key", std::string(kMaxPlanFileBytes + 1, ' '));
  EXPECT_TRUE(Files().empty());
}

TEST_F(PlanCacheTest, TheOldestGo) {
  const std::string stranger = folder_ + "/notes.txt";
  std::ofstream(stranger) << "not ours";
  for (size_t i = 0; i < kMaxCachedPlans; ++i) Cache().Store(std::to_string(i), "plan");
  for (const fs::path& file : Files()) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(5));
  }
  EXPECT_TRUE(Cache().Lookup("7").has_value());  // looked up: the newest now
  for (size_t i = 0; i + 1 < kMaxCachedPlans; ++i)
    Cache().Store("new " + std::to_string(i), "plan");
  EXPECT_EQ(Files().size(), kMaxCachedPlans + 1);
  EXPECT_TRUE(fs::exists(stranger));
  EXPECT_TRUE(Cache().Lookup("7").has_value());
  EXPECT_FALSE(Cache().Lookup("8").has_value());
}

TEST_F(PlanCacheTest, BytesAreBounded) {
  const std::string large(kMaxPlanFileBytes, 'x');
  for (int i = 0; i < 6; ++i) Cache().Store(std::to_string(i), large);
  int64_t bytes = 0;
  for (const fs::path& file : Files()) bytes += static_cast<int64_t>(fs::file_size(file));
  EXPECT_LE(bytes, kMaxCacheBytes);
  EXPECT_TRUE(Cache().Lookup("5").has_value());
}

TEST_F(PlanCacheTest, LeftoversOfACrashGo) {
  const std::string left = folder_ + "/.tflms-" + std::string(32, 'a') + ".plan.json";
  std::ofstream(left) << "half a pl";
  Cache().Store("key", "plan");
  EXPECT_TRUE(fs::exists(left)) << "somebody may be writing it";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  Cache().Store("key", "plan");
  EXPECT_FALSE(fs::exists(left));
}

// A text that tells whether it is whole.
std::string Whole(int writer, int round) {
  const std::string mark = std::to_string(writer) + "." + std::to_string(round) + ";";
  std::string text;
  while (text.size() < 200000) text += mark;
  return text;
}

bool IsWhole(const std::string& text) {
  const std::string mark = text.substr(0, text.find(';') + 1);
  if (mark.size() < 4 || text.size() % mark.size() != 0) return false;
  for (size_t at = 0; at < text.size(); at += mark.size()) {
    if (text.compare(at, mark.size(), mark) != 0) return false;
  }
  return true;
}

TEST_F(PlanCacheTest, WritersAndReadersOfOneKeyDoNotMeet) {
  constexpr int kWriters = 4, kRounds = 60;
  Cache().Store("key", Whole(9, 9));
  std::atomic<int> writing{kWriters}, torn{0}, read{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int round = 0; round < kRounds; ++round) Cache().Store("key", Whole(writer, round));
      --writing;
    });
  }
  for (int reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&] {
      while (writing > 0) {
        const std::optional<std::string> text = Cache().Lookup("key");
        ++read;
        if (!text || !IsWhole(*text)) ++torn;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GT(read, 0);
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(PlanCacheTest, NeitherDoProcesses) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      bool good = true;
      for (int round = 0; round < 40; ++round) {
        Cache().Store("key", Whole(child, round));
        const std::optional<std::string> text = Cache().Lookup("key");
        good = good && text && IsWhole(*text);
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(Files().size(), 1u);
}

TEST(PlanCacheFolder, FollowsTheOptionAndTheEnvironment) {
  const Environment home = {{"HOME", "/home/me"}};
  const Environment both = {{"HOME", "/home/me"}, {"XDG_CACHE_HOME", "/cache"}};
  EXPECT_EQ(CacheFolder("auto", home), "/home/me/.cache/tflms/plans");
  EXPECT_EQ(CacheFolder("auto", both), "/cache/tflms/plans");
  EXPECT_EQ(CacheFolder("auto", {{"XDG_CACHE_HOME", "here"}, {"HOME", "/h"}}),
            "/h/.cache/tflms/plans");
  EXPECT_EQ(CacheFolder("auto", {}), "");
  EXPECT_EQ(CacheFolder("off", both), "");
  EXPECT_EQ(CacheFolder("/my/folder", both), "/my/folder");
}

}  // namespace
}  // namespace tflms

#endif  // TFLMS_HAS_PLUGIN
