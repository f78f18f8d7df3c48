// SPDX-License-Identifier: Apache-2.0
//
// Byte counts for people: "0 bytes", "640 bytes", "3.4 MiB", "12.0 GiB".

#ifndef TFLMS_BASE_BYTES_TEXT_H_
#define TFLMS_BASE_BYTES_TEXT_H_

#include <cstdint>
#include <string>

namespace tflms {

// One decimal from KiB upwards, powers of 1024.
std::string FormatBytes(int64_t size_bytes);

}  // namespace tflms

#endif  // TFLMS_BASE_BYTES_TEXT_H_
