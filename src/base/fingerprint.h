// SPDX-License-Identifier: Apache-2.0
//
// Fingerprints: 128 bits that stand for a text or a structure, the same in every process and on
// every machine. FNV-1a with 128 bits, byte by byte:
//
//   h = 0x6c62272e07bb014262b821756295c58d;   h = (h xor byte) * (2^88 + 0x13b)  mod 2^128
//
// Made for telling apart what differs by chance, not against somebody who looks for two texts with
// one fingerprint: whoever takes something by its fingerprint checks what it got. O(bytes).

#ifndef TFLMS_BASE_FINGERPRINT_H_
#define TFLMS_BASE_FINGERPRINT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tflms {

class Fingerprinter {
 public:
  // The bytes themselves: Bytes("ab") is Bytes("a") and Bytes("b").
  void Bytes(std::string_view bytes);
  // A text with its length, so that ("a", "bc") and ("ab", "c") differ.
  void Text(std::string_view text);
  void Number(int64_t value);
  // By its bits.
  void Real(double value);
  // 32 hexadecimal digits.
  std::string Hex() const;

 private:
  __extension__ using Uint128 = unsigned __int128;
  Uint128 hash_ = (Uint128{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;
};

}  // namespace tflms

#endif  // TFLMS_BASE_FINGERPRINT_H_
