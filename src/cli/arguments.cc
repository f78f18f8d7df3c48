// SPDX-License-Identifier: Apache-2.0
//
// Flags from the option table.

#include "src/cli/arguments.h"

#include <algorithm>

namespace tflms::cli {
namespace {

// The first sentence of a help text.
std::string FirstSentence(const std::string& help) {
  const size_t end = help.find(". ");
  return end == std::string::npos ? help : help.substr(0, end + 1);
}

// `text` in lines of at most `width` characters.
std::string Wrap(const std::string& text, size_t width) {
  std::string out, line, word;
  const auto flush = [&] {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    word.clear();
  };
  for (char c : text) {
    if (c == ' ') {
      flush();
    } else {
      word += c;
    }
  }
  flush();
  return out + line;
}

}  // namespace

std::string FlagHelp(const OptionInfo& info) {
  constexpr size_t kWidth = 66;
  std::string text = FirstSentence(info.help);
  text += " Range: " + info.range + ".";
  if (!info.default_value.empty()) text += " Default: " + info.default_value + ".";
  return Wrap(text, kWidth);
}

std::string FlagName(std::string_view option) {
  std::string flag = "--" + std::string(option);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

Status ResolveOptions(const std::vector<std::pair<std::string, std::string>>& environment,
                      Arguments* arguments) {
  TFLMS_RETURN_IF_ERROR(SetOptionsFromEnvironment(environment, &arguments->options));
  for (const OptionInfo& info : OptionTable()) {
    const auto flag = arguments->option_flags.find(info.name);
    if (flag == arguments->option_flags.end() || flag->second.empty()) continue;
    const Status status = SetOption(info.name, flag->second, &arguments->options);
    if (!status.ok()) return InvalidArgument(FlagName(info.name) + ": " + status.message());
  }
  return CheckOptions(arguments->options);
}

}  // namespace tflms::cli
