// SPDX-License-Identifier: Apache-2.0
//
// Flags from the option table.

#include "src/cli/arguments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "src/base/text.h"

namespace tflms::cli {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

// How many bytes a unit stands for; 0 when it is none.
double UnitBytes(std::string_view unit) {
  std::string lower;
  for (char c : unit) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.empty() || lower == "b") return 1;
  constexpr std::string_view kPrefixes = "kmgt";
  const size_t power = kPrefixes.find(lower.front());
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = std::string_view(lower).substr(1);
  if (rest != "" && rest != "b" && rest != "ib") return 0;
  return std::pow(rest == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
}

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

std::string BytesText(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  if (ParseInt64(trimmed)) return std::string(trimmed);
  double number = 0;
  const char* end = trimmed.data() + trimmed.size();
  const auto [at, error] = std::from_chars(trimmed.data(), end, number, std::chars_format::fixed);
  const std::string_view unit = Trim({at, static_cast<size_t>(end - at)});
  const double bytes = number * UnitBytes(unit);
  if (error != std::errc() || bytes <= 0 || bytes >= kTwoTo63 || unit.empty()) {
    return std::string(text);
  }
  return std::to_string(static_cast<int64_t>(bytes));
}

Status ResolveOptions(const std::vector<std::pair<std::string, std::string>>& environment,
                      Arguments* arguments) {
  TFLMS_RETURN_IF_ERROR(SetOptionsFromEnvironment(environment, &arguments->options));
  for (const OptionInfo& info : OptionTable()) {
    const auto flag = arguments->option_flags.find(info.name);
    if (flag == arguments->option_flags.end() || flag->second.empty()) continue;
    const std::string value = info.unit == "bytes" ? BytesText(flag->second) : flag->second;
    const Status status = SetOption(info.name, value, &arguments->options);
    if (!status.ok()) return InvalidArgument(FlagName(info.name) + ": " + status.message());
  }
  return Status();
}

}  // namespace tflms::cli
