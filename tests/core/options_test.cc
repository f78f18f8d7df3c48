// SPDX-License-Identifier: Apache-2.0
//
// The option table: every row sets its own member, and bad values change nothing.

#include "tflms/options.h"

#include <gtest/gtest.h>

namespace tflms {
namespace {

TEST(Options, EveryRowTakesItsDefaultAndGivesItBack) {
  for (const OptionInfo& info : OptionTable()) {
    Options options;
    EXPECT_EQ(GetOption(options, info.name), info.default_value) << info.name;
    if (info.default_value.empty()) continue;
    EXPECT_TRUE(SetOption(info.name, info.default_value, &options).ok()) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    EXPECT_FALSE(info.range.empty()) << info.name;
  }
}

TEST(Options, EveryNumberRowRefusesWhatIsNoNumberOrTooLarge) {
  for (const OptionInfo& info : OptionTable()) {
    if (info.type == "string") continue;
    Options options;
    for (const char* bad : {"", "x", "1x", "--1", "1e999", "99999999999999999999999", "-2", "nan"}) {
      const Status status = SetOption(info.name, bad, &options);
      EXPECT_FALSE(status.ok()) << info.name << " took " << bad;
      EXPECT_NE(status.message().find(info.range), std::string::npos) << status.message();
      EXPECT_EQ(GetOption(options, info.name), info.default_value);
    }
  }
}

TEST(Options, UnknownNamesAndChoicesAreAnsweredWithWhatThereIs) {
  Options options;
  EXPECT_NE(SetOption("thresold", "1", &options).message().find("swapout_threshold"),
            std::string::npos);
  const Status status = SetOption("trigger_strategy", "nearest", &options);
  EXPECT_NE(status.message().find("direct-order | chain-rule"), std::string::npos);
  EXPECT_EQ(options.trigger_strategy, "planned");
}

TEST(Options, EnvironmentSetsWhatItNamesAndLeavesTheRest) {
  Options options;
  ASSERT_TRUE(SetOptionsFromEnvironment({{"TFLMS", "1"},
                                         {"TFLMS_SIM_COUNT", "2"},
                                         {"TFLMS_BUDGET_BYTES", "1000"},
                                         {"PATH", "/bin"}},
                                        &options)
                  .ok());
  EXPECT_EQ(options.budget_bytes, 1000);
  const Status status = SetOptionsFromEnvironment(
      {{"TFLMS_BUDGET_BYTES", "7"}, {"TFLMS_LB", "zero"}}, &options);
  EXPECT_NE(status.message().find("TFLMS_LB"), std::string::npos);
  EXPECT_EQ(options.budget_bytes, 1000);
}

}  // namespace
}  // namespace tflms
