// SPDX-License-Identifier: Apache-2.0
//
// Plans read off rewritten graphs: what is read is what was planned.

#include <gtest/gtest.h>

#include "random_graph.h"
#include "src/cli/plan_text.h"
#include "src/cli/planned.h"
#include "src/cli/problem_json.h"
#include "src/cli/swap_list.h"
#include "src/graph/text.h"

namespace tflms::cli {
namespace {

// Six layers forward, six backward; each backward step reads its layer's result.
Graph Network() {
  std::string text = "x = Source : f32[262144] source t=0\n";
  std::string last = "x";
  for (int i = 0; i < 6; ++i) {
    const std::string name = "f" + std::to_string(i);
    text += name + " = Layer(" + last + ") : f32[262144] t=5\n";
    last = name;
  }
  for (int i = 5; i >= 0; --i) {
    const std::string name = "b" + std::to_string(i);
    text += name + " = Grad(" + last + ", f" + std::to_string(i) + ") : f32[262144] t=5\n";
    last = name;
  }
  Result<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *graph : Graph();
}

PlannedGraph MustPlan(const Options& options, const Graph& graph) {
  Result<PlannedGraph> planned = PlanGraph(options, "g", graph);
  EXPECT_TRUE(planned.ok()) << planned.status().message();
  return planned.ok() ? std::move(*planned) : PlannedGraph();
}

Options Budget(int64_t mib) {
  Options options;
  options.budget_bytes = mib << 20;
  return options;
}

TEST(CliPlanned, TheProblemAsJsonListsTheDevicesOpsInThePlannedOrder) {
  Result<Graph> graph = ParseGraph(
      "h = Op : f32[4] @cpu\na = Op(h) : f32[4] t=3 ws=7\nr = Op(a) : f32[4] @cpu\n"
      "b = Op(a) : f32[8]\n");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const PlannedGraph graphs = MustPlan(Budget(6), *graph);
  ASSERT_EQ(graphs.planned.size(), 1u);
  const Json json = ProblemJson("g", graphs, graphs.planned[0]);
  ASSERT_EQ(json["ops"].size(), 2u);
  EXPECT_EQ(json["ops"][0]["name"], "a");
  EXPECT_EQ(json["ops"][0]["time_us"], 3);
  EXPECT_EQ(json["ops"][0]["workspace_bytes"], 7);
  EXPECT_EQ(json["order"], Json::array({0, 1}));
  ASSERT_EQ(json["buffers"].size(), 2u);
  EXPECT_EQ(json["buffers"][0]["tensor"], "a:0");
  EXPECT_EQ(json["buffers"][0]["size_bytes"], 16);
  EXPECT_EQ(json["buffers"][0]["producer"], 0);
  EXPECT_EQ(json["buffers"][0]["uses"], Json::array({1}));  // r is not on the device
}

TEST(CliPlanned, WhatIsReadOffTheGraphIsWhatWasPlanned) {
  const PlannedGraph graphs = MustPlan(Budget(6), Network());
  ASSERT_EQ(graphs.planned.size(), 1u);
  const Planned& planned = graphs.planned[0];
  EXPECT_EQ(planned.report.outcome, tflms::Outcome::kRewritten);
  EXPECT_EQ(planned.memory.peak_bytes, planned.report.peak_bytes_after);
  EXPECT_EQ(planned.memory_as_it_came.peak_bytes, planned.report.peak_bytes_before);
  EXPECT_TRUE(planned.plan.pin_order);
  EXPECT_EQ(Judge(planned, 6 << 20), Verdict::kFits);
  const std::vector<NamedSwap> swaps = ListSwaps(graphs, planned);
  ASSERT_FALSE(swaps.empty());
  for (const NamedSwap& swap : swaps) {
    EXPECT_EQ(swap.back_for, "b" + swap.tensor.substr(1)) << swap.tensor;
    EXPECT_GT(swap.distance, 0);
    EXPECT_GE(swap.ahead, 1);
  }
}

// The same plan, found in the graph when it is read again.
TEST(CliPlanned, ARewrittenGraphTellsItsPlan) {
  const PlannedGraph first = MustPlan(Budget(6), Network());
  const PlannedGraph again = MustPlan(Budget(6), first.after);
  ASSERT_EQ(again.planned.size(), 1u);
  EXPECT_TRUE(again.rewritten_before);
  EXPECT_EQ(again.planned[0].memory.peak_bytes, first.planned[0].memory.peak_bytes);
  EXPECT_EQ(ListSwaps(again, again.planned[0]), ListSwaps(first, first.planned[0]));
}

TEST(CliPlanned, Verdicts) {
  EXPECT_EQ(Judge(MustPlan(Budget(64), Network()).planned[0], 64 << 20), Verdict::kNotNeeded);
  EXPECT_EQ(Judge(MustPlan(Budget(2), Network()).planned[0], 2 << 20), Verdict::kCannotFit);
  EXPECT_EQ(Judge(MustPlan(Options(), Network()).planned[0], 0), Verdict::kNoBudget);
  Graph unknown = Network();
  unknown.nodes[3].outputs[0].type.shape = Shape::Known({kUnknownExtent});
  EXPECT_EQ(Judge(MustPlan(Budget(64), unknown).planned[0], 64 << 20), Verdict::kUnknown);
  Options never = Budget(6);
  never.n_tensors = 0;
  EXPECT_EQ(Judge(MustPlan(never, Network()).planned[0], 6 << 20), Verdict::kNotFound);
}

// On graphs of every kind the plan read off the graph passes CheckPlan and has the peak that was
// predicted.
TEST(CliPlanned, RandomGraphs) {
  int rewritten = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Graph graph = RandomGraph(seed);
    Options options;
    options.min_swap_bytes = 1;
    const Result<PlannedGraph> graphs = PlanGraph(options, "g", graph);
    ASSERT_TRUE(graphs.ok()) << "seed " << seed << ": " << graphs.status().ToString();
    for (const Planned& planned : graphs->planned) {
      if (planned.report.outcome != tflms::Outcome::kRewritten) continue;
      // A step that a rule refused is in the plan, but not in the graph.
      int64_t refused = 0;
      for (const RuleCount& rule : planned.report.rules) refused += rule.refused;
      if (refused > 0) continue;
      ++rewritten;
      EXPECT_EQ(planned.memory.peak_bytes, planned.report.peak_bytes_after) << "seed " << seed;
    }
  }
  EXPECT_GT(rewritten, 20);
}

}  // namespace
}  // namespace tflms::cli
