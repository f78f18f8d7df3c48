// SPDX-License-Identifier: Apache-2.0
//
// Slices of topological levels, as option `serialization` names them:
//
//   slices = slice { "," slice }      slice = level | [ from ] ":" [ to ]      both ends included
//
// After the serialization option of TFLMS v2, a list of level slices. Cost: O(text); O(slices) to
// ask.

#ifndef TFLMS_REWRITE_LEVEL_SLICES_H_
#define TFLMS_REWRITE_LEVEL_SLICES_H_

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "tflms/status.h"

namespace tflms {

struct LevelSlice {
  int32_t from = 0;
  int32_t to = std::numeric_limits<int32_t>::max();
};

// Levels are 0 .. 2^31 - 1. Errors name the slice: not of that form, or from > to.
Result<std::vector<LevelSlice>> ParseLevelSlices(std::string_view text);

bool Contains(const std::vector<LevelSlice>& slices, int32_t level);

}  // namespace tflms

#endif  // TFLMS_REWRITE_LEVEL_SLICES_H_
