// SPDX-License-Identifier: Apache-2.0
//
// Byte counts for people, and back. O(length).

#include "src/base/bytes_text.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "src/base/text.h"

namespace tflms {
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

}  // namespace

std::string FormatBytes(int64_t size_bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (size_bytes < 1024) return std::to_string(size_bytes) + " bytes";
  double value = static_cast<double>(size_bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::optional<int64_t> ParseBytes(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  if (const std::optional<int64_t> whole = ParseInt64(trimmed)) return whole;
  double number = 0;
  const char* end = trimmed.data() + trimmed.size();
  const auto [at, error] = std::from_chars(trimmed.data(), end, number, std::chars_format::fixed);
  const std::string_view unit = Trim({at, static_cast<size_t>(end - at)});
  if (error != std::errc() || unit.empty()) return std::nullopt;
  const double bytes = number * UnitBytes(unit);
  if (!(bytes > 0 && bytes < kTwoTo63)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

}  // namespace tflms
