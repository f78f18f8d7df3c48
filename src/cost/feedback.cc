// SPDX-License-Identifier: Apache-2.0
//
// The factors. See feedback.h.

#include "src/cost/feedback.h"

#include <algorithm>
#include <cmath>

namespace tflms {
namespace {

// `factor` with `measured` / `predicted` taken in.
double Corrected(double factor, double measured, double predicted) {
  const double ratio = std::clamp(measured / predicted, kLeastFactor, kMostFactor);
  if (std::abs(std::log(ratio / factor)) <= std::log(kFactorStep)) return factor;
  return std::pow(kFactorStep, std::round(std::log(ratio) / std::log(kFactorStep)));
}

// One lane; `seen_...` move on when its factor is set or confirmed.
void LearnLane(int64_t bytes, int64_t busy_us, double expected, int64_t* seen_bytes,
               int64_t* seen_busy_us, double* factor) {
  const int64_t more_bytes = bytes - *seen_bytes;
  const int64_t more_us = busy_us - *seen_busy_us;
  if (expected <= 0 || more_bytes < kLeastLaneBytes || more_us < kLeastLaneBusyUs) return;
  *factor =
      Corrected(*factor, static_cast<double>(more_bytes) / static_cast<double>(more_us), expected);
  *seen_bytes = bytes;
  *seen_busy_us = busy_us;
}

void LearnOps(Feedback* feedback) {
  double expected = 0;  // of all operations
  double predicted = 0;
  double measured = 0;  // of those that count
  for (const auto& [name, time_us] : feedback->expected.op_us) {
    if (time_us == kTwoTimes) continue;
    expected += static_cast<double>(time_us);
    const auto found = feedback->ops.find(name);
    if (found == feedback->ops.end() || found->second.runs < kLeastRuns) continue;
    predicted += static_cast<double>(time_us);
    measured +=
        static_cast<double>(found->second.total_us) / static_cast<double>(found->second.runs);
  }
  if (predicted <= 0 || measured <= 0 || predicted < kLeastCovered * expected) return;
  feedback->corrections.compute = Corrected(feedback->corrections.compute, measured, predicted);
  feedback->ops.clear();
}

}  // namespace

void Expect(const Expected& graph, Feedback* feedback) {
  feedback->expected.out_bytes_per_us = graph.out_bytes_per_us;
  feedback->expected.in_bytes_per_us = graph.in_bytes_per_us;
  for (const auto& [name, time_us] : graph.op_us) {
    const auto [at, is_new] = feedback->expected.op_us.try_emplace(name, time_us);
    if (!is_new && at->second != time_us) at->second = kTwoTimes;
  }
}

Corrections Learn(const LaneCounts& lanes, const std::vector<std::pair<std::string, OpRuns>>& ops,
                  Feedback* feedback) {
  for (const auto& [name, runs] : ops) {
    if (!feedback->expected.op_us.contains(name)) continue;
    OpRuns& sum = feedback->ops[name];
    sum.runs += runs.runs;
    sum.total_us += runs.total_us;
  }
  Corrections& factors = feedback->corrections;
  const Expected& expected = feedback->expected;
  LaneCounts& seen = feedback->lanes;
  LearnLane(lanes.out_bytes, lanes.out_busy_us, expected.out_bytes_per_us, &seen.out_bytes,
            &seen.out_busy_us, &factors.link_out);
  LearnLane(lanes.in_bytes, lanes.in_busy_us, expected.in_bytes_per_us, &seen.in_bytes,
            &seen.in_busy_us, &factors.link_in);
  LearnOps(feedback);
  return factors;
}

}  // namespace tflms
