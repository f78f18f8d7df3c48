// SPDX-License-Identifier: Apache-2.0
//
// Two plans compared.

#include <gtest/gtest.h>

#include "src/cli/plan_diff.h"

namespace tflms::cli {
namespace {

Json Swap(const char* tensor, const char* back_for, const char* trigger) {
  return {{"tensor", tensor}, {"bytes", 1024},      {"leave_after", "l"},
          {"sync", ""},       {"trigger", trigger}, {"back_for", back_for}};
}

Json Plan(int64_t peak, const Json& swaps, const char* graph = "graph") {
  return {{"graphs",
           {{{"graph", graph},
             {"devices", {{{"device", "gpu"}, {"peak_bytes_after", peak}, {"swaps", swaps}}}}}}}};
}

TEST(CliPlanDiff, EqualPlansAreTheSame) {
  const Json plan = Plan(8, Json::array({Swap("a", "b", "t")}));
  const Answer answer = ComparePlans(plan, plan);
  EXPECT_TRUE(answer.json["same"].get<bool>());
  EXPECT_EQ(answer.text, "the plans are the same\n");
}

TEST(CliPlanDiff, NamesWhatDiffers) {
  const Json a = Plan(2048, {Swap("a", "x", "t"), Swap("b", "y", "t")});
  const Json b = Plan(4096, {Swap("b", "y", "u"), Swap("c", "z", "t")});
  const Answer answer = ComparePlans(a, b);
  EXPECT_FALSE(answer.json["same"].get<bool>());
  EXPECT_EQ(answer.text,
            "graph, gpu\n"
            "  peak after            2.0 KiB -> 4.0 KiB\n"
            "  swapped only in A     a for x, 1.0 KiB\n"
            "  swapped only in B     c for z, 1.0 KiB\n"
            "  other trigger         b for y: t -> u\n");
}

TEST(CliPlanDiff, LoneGraphsAreComparedWhateverTheirName) {
  EXPECT_TRUE(ComparePlans(Plan(8, Json::array(), "graph 3"), Plan(8, Json::array(), "graph 7"))
                  .json["same"]
                  .get<bool>());
}

TEST(CliPlanDiff, ADumpedPlanIsThePlan) {
  const Json dumped = PlanFromJson(R"([{"graph": "graph 1", "device": "gpu", "budget_bytes": 9,
      "timeline": [{"node": "l", "running_bytes": 8, "waiting_bytes": 0, "unswapped_bytes": 9},
                   {"node": "t", "running_bytes": 7, "waiting_bytes": 1, "unswapped_bytes": 7},
                   {"node": "b", "running_bytes": 7, "waiting_bytes": 1, "unswapped_bytes": 7}],
      "swaps": [{"tensor": "a:0", "size_bytes": 1024, "leave_after": 0, "sync": -1, "trigger": 1,
                 "back_for": 2}]}])");
  const Answer answer = ComparePlans(dumped, Plan(8, Json::array({Swap("a", "b", "t")})));
  EXPECT_TRUE(answer.json["same"].get<bool>()) << answer.text;
  EXPECT_FALSE(
      ComparePlans(dumped, Plan(8, Json::array({Swap("a", "b", "u")}))).json["same"].get<bool>());
}

TEST(CliPlanDiff, ReadsPlansAndReportsAndNothingElse) {
  EXPECT_FALSE(PlanFromJson(R"({"graphs": []})").is_null());
  const Json reports =
      PlanFromJson(R"([{"graph": "g", "outcome": "rewritten", "peak_bytes_after": 7}])");
  EXPECT_EQ(reports["graphs"][0]["devices"][0]["peak_bytes_after"], 7);
  for (const char* other : {"{}", "[]", "[1]", "7", "{\"graphs\": [", "[{}]"}) {
    EXPECT_TRUE(PlanFromJson(other).is_null()) << other;
  }
}

}  // namespace
}  // namespace tflms::cli
