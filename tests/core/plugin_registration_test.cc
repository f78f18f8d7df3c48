// SPDX-License-Identifier: Apache-2.0
//
// What TensorFlow is told by TF_InitGraph. TensorFlow ends the process when a device type comes
// twice or the status is not ok, so neither may ever happen.

#ifdef TFLMS_HAS_PLUGIN

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "src/tensorflow/plugin/pass_switches.h"
#include "src/tensorflow/plugin/registration.h"
#include "tests/core/plugin_fakes.h"

namespace tflms {
namespace {

// One call of TF_InitGraph as TensorFlow makes it.
struct Registered {
  explicit Registered(PluginState* state, const Status& api_status = Status()) {
    params.optimizer_configs = &configs;
    params.optimizer = &optimizer;
    Register(fake::Api(), api_status, state, &params, status.get());
  }
  abi::OptimizerConfigs configs{sizeof(configs),
                                nullptr,
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {},
                                {}};
  abi::Optimizer optimizer{sizeof(optimizer), nullptr, nullptr, nullptr, nullptr};
  abi::RegistrationParams params{sizeof(params), nullptr, 0, 0, 1, nullptr, nullptr, nullptr};
  fake::TfStatus status;
};

Settings On(const std::string& device_type) {
  Settings settings;
  settings.on = true;
  settings.options.device_type = device_type;
  return settings;
}

TEST(PluginRegistration, OffIsRegisteredForADeviceTypeThatDoesNotExist) {
  PluginState state;
  state.SetSettings(Settings());
  const Registered registered(&state);
  EXPECT_STREQ(registered.params.device_type, "TFLMS_OFF");
  EXPECT_EQ(registered.status.code, abi::kOk);
  EXPECT_NE(registered.optimizer.optimize_func, nullptr);
  EXPECT_EQ(registered.configs.memory_optimization, abi::kDefault) << "off switches nothing off";
  EXPECT_TRUE(state.RegisteredDeviceTypes().empty());
}

TEST(PluginRegistration, OnIsRegisteredForTheDeviceTypeAndSwitchesPassesOff) {
  PluginState state;
  state.SetSettings(On("GPU"));
  const Registered registered(&state);
  EXPECT_STREQ(registered.params.device_type, "GPU");
  EXPECT_EQ(registered.configs.memory_optimization, abi::kOff);
  EXPECT_EQ(registered.configs.scoped_allocator_optimization, abi::kOff);
  EXPECT_EQ(registered.configs.remapping, abi::kDefault) << "it changes values: the user's choice";
  EXPECT_EQ(state.RegisteredDeviceTypes(), std::vector<std::string>{"GPU"});
}

TEST(PluginRegistration, NoDeviceTypeComesTwice) {
  PluginState state;
  state.SetSettings(Settings());
  std::set<std::string> types = {Registered(&state).params.device_type};
  for (const char* type : {"GPU", "GPU", "XPU", "GPU"}) {
    state.SetSettings(On(type));
    const std::string registered = Registered(&state).params.device_type;
    EXPECT_TRUE(types.insert(registered).second) << registered;
  }
  EXPECT_EQ(state.RegisteredDeviceTypes(), (std::vector<std::string>{"GPU", "XPU"}));
}

TEST(PluginRegistration, MissingFunctionsRegisterAsOffWithoutAnError) {
  PluginState state;
  state.SetSettings(On("GPU"));
  const Registered registered(&state, Unsupported("TF_InferStatically is missing"));
  EXPECT_STREQ(registered.params.device_type, "TFLMS_OFF");
  EXPECT_EQ(registered.status.code, abi::kOk);
  EXPECT_TRUE(state.RegisteredDeviceTypes().empty());
}

TEST(PluginRegistration, TheTextOfADeviceTypeStays) {
  PluginState state;
  state.SetSettings(On("FIRST"));
  const Registered first(&state);
  for (int i = 0; i < 100; ++i) {
    state.SetSettings(On("TYPE" + std::to_string(i)));
    const Registered another(&state);
  }
  EXPECT_STREQ(first.params.device_type, "FIRST");
}

TEST(PluginRegistration, NothingIsWrittenBeyondAnOlderStruct) {
  abi::OptimizerConfigs configs;
  std::memset(&configs, 0, sizeof(configs));
  configs.struct_size = offsetof(abi::OptimizerConfigs, scoped_allocator_optimization);
  SwitchPassesOff(&configs);
  EXPECT_EQ(configs.memory_optimization, abi::kOff);
  EXPECT_EQ(configs.scoped_allocator_optimization, abi::kDefault);
}

TEST(PluginRegistration, TheDescriptionNamesEveryPass) {
  const std::string text = DescribePassSwitches("GPU");
  for (const PassSwitch& pass : PassSwitches()) {
    EXPECT_NE(text.find(pass.name), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tflms

#endif  // TFLMS_HAS_PLUGIN
