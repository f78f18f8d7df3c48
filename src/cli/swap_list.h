// SPDX-License-Identifier: Apache-2.0
//
// A plan's swaps in names: what `plan` prints and `diff` compares.

#ifndef TFLMS_CLI_SWAP_LIST_H_
#define TFLMS_CLI_SWAP_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/cli/planned.h"

namespace tflms::cli {

// One stay of a tensor on the host.
struct NamedSwap {
  std::string tensor;       // the output that makes it
  std::string leave_after;  // nodes
  std::string trigger;
  std::string back_for;
  std::string sync;  // "" = nobody waits for the copy out
  int64_t bytes = 0;
  int32_t distance = 0;  // steps of the device between leave_after and back_for
  int32_t ahead = 0;     // steps between trigger and back_for
  friend bool operator==(const NamedSwap&, const NamedSwap&) = default;
};

// In the order in which the tensors leave.
std::vector<NamedSwap> ListSwaps(const PlannedGraph& graphs, const Planned& planned);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_SWAP_LIST_H_
