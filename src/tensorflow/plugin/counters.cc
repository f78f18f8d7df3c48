// SPDX-License-Identifier: Apache-2.0
//
// See counters.h.

#include "src/tensorflow/plugin/counters.h"

#include <array>
#include <exception>

namespace tflms {
namespace {

// Called from C: an operation for which memory is out is left out.
void AddRuns(void* context, const char* node, int64_t runs, int64_t total_us) noexcept {
  if (node == nullptr || runs <= 0 || total_us < 0) return;
  try {
    static_cast<Measurement*>(context)->ops.emplace_back(node, OpRuns{runs, total_us});
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace

Measurement ReadCounters(const Counters& counters) {
  Measurement measurement;
  std::array<int64_t, 4> copies{};
  counters.read_copies(copies.data());
  measurement.lanes = {copies[0], copies[1], copies[2], copies[3]};
  counters.take_runs(&AddRuns, &measurement);
  return measurement;
}

}  // namespace tflms
