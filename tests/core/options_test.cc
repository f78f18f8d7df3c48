// SPDX-License-Identifier: Apache-2.0
//
// The option table: every row sets its own member, and bad values change nothing.

#include "tflms/options.h"

#include <gtest/gtest.h>

#include <optional>

#include "src/base/bytes_text.h"

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
    for (const char* bad :
         {"", "x", "1x", "--1", "1e999", "99999999999999999999999", "-2", "nan"}) {
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
  const Status status =
      SetOptionsFromEnvironment({{"TFLMS_BUDGET_BYTES", "7"}, {"TFLMS_LB", "zero"}}, &options);
  EXPECT_NE(status.message().find("TFLMS_LB"), std::string::npos);
  EXPECT_EQ(options.budget_bytes, 1000);
}

TEST(Options, SizesTakeUnits) {
  const std::pair<const char*, std::optional<int64_t>> kCases[] = {
      {"1000", 1000},
      {"360MiB", 377487360},
      {"4 GiB", 4294967296},
      {"1.5GB", 1500000000},
      {"2k", 2048},
      {"2kB", 2000},
      {"1tib", 1099511627776},
      {"7B", 7},
      {"-1", -1},
      {"MiB", std::nullopt},
      {"1XiB", std::nullopt},
      {"1MiBs", std::nullopt},
      {"1e30GiB", std::nullopt},
      {"-1MiB", std::nullopt},
      {"nanMiB", std::nullopt},
      {"1.5", std::nullopt},
      {"", std::nullopt},
      {"9000000TiB", std::nullopt},
  };
  for (const auto& [text, bytes] : kCases) EXPECT_EQ(ParseBytes(text), bytes) << text;
  for (const OptionInfo& info : OptionTable()) {
    if (info.type != "int") continue;
    Options options;
    EXPECT_EQ(SetOption(info.name, "2 KiB", &options).ok(), info.unit == "bytes") << info.name;
    EXPECT_EQ(GetOption(options, info.name) == "2048", info.unit == "bytes") << info.name;
  }
}

TEST(Options, SwapinAheadIsAutomaticOrAtLeastOne) {
  Options options;
  EXPECT_FALSE(SetOption("swapin_ahead", "0", &options).ok());
  EXPECT_EQ(options.swapin_ahead, -1);
  EXPECT_TRUE(SetOption("swapin_ahead", "1", &options).ok());
  EXPECT_TRUE(SetOption("swapin_ahead", "-1", &options).ok());
}

TEST(Options, AnEmptyVariableIsNotSet) {
  Options options;
  options.lb = 5;
  ASSERT_TRUE(
      SetOptionsFromEnvironment({{"TFLMS_BUDGET_BYTES", ""}, {"TFLMS_LB", ""}}, &options).ok());
  EXPECT_EQ(options.budget_bytes, 0);
  EXPECT_EQ(options.lb, 5);
}

TEST(Options, BoundsThatExcludeEachOtherAreRefused) {
  Options options;
  options.lb = options.ub = 7;
  EXPECT_TRUE(CheckOptions(options).ok());
  options.ub = 6;
  EXPECT_NE(CheckOptions(options).message().find("lb = 7, ub = 6"), std::string::npos);
}

}  // namespace
}  // namespace tflms
