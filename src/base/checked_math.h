// SPDX-License-Identifier: Apache-2.0
//
// Sums and products of byte counts that saturate instead of wrapping: a size that does not fit
// 63 bits is "as large as can be", never small or negative.

#ifndef TFLMS_BASE_CHECKED_MATH_H_
#define TFLMS_BASE_CHECKED_MATH_H_

#include <cstdint>
#include <limits>

namespace tflms {

inline constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max();

// a + b, clamped to [INT64_MIN, INT64_MAX].
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return a > 0 ? kMaxBytes : std::numeric_limits<int64_t>::min();
}

// a * b for a, b >= 0, clamped to INT64_MAX.
inline int64_t SaturatingMul(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? kMaxBytes : out;
}

}  // namespace tflms

#endif  // TFLMS_BASE_CHECKED_MATH_H_
