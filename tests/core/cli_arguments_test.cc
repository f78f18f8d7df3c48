// SPDX-License-Identifier: Apache-2.0
//
// Flags of the command: one for each option, and who wins.

#include <gtest/gtest.h>

#include "src/cli/arguments.h"

namespace tflms::cli {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

TEST(CliArguments, EveryOptionHasAFlagThatSetsIt) {
  for (const OptionInfo& info : OptionTable()) {
    EXPECT_EQ(FlagName(info.name).substr(0, 2), "--");
    EXPECT_NE(FlagHelp(info).find("Range:"), std::string::npos) << info.name;
    if (info.default_value.empty()) continue;  // a text that may have a form of its own
    Arguments arguments;
    arguments.option_flags[info.name] = info.default_value;
    const Status status = ResolveOptions({}, &arguments);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(GetOption(arguments.options, info.name), info.default_value);
  }
}

TEST(CliArguments, AFlagBeatsTheEnvironmentAndThatTheDefault) {
  Arguments arguments;
  const Environment environment = {{"TFLMS_BUDGET_BYTES", "5"}, {"TFLMS_LB", "3"}};
  arguments.option_flags["budget_bytes"] = "1KiB";
  ASSERT_TRUE(ResolveOptions(environment, &arguments).ok());
  EXPECT_EQ(arguments.options.budget_bytes, 1024);
  EXPECT_EQ(arguments.options.lb, 3);
  EXPECT_EQ(arguments.options.ub, Options().ub);
}

TEST(CliArguments, BadValuesNameTheFlagAndTheRange) {
  Arguments arguments;
  arguments.option_flags["lb"] = "0";
  const Status status = ResolveOptions({}, &arguments);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("--lb"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("1 .. 1000000"), std::string::npos) << status.message();
}

TEST(CliArguments, BoundsThatExcludeEachOtherAreRefused) {
  Arguments arguments;
  arguments.option_flags["ub"] = "2";
  const Status status = ResolveOptions({{"TFLMS_LB", "10"}}, &arguments);
  EXPECT_NE(status.message().find("lb = 10, ub = 2"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace tflms::cli
