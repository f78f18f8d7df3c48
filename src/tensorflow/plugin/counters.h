// SPDX-License-Identifier: Apache-2.0
//
// What devices count of real runs, read through two functions that somebody else provides (the
// simulated GPU's library; see c_api.h).

#ifndef TFLMS_TENSORFLOW_PLUGIN_COUNTERS_H_
#define TFLMS_TENSORFLOW_PLUGIN_COUNTERS_H_

#include <string>
#include <utility>
#include <vector>

#include "src/cost/feedback.h"
#include "tflms/c_api.h"

namespace tflms {

struct Counters {
  TflmsReadCopies read_copies = nullptr;
  TflmsTakeRuns take_runs = nullptr;

  bool exist() const { return read_copies != nullptr && take_runs != nullptr; }
};

struct Measurement {
  LaneCounts lanes;
  std::vector<std::pair<std::string, OpRuns>> ops;
};

// Reads counters that exist. The runs of operations are taken: the next reading has later ones.
Measurement ReadCounters(const Counters& counters);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_COUNTERS_H_
