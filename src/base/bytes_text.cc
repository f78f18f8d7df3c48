// SPDX-License-Identifier: Apache-2.0
//
// Byte counts for people.

#include "src/base/bytes_text.h"

#include <array>
#include <cstdio>

namespace tflms {

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

}  // namespace tflms
