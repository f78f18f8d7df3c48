// SPDX-License-Identifier: Apache-2.0
//
// The laws on random graphs that go through the whole pipeline with random budgets.
//
// TFLMS_PROPERTY_SEEDS in the environment sets the number of graphs (default 50; nightly 1,000).

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/graph/laws.h"
#include "src/graph/text.h"
#include "src/graph/verifier.h"
#include "tests/core/random_graph.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

uint64_t Seeds() {
  const char* value = std::getenv("TFLMS_PROPERTY_SEEDS");
  const std::optional<int64_t> number = ParseInt64(value == nullptr ? "" : value);
  return number && *number > 0 ? static_cast<uint64_t>(*number) : 50;
}

// A graph, and options with a budget somewhere below the peak of its busiest accelerator.
struct Case {
  Graph graph;
  Options options;
};

Case CaseOf(uint64_t seed) {
  Case out;
  Random random(seed);
  out.graph = RandomGraph(seed, {.min_nodes = 10 + random.Below(80)});
  out.options.min_swap_bytes = 0;
  Graph copy = out.graph;
  const Result<std::vector<Report>> reports = Rewrite(out.options, "random", &copy);
  EXPECT_TRUE(reports.ok()) << seed << ": " << reports.status().ToString();
  int64_t peak = 0;
  if (reports.ok()) {
    for (const Report& report : *reports) peak = std::max(peak, report.peak_bytes_before);
  }
  out.options.budget_bytes = 1 + peak * random.Below(100) / 100;
  return out;
}

TEST(LawsRewrite, ThePipelineKeepsThem) {
  int rewritten = 0;
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    const Case c = CaseOf(seed);
    ASSERT_TRUE(VerifyGraph(c.graph).ok()) << seed;
    Graph after = c.graph;
    const Result<std::vector<Report>> reports = Rewrite(c.options, "random", &after);
    ASSERT_TRUE(reports.ok()) << seed << ": " << reports.status().ToString();
    const Status laws = VerifyRewrite(c.graph, after);
    ASSERT_TRUE(laws.ok()) << seed << ": " << laws.message() << "\n" << PrintGraph(after);
    EXPECT_EQ(EraseRewrite(after).nodes, c.graph.nodes) << seed << ": L6";
    for (const Report& report : *reports) {
      EXPECT_FALSE(report.reason.empty()) << seed << ": L7";
      if (report.outcome != Outcome::kRewritten) continue;
      ++rewritten;
      EXPECT_LE(report.peak_bytes_after, report.peak_bytes_before) << seed << ": L10";
    }
  }
  EXPECT_GT(rewritten, 0);
}

TEST(LawsRewrite, ASecondRunChangesNothing) {
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    const Case c = CaseOf(seed);
    Graph once = c.graph;
    ASSERT_TRUE(Rewrite(c.options, "random", &once).ok()) << seed;
    Graph twice = once;
    const auto second = Rewrite(c.options, "random", &twice);
    ASSERT_TRUE(second.ok()) << seed << ": " << second.status().ToString();
    EXPECT_EQ(PrintGraph(twice), PrintGraph(once)) << seed << ": L5";
  }
}

TEST(LawsRewrite, TheSameInputGivesTheSameOutput) {
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    const Case c = CaseOf(seed);
    Graph first = c.graph, second = c.graph;
    ASSERT_TRUE(Rewrite(c.options, "random", &first).ok()) << seed;
    ASSERT_TRUE(Rewrite(c.options, "random", &second).ok()) << seed;
    EXPECT_EQ(PrintGraph(first), PrintGraph(second)) << seed << ": L9";
  }
}

}  // namespace
}  // namespace tflms
