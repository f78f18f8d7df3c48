// SPDX-License-Identifier: Apache-2.0
//
// Parsing and asking of level slices. See level_slices.h.

#include "src/rewrite/level_slices.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace tflms {
namespace {

bool ParseLevel(std::string_view text, int32_t* level) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *level);
  return error == std::errc() && at == end && *level >= 0;
}

bool ParseSlice(std::string_view text, LevelSlice* slice) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    if (!ParseLevel(text, &slice->from)) return false;
    slice->to = slice->from;
    return true;
  }
  const std::string_view from = text.substr(0, colon), to = text.substr(colon + 1);
  if (!from.empty() && !ParseLevel(from, &slice->from)) return false;
  if (!to.empty() && !ParseLevel(to, &slice->to)) return false;
  return slice->from <= slice->to;
}

}  // namespace

Result<std::vector<LevelSlice>> ParseLevelSlices(std::string_view text) {
  std::vector<LevelSlice> slices;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    LevelSlice slice;
    if (!ParseSlice(word, &slice)) {
      return InvalidArgument("expected level, from:to, from: or :to with from <= to, found `" +
                             std::string(word) + "`");
    }
    slices.push_back(slice);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return InvalidArgument("expected a slice of levels behind the last comma");
  }
  return slices;
}

bool Contains(const std::vector<LevelSlice>& slices, int32_t level) {
  return std::any_of(slices.begin(), slices.end(), [&](const LevelSlice& slice) {
    return slice.from <= level && level <= slice.to;
  });
}

}  // namespace tflms
