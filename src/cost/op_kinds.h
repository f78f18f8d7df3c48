// SPDX-License-Identifier: Apache-2.0
//
// Which formula prices an operation: a table by the operation's name.

#ifndef TFLMS_COST_OP_KINDS_H_
#define TFLMS_COST_OP_KINDS_H_

#include <cstdint>
#include <string_view>

namespace tflms {

enum class PriceKind : uint8_t {
  kFree,       // runs on the host or hands on what is there
  kConv,       // 2 |result| |filter| / (filter's last extent)
  kDepthwise,  // 2 |result| |filter| / (filter's last two extents)
  kMatMul,     // 2 batch m k n
  kEinsum,     // the same, batch found from the extents
  kTraffic,    // `passes` times over the bytes of `result`
  kBytes,      // bytes of inputs and outputs
  kUnknown,    // not listed: as kBytes, and said so in the report
};

inline constexpr int8_t kFirstOutput = -1;

struct OpKind {
  std::string_view name;
  PriceKind kind = PriceKind::kUnknown;
  int8_t filter = 0;             // input slot of the filter, or kFirstOutput
  int8_t result = kFirstOutput;  // input slot of the tensor that has the size of the result
  int8_t passes = 0;             // kTraffic
};

// The row of that name; kUnknown when there is none. O(log rows).
OpKind FindOpKind(std::string_view op);

}  // namespace tflms

#endif  // TFLMS_COST_OP_KINDS_H_
