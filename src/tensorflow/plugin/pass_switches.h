// SPDX-License-Identifier: Apache-2.0
//
// Grappler passes that tflms switches off for graphs with a node on its device, and why.

#ifndef TFLMS_TENSORFLOW_PLUGIN_PASS_SWITCHES_H_
#define TFLMS_TENSORFLOW_PLUGIN_PASS_SWITCHES_H_

#include <span>
#include <string>
#include <string_view>

#include "src/tensorflow/plugin/grappler_abi.h"

namespace tflms {

struct PassSwitch {
  std::string_view name;    // for people: "memory optimizer"
  std::string_view reason;  // one clause
  abi::TriState abi::OptimizerConfigs::*member;
};

// All of them. Every other pass runs as the user has it: tflms rewrites after all passes that
// change values or fuse operations, so none of them has to go.
std::span<const PassSwitch> PassSwitches();

// Sets the switches in `configs`, as far as its struct_size reaches.
void SwitchPassesOff(abi::OptimizerConfigs* configs);

// "Grappler passes switched off for GPU: memory optimizer (...); ...".
std::string DescribePassSwitches(std::string_view device_type);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_PASS_SWITCHES_H_
