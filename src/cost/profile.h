// SPDX-License-Identifier: Apache-2.0
//
// Measured run times of operations, from a file that tflms.record_profile wrote:
//
//   {"format": 1,
//    "device": "GPU:0 of ...",
//    "ops": {"conv1/Conv2D": {"op": "Conv2D", "time_us": 812.5, "n": 3,
//                             "key": "Conv2D|f32[..],f32[..]->f32[..]"}},
//    "shapes": {"Conv2D|f32[..],f32[..]->f32[..]": 812.5},
//    "link": {"out_bytes_per_us": 11800, "in_bytes_per_us": 12100}}
//
// "key" may be missing (no shapes were known when it was recorded), as may "device", "shapes" and
// "link". Every other key and every value out of range is an error that names it.

#ifndef TFLMS_COST_PROFILE_H_
#define TFLMS_COST_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/graph/graph.h"
#include "src/sim/simulator.h"
#include "tflms/status.h"

namespace tflms {

struct MeasuredOp {
  std::string op;      // the node's operation
  std::string key;     // as ShapesKey, or ""
  double time_us = 0;  // one run, median
  int64_t n = 0;       // runs that were measured
};

struct CostProfile {
  std::string device;
  std::unordered_map<std::string, MeasuredOp> ops;  // by node name
  std::unordered_map<std::string, double> shapes;   // time_us by shapes key
  Machine link;                                     // 0 = not measured
};

inline constexpr int64_t kMaxProfileBytes = int64_t{64} << 20;

Result<CostProfile> ParseProfile(std::string_view json);
// The profile in a file of at most kMaxProfileBytes.
Result<CostProfile> ReadProfile(const std::string& path);

struct MeasuredTime {
  double time_us = 0;
  bool by_name = false;  // of this very node; else of an operation with the same shapes
};

// The time measured for the node: by its name, when operation and shapes (where both sides have
// them) are those that were measured, else by its shapes. `key` = ShapesKey(graph, node).
std::optional<MeasuredTime> FindTime(const CostProfile& profile, const Node& node,
                                     const std::string& key);

}  // namespace tflms

#endif  // TFLMS_COST_PROFILE_H_
