// SPDX-License-Identifier: Apache-2.0
//
// Feedback: what real runs of rewritten graphs took, against what was predicted for them, corrects
// the predictions for the next graph. With p the prediction without any correction and m what was
// measured,
//
//   factor = m / p, clamped to kLeastFactor .. kMostFactor, as a power of kFactorStep
//
// for the rate of copies out, of copies in, and for the run times of operations. Since p never
// holds an earlier factor, the factors do not build up: measuring the same gives the same, whatever
// was in force. A factor within one step of the one in force changes nothing, so that noise plans
// no graph anew.
//
// Cost: O(operations measured).

#ifndef TFLMS_COST_FEEDBACK_H_
#define TFLMS_COST_FEEDBACK_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tflms/corrections.h"

namespace tflms {

inline constexpr double kLeastFactor = 0.1;
inline constexpr double kMostFactor = 10;
inline constexpr double kFactorStep = 1.05;
// Less than this says nothing of a lane.
inline constexpr int64_t kLeastLaneBytes = int64_t{8} << 20;
inline constexpr int64_t kLeastLaneBusyUs = 1000;
// An operation counts from this many runs on.
inline constexpr int64_t kLeastRuns = 2;
// Of the predicted time of all operations, those that count must make up this part.
inline constexpr double kLeastCovered = 0.5;

// What was predicted for the graphs that may run now.
struct Expected {
  double out_bytes_per_us = 0;  // 0 = not predicted, or told by the user: never corrected
  double in_bytes_per_us = 0;
  std::unordered_map<std::string, int64_t>
      op_us;  // run time by node; kTwoTimes where graphs differ
};

inline constexpr int64_t kTwoTimes = -1;

// Copies since the start of the process, over all devices.
struct LaneCounts {
  int64_t out_bytes = 0;
  int64_t out_busy_us = 0;
  int64_t in_bytes = 0;
  int64_t in_busy_us = 0;
};

// Runs of one operation.
struct OpRuns {
  int64_t runs = 0;
  int64_t total_us = 0;
};

struct Feedback {
  Expected expected;
  LaneCounts lanes;                             // up to which copies have been learnt from
  std::unordered_map<std::string, OpRuns> ops;  // by node, not learnt from yet
  Corrections corrections;
};

// A further graph may run from now on. Its link is the one that counts. A node's name that has two
// different times is not learnt from.
void Expect(const Expected& graph, Feedback* feedback);

// Takes in what was measured meanwhile and gives the factors for the next graph. Where the evidence
// does not do, the factor stays.
Corrections Learn(const LaneCounts& lanes, const std::vector<std::pair<std::string, OpRuns>>& ops,
                  Feedback* feedback);

}  // namespace tflms

#endif  // TFLMS_COST_FEEDBACK_H_
