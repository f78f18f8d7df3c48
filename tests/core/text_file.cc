// SPDX-License-Identifier: Apache-2.0
//
// Reading and rewriting files of text tests.

#include "tests/core/text_file.h"

#include <utility>

#include "src/base/text.h"

namespace tflms {
namespace {

bool IsIndented(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

// The first word of a line that is not indented, with the rest behind it.
std::pair<std::string_view, std::string_view> FirstWord(std::string_view line) {
  const size_t end = line.find_first_of(" \t");
  if (end == std::string_view::npos) return {line, {}};
  return {line.substr(0, end), Trim(line.substr(end))};
}

Result<TextRun> ReadRun(std::string_view rest) {
  TextRun run;
  LineCursor in(rest);
  TFLMS_ASSIGN_OR_RETURN(run.command, in.Word("a command"));
  while (!in.AtEnd()) {
    const std::string name(in.Token("=#"));
    std::string value;
    if (in.Take('=')) {
      if (in.Peek() == '"') {
        TFLMS_ASSIGN_OR_RETURN(value, in.Word("a value"));
      } else {
        value = in.Token("#");
      }
    } else if (name.empty()) {
      return in.Expected("name=value");
    }
    run.args.Add(name, value);
  }
  return run;
}

class FileReader {
 public:
  explicit FileReader(std::string_view text) {
    for (std::string_view line : SplitLines(text)) file_.lines.emplace_back(line);
  }

  Result<TextFile> Run() {
    for (at_ = 0; at_ < file_.lines.size(); ++at_) {
      const Status status = ReadLine(file_.lines[at_]);
      if (!status.ok()) {
        return InvalidArgument("line " + std::to_string(at_ + 1) + ": " + status.message());
      }
    }
    return std::move(file_);
  }

 private:
  enum class Block { kNone, kGraph, kWant };

  Status ReadLine(std::string_view line) {
    if (Trim(line).empty() || line.starts_with('#')) {
      if (block_ == Block::kGraph) graph_ += '\n';  // keeps line numbers right
      return Status();
    }
    if (IsIndented(line)) return ReadIndented(line);
    const auto [word, rest] = FirstWord(line);
    if (word == "graph" && rest.empty()) {
      block_ = Block::kGraph;
      graph_.clear();
      return Status();
    }
    block_ = Block::kNone;
    if (word == "run") {
      TFLMS_ASSIGN_OR_RETURN(TextRun run, ReadRun(rest));
      run.line = static_cast<int>(at_) + 1;
      run.graph = graph_;
      run.want_begin = run.want_end = at_ + 1;
      file_.runs.push_back(std::move(run));
      return Status();
    }
    if (word == "want") return ReadWant(rest);
    return InvalidArgument("expected `graph`, `run`, `want` or an indented line, found " +
                           Quoted(line));
  }

  Status ReadIndented(std::string_view line) {
    if (block_ == Block::kGraph) {
      graph_ += std::string(line) + '\n';
      return Status();
    }
    if (block_ == Block::kWant) {
      file_.runs.back().want.emplace_back(line);
      file_.runs.back().want_end = at_ + 1;
      return Status();
    }
    return InvalidArgument("an indented line belongs below `graph` or `want`");
  }

  Status ReadWant(std::string_view rest) {
    if (file_.runs.empty()) return InvalidArgument("`want` without a `run` before it");
    TextRun& run = file_.runs.back();
    run.want_end = at_ + 1;
    if (rest.empty()) {
      block_ = Block::kWant;
    } else {
      run.want.emplace_back(rest);
    }
    return Status();
  }

  TextFile file_;
  std::string graph_;
  Block block_ = Block::kNone;
  size_t at_ = 0;
};

// An expectation as lines of a file: a few lines as `want LINE`, more as a block.
void AppendWant(const std::vector<std::string>& want, std::string* out) {
  constexpr size_t kMostSingle = 3;
  if (want.empty() || want.size() > kMostSingle) *out += "want\n";
  for (const std::string& line : want) {
    *out += (want.size() > kMostSingle ? "  " : "want ") + line + "\n";
  }
}

}  // namespace

std::string RunArgs::Take(std::string_view name, std::string_view otherwise) {
  for (Arg& arg : args_) {
    if (arg.taken || arg.name != name) continue;
    arg.taken = true;
    return arg.value;
  }
  return std::string(otherwise);
}

std::vector<std::string> RunArgs::TakeAll(std::string_view name) {
  std::vector<std::string> values;
  for (Arg& arg : args_) {
    if (arg.taken || arg.name != name) continue;
    arg.taken = true;
    values.push_back(arg.value);
  }
  return values;
}

Result<int64_t> RunArgs::TakeNumber(std::string_view name, int64_t otherwise) {
  const std::string text = Take(name, std::to_string(otherwise));
  const std::optional<int64_t> value = ParseInt64(text);
  if (!value) return InvalidArgument(std::string(name) + "=: expected a number, found " + text);
  return *value;
}

std::vector<RunArgs::Arg> RunArgs::TakeRest() {
  std::vector<Arg> rest;
  for (Arg& arg : args_) {
    if (!arg.taken) rest.push_back(arg);
    arg.taken = true;
  }
  return rest;
}

Status RunArgs::AllTaken() const {
  for (const Arg& arg : args_) {
    if (!arg.taken) return InvalidArgument("unknown argument " + Quoted(arg.name));
  }
  return Status();
}

Result<TextFile> ReadTextFile(std::string_view text) { return FileReader(text).Run(); }

std::string WithExpectations(const TextFile& file,
                             const std::vector<std::vector<std::string>>& got) {
  std::string out;
  size_t at = 0;
  const auto copy_to = [&](size_t end) {
    for (; at < end; ++at) out += file.lines[at] + "\n";
  };
  for (size_t i = 0; i < file.runs.size(); ++i) {
    copy_to(file.runs[i].want_begin);
    AppendWant(got[i], &out);
    at = file.runs[i].want_end;
  }
  copy_to(file.lines.size());
  return out;
}

std::string CollapseBlanks(std::string_view line) {
  std::string out;
  for (char c : Trim(line)) {
    const bool blank = c == ' ' || c == '\t';
    if (blank && !out.empty() && out.back() == ' ') continue;
    out += blank ? ' ' : c;
  }
  return out;
}

}  // namespace tflms
