// SPDX-License-Identifier: Apache-2.0
//
// FNV-1a. See fingerprint.h.

#include "src/base/fingerprint.h"

#include <bit>

namespace tflms {

void Fingerprinter::Bytes(std::string_view bytes) {
  constexpr Uint128 kPrime = (Uint128{1} << 88) | 0x13b;
  for (const char byte : bytes) {
    hash_ ^= static_cast<unsigned char>(byte);
    hash_ *= kPrime;
  }
}

void Fingerprinter::Text(std::string_view text) {
  Number(static_cast<int64_t>(text.size()));
  Bytes(text);
}

void Fingerprinter::Number(int64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
  }
  Bytes({bytes, sizeof bytes});
}

void Fingerprinter::Real(double value) { Number(std::bit_cast<int64_t>(value)); }

std::string Fingerprinter::Hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 124; shift >= 0; shift -= 4) {
    text += kDigits[static_cast<unsigned>(hash_ >> shift) & 0xf];
  }
  return text;
}

}  // namespace tflms
