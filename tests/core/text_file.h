// SPDX-License-Identifier: Apache-2.0
//
// Files of text tests: reading them, and writing expectations back. The form of a file is told in
// tests/text/README.md.

#ifndef TFLMS_TESTS_CORE_TEXT_FILE_H_
#define TFLMS_TESTS_CORE_TEXT_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tflms/status.h"

namespace tflms {

// The words of a `run` line behind the command: name=value, or a name alone. Reading takes them
// out, so that what is left at the end was not understood.
class RunArgs {
 public:
  struct Arg {
    std::string name;
    std::string value;
    bool taken = false;
  };
  void Add(std::string name, std::string value) {
    args_.push_back({std::move(name), std::move(value)});
  }
  // The first value of that name, or `otherwise`.
  std::string Take(std::string_view name, std::string_view otherwise = "");
  // All values of that name.
  std::vector<std::string> TakeAll(std::string_view name);
  // The value as a number.
  Result<int64_t> TakeNumber(std::string_view name, int64_t otherwise);
  // All that have not been taken; they are taken then.
  std::vector<Arg> TakeRest();
  // An error that names the first argument nobody took.
  Status AllTaken() const;

 private:
  std::vector<Arg> args_;
};

// One command with what it is expected to print.
struct TextRun {
  std::string graph;  // text of the graph in force
  std::string command;
  RunArgs args;
  int line = 0;                   // of the `run` line, from 1
  std::vector<std::string> want;  // expected lines
  // Lines of the file that hold the expectation: [want_begin, want_end), from 0.
  size_t want_begin = 0;
  size_t want_end = 0;
};

struct TextFile {
  std::vector<std::string> lines;
  std::vector<TextRun> runs;
};

// Takes a file apart. Errors name the line.
Result<TextFile> ReadTextFile(std::string_view text);

// The file's text with `got[i]` as the expectation of runs[i].
std::string WithExpectations(const TextFile& file,
                             const std::vector<std::vector<std::string>>& got);

// `line` with blanks at its ends gone and each run of blanks as one.
std::string CollapseBlanks(std::string_view line);

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_TEXT_FILE_H_
