// SPDX-License-Identifier: Apache-2.0
//
// Machines: how fast an accelerator computes, how fast its memory and its link to the host are.
// The catalog has figures for common cards; a JSON file describes any other.
//
// All rates are what a training step sustains, not peaks of a data sheet. They serve to weigh one
// operation against another and computing against copying; a measured profile (profile.h) is
// better wherever there is one.

#ifndef TFLMS_COST_MACHINE_H_
#define TFLMS_COST_MACHINE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/sim/simulator.h"
#include "tflms/status.h"

namespace tflms {

struct MachineProfile {
  std::string name;
  std::string summary;             // one line for people
  double flops_per_us = 0;         // 32-bit floats, as TensorFlow runs them by default (TF32 there)
  double half_flops_per_us = 0;    // 16-bit floats
  double memory_bytes_per_us = 0;  // the device's own memory, reads and writes together
  double launch_us = 0;            // what every operation takes before it computes
  double out_bytes_per_us = 0;     // device -> host; 0 = no limit
  double in_bytes_per_us = 0;      // host -> device; 0 = no limit
  int64_t memory_bytes = 0;        // 0 = not known
  bool library_workspace = true;   // its convolutions take scratch as cuDNN's do
};

// The known machines, in the order of the docs.
std::span<const MachineProfile> MachineCatalog();

// A machine of the catalog by name, or of a JSON file when the text holds a '/' or ends in ".json".
// An error says which key is wrong and what is expected, or which names there are.
Result<MachineProfile> FindMachine(std::string_view name_or_path);

// A machine from the text of a JSON file: an object with keys as the members above (but
// library_workspace) and "base", the catalog's machine that gives what is left out. Without a base
// flops_per_us and memory_bytes_per_us are needed.
Result<MachineProfile> ParseMachine(std::string_view json);

// The link of the machine.
Machine LinkOf(const MachineProfile& machine);

inline constexpr int64_t kMaxMachineFileBytes = int64_t{1} << 20;

}  // namespace tflms

#endif  // TFLMS_COST_MACHINE_H_
