// SPDX-License-Identifier: Apache-2.0
//
// Where the plugin's settings come from and which one wins.

#ifdef TFLMS_HAS_PLUGIN

#include <gtest/gtest.h>

#include "src/tensorflow/plugin/settings.h"

namespace tflms {
namespace {

TEST(PluginSettings, EmptyEnvironmentIsOffWithDefaults) {
  const Result<Settings> settings = SettingsFromEnvironment({});
  ASSERT_TRUE(settings.ok());
  EXPECT_FALSE(settings->on);
  EXPECT_EQ(settings->options.device_type, "GPU");
}

TEST(PluginSettings, SwitchAcceptsTheUsualWords) {
  for (const char* word : {"1", "true", "yes", "on"}) {
    EXPECT_TRUE(SettingsFromEnvironment({{"TFLMS", word}})->on) << word;
  }
  for (const char* word : {"0", "false", "no", "off", ""}) {
    EXPECT_FALSE(SettingsFromEnvironment({{"TFLMS", word}})->on) << word;
  }
}

TEST(PluginSettings, UnclearSwitchIsAnErrorThatNamesIt) {
  const Result<Settings> settings = SettingsFromEnvironment({{"TFLMS", "maybe"}});
  ASSERT_FALSE(settings.ok());
  EXPECT_NE(settings.status().message().find("TFLMS=maybe"), std::string::npos);
}

TEST(PluginSettings, JsonBeatsEnvironmentBeatsDefault) {
  const Environment environment = {{"TFLMS_LB", "7"}, {"TFLMS_UB", "70"}};
  const Result<Settings> settings = SettingsFromJson(true, R"({"lb": 9, "ub": null})", environment);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_TRUE(settings->on);
  EXPECT_EQ(settings->options.lb, 9);
  EXPECT_EQ(settings->options.ub, 70);
  EXPECT_EQ(settings->options.min_swap_bytes, Options().min_swap_bytes);
}

TEST(PluginSettings, JsonTakesNumbersAndTexts) {
  const Result<Settings> settings = SettingsFromJson(
      true, R"({"safety": 0.5, "budget_bytes": "1024", "device_type": "XPU"})", {});
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->options.safety, 0.5);
  EXPECT_EQ(settings->options.budget_bytes, 1024);
  EXPECT_EQ(settings->options.device_type, "XPU");
}

TEST(PluginSettings, BadJsonIsAnError) {
  for (const char* json :
       {"[1]", "{", "{\"lb\": [1]}", "{\"lb\": true}", "{\"nope\": 1}", "{\"lb\": -3}", "\xff"}) {
    EXPECT_FALSE(SettingsFromJson(true, json, {}).ok()) << json;
  }
}

TEST(PluginSettings, BadEnvironmentIsAnErrorInBothWays) {
  const Environment environment = {{"TFLMS_LB", "many"}};
  EXPECT_FALSE(SettingsFromEnvironment(environment).ok());
  EXPECT_FALSE(SettingsFromJson(true, "", environment).ok());
}

TEST(PluginSettings, BoundsThatExcludeEachOtherAreRefusedWhereverTheyCome) {
  const auto fault = [](const Result<Settings>& settings) {
    return settings.ok() ? "taken" : settings.status().message();
  };
  for (const std::string& text :
       {fault(SettingsFromJson(true, R"({"lb": 10, "ub": 2})", {})),
        fault(SettingsFromJson(true, R"({"ub": 2})", {{"TFLMS_LB", "10"}})),
        fault(SettingsFromJson(true, "", {{"TFLMS_LB", "10"}, {"TFLMS_UB", "2"}})),
        fault(SettingsFromEnvironment({{"TFLMS_LB", "10"}, {"TFLMS_UB", "2"}}))}) {
    EXPECT_NE(text.find("lb = 10, ub = 2"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tflms

#endif  // TFLMS_HAS_PLUGIN
