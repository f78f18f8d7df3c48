// SPDX-License-Identifier: Apache-2.0
//
// The plan in the report: memory at each operation, the swaps, the allocator's peak, and its JSON.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/graph/text.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

// While c runs, a only waits for g: 8 + 8 + 2 = 18 KiB.
constexpr char kChain[] =
    "x = Source : u8[4096]\n"
    "a = Op(x) : u8[8192]\n"
    "b = Op(a) : u8[8192]\n"
    "c = Op(b) : u8[2048]\n"
    "g = Op(c, a) : u8[2048]\n";

Report ReportOf(const std::string& text, int64_t budget_bytes) {
  Options options;
  options.budget_bytes = budget_bytes;
  options.safety = 1;
  options.min_swap_bytes = 1;
  Graph graph = *ParseGraph(text);
  const auto reports = Rewrite(options, "chain", &graph);
  EXPECT_TRUE(reports.ok()) << reports.status().ToString();
  return reports.ok() ? reports->front() : Report();
}

TEST(PlanDetails, EveryOperationHasItsMemoryAndEverySwapItsPlaces) {
  const Report report = ReportOf(kChain, 16 << 10);
  ASSERT_EQ(report.outcome, Outcome::kRewritten) << report.reason;
  ASSERT_EQ(report.timeline.size(), 5u);
  const TimelinePoint& c = report.timeline[3];
  EXPECT_EQ(c.node, "c");
  EXPECT_EQ(c.running_bytes, 10 << 10);    // b and c
  EXPECT_EQ(c.unswapped_bytes, 18 << 10);  // and a
  EXPECT_EQ(c.host_bytes, 8 << 10);
  ASSERT_EQ(report.swaps.size(), 1u);
  const SwapRecord& swap = report.swaps[0];
  EXPECT_EQ(swap.tensor, "a:0");
  EXPECT_EQ(swap.size_bytes, 8 << 10);
  EXPECT_EQ(swap.leave_after, 2);
  EXPECT_EQ(swap.sync, 3);
  EXPECT_EQ(swap.trigger, 3);
  EXPECT_EQ(swap.back_for, 4);
  EXPECT_EQ(report.peak_bytes_after, 16 << 10);
  EXPECT_EQ(report.allocator_peak_bytes, 16 << 10);
}

TEST(PlanDetails, TheAllocatorsPeakCountsRoundingAndWholeChunks) {
  // With one more swap-in the allocator rounds 100 bytes up to 256.
  const Report report = ReportOf(
      "a = Op : u8[1000]\nb = Op(a) : u8[1000]\nc = Op(b) : u8[100]\ng = Op(c, a) : u8[100]\n",
      2048);
  ASSERT_EQ(report.outcome, Outcome::kRewritten);
  EXPECT_EQ(report.peak_bytes_after, 2000);
  EXPECT_EQ(report.allocator_peak_bytes, 2048);
}

TEST(PlanDetails, APlanWithoutRoomInOnePieceIsReported) {
  // 1,900 bytes of budget hold the plan's bytes but not the allocator's chunks of 1,024.
  const Report report = ReportOf(
      "a = Op : u8[900]\nb = Op(a) : u8[900]\nc = Op(b) : u8[100]\ng = Op(c, a) : u8[100]\n", 1900);
  ASSERT_EQ(report.outcome, Outcome::kRewritten);
  EXPECT_EQ(report.peak_bytes_after, 1800);
  EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(), [](const std::string& note) {
    return note.find("no room in one piece") != std::string::npos;
  }));
}

TEST(PlanDetails, ThePlanIsAJsonObjectAndTheReportStaysSmall) {
  const Report report = ReportOf(kChain, 16 << 10);
  const auto plan = nlohmann::json::parse(PlanToJson(report));
  EXPECT_EQ(plan.at("graph"), "chain");
  EXPECT_EQ(plan.at("timeline").size(), 5u);
  EXPECT_EQ(plan.at("timeline")[3].at("host_bytes"), 8 << 10);
  EXPECT_EQ(plan.at("swaps")[0].at("tensor"), "a:0");
  EXPECT_EQ(plan.at("swaps")[0].at("back_for"), 4);
  const auto json = nlohmann::json::parse(ReportToJson(report));
  EXPECT_FALSE(json.contains("timeline"));
  EXPECT_EQ(json.at("allocator_peak_bytes"), 16 << 10);
}

}  // namespace
}  // namespace tflms
