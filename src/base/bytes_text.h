// SPDX-License-Identifier: Apache-2.0
//
// Byte counts for people, and back: "0 bytes", "640 bytes", "3.4 MiB", "12.0 GiB".

#ifndef TFLMS_BASE_BYTES_TEXT_H_
#define TFLMS_BASE_BYTES_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tflms {

// One decimal from KiB upwards, powers of 1024.
std::string FormatBytes(int64_t size_bytes);

// "360MiB", "4 GiB", "1.5GB", "1000" -> the number of bytes; a whole number without a unit may be
// negative. Units: B, kB, KB, MB, GB, TB (1000s), KiB, MiB, GiB, TiB (1024s) and K, M, G, T
// (1024s), in any case. Nothing for other texts, and for what does not fit 64 bits.
std::optional<int64_t> ParseBytes(std::string_view text);

}  // namespace tflms

#endif  // TFLMS_BASE_BYTES_TEXT_H_
