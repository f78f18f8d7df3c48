// SPDX-License-Identifier: Apache-2.0
//
// The list of switched-off passes.

#include "src/tensorflow/plugin/pass_switches.h"

#include <array>

namespace tflms {
namespace {

constexpr std::array<PassSwitch, 2> kSwitches = {{
    // Moves tensors itself (by copy operations that CPU builds lack), adds recomputation and
    // splits sums, all by its own estimate of memory: done before ours, its copies would be
    // planned around as if the model had asked for them.
    {"memory optimizer", "it swaps and recomputes by a plan of its own",
     &abi::OptimizerConfigs::memory_optimization},
    // Runs after tflms (always last) and joins collectives into one node without looking for
    // paths between them; our order edges are such paths, so the result could be a cycle.
    {"scoped allocator optimizer", "it joins operations between which tflms has fixed an order",
     &abi::OptimizerConfigs::scoped_allocator_optimization},
}};

// Where the member ends, counted from the start of the struct.
size_t EndOf(const abi::OptimizerConfigs& configs, const abi::TriState& member) {
  return static_cast<size_t>(reinterpret_cast<const char*>(&member) -
                             reinterpret_cast<const char*>(&configs)) +
         sizeof(member);
}

}  // namespace

std::span<const PassSwitch> PassSwitches() { return kSwitches; }

void SwitchPassesOff(abi::OptimizerConfigs* configs) {
  for (const PassSwitch& pass : kSwitches) {
    abi::TriState& member = configs->*pass.member;
    if (abi::Holds(configs->struct_size, EndOf(*configs, member))) member = abi::kOff;
  }
}

std::string DescribePassSwitches(std::string_view device_type) {
  std::string text = "Grappler passes switched off for " + std::string(device_type) + ":";
  std::string_view separator = " ";
  for (const PassSwitch& pass : kSwitches) {
    text.append(separator).append(pass.name).append(" (").append(pass.reason).append(")");
    separator = ", ";
  }
  return text;
}

}  // namespace tflms
