// SPDX-License-Identifier: Apache-2.0
//
// Runs every file below tests/text as a test of its own. See tests/text/README.md.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/core/text_commands.h"
#include "tests/core/text_file.h"

namespace tflms {
namespace {

namespace fs = std::filesystem;

// Paths of all files, relative to the folder of text tests, sorted.
std::vector<std::string> AllFiles() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(TFLMS_TEXT_TESTS_DIR)) {
    if (entry.path().extension() != ".txt") continue;
    files.push_back(fs::relative(entry.path(), TFLMS_TEXT_TESTS_DIR).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string Join(const Lines& lines) {
  std::string out;
  for (const std::string& line : lines) out += "  " + CollapseBlanks(line) + "\n";
  return out;
}

bool UpdatesExpectations() {
  const char* value = std::getenv("TFLMS_UPDATE_EXPECT");
  return value != nullptr && std::string(value) == "1";
}

class TextTests : public testing::TestWithParam<std::string> {};

TEST_P(TextTests, GivesWhatTheFileWants) {
  const fs::path path = fs::path(TFLMS_TEXT_TESTS_DIR) / GetParam();
  const std::string text = ReadAll(path);
  ASSERT_TRUE(text.starts_with('#')) << "a file begins with a sentence of why";
  const Result<TextFile> file = ReadTextFile(text);
  ASSERT_TRUE(file.ok()) << path << ": " << file.status().message();
  ASSERT_FALSE(file->runs.empty()) << path << ": nothing to run";
  TextState state;
  std::vector<Lines> expectations;
  for (const TextRun& run : file->runs) {
    const Lines got = RunText(run, &state);
    expectations.push_back(NewExpectation(run.command, run.want, got));
    if (UpdatesExpectations()) continue;
    EXPECT_TRUE(Matches(run.command, run.want, got))
        << path.string() << ":" << run.line << ": run " << run.command << "\nwant:\n"
        << Join(run.want) << "got:\n"
        << Join(got) << "TFLMS_UPDATE_EXPECT=1 writes what was got into the file";
  }
  if (!UpdatesExpectations()) return;
  const std::string updated = WithExpectations(*file, expectations);
  if (updated != text) std::ofstream(path, std::ios::binary) << updated;
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (char c : info.param.substr(0, info.param.size() - 4)) name += std::isalnum(c) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, TextTests, testing::ValuesIn(AllFiles()), TestName);

}  // namespace
}  // namespace tflms
