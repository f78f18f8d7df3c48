// SPDX-License-Identifier: Apache-2.0
//
// Clones read off rewritten graphs are those that were planned, and so are their readers and
// figures.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/cli/planned.h"
#include "src/cli/planned_clones.h"
#include "src/cli/swap_list.h"
#include "src/graph/text.h"
#include "src/rewrite/clone_wiring.h"
#include "tests/core/clone_plans.h"

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

uint64_t Seeds() {
  const char* seeds = std::getenv("TFLMS_PROPERTY_SEEDS");
  return seeds == nullptr ? 50 : std::strtoull(seeds, nullptr, 10);
}

TEST(CliClones, WhatIsReadOffIsWhatWasPlanned) {
  int64_t reads = 0;
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    const PlannedCase planned = RandomClonePlan(seed);
    const Graph after = CarriedOut(planned);
    const Expansion expansion = Expand(planned.map.problem, planned.plan);
    const CloneWiring wiring(planned.graph, planned.facts, planned.map, planned.plan, expansion);
    const CloneReader found(planned.graph, after, planned.facts, planned.map, 0);
    // The plan in the numbers that were found.
    const auto number = [&](OpId op) { return found.op_of()[Index(wiring.NodeOf(op))]; };
    ASSERT_EQ(found.clones().size(), planned.plan.clones.size()) << seed;
    for (size_t i = 0; i < planned.plan.clones.size(); ++i) {
      const OpId op = number(planned.graph.size() + static_cast<OpId>(i));
      ASSERT_GE(op, planned.graph.size()) << seed;
      EXPECT_EQ(found.clones()[Index(op - planned.graph.size())], planned.plan.clones[i]) << seed;
    }
    std::vector<CloneRead> want;
    for (const CloneRead& read : planned.plan.clone_reads) {
      want.push_back({read.buffer, number(read.reader),
                      number(planned.graph.size() + read.clone) - planned.graph.size()});
    }
    std::sort(want.begin(), want.end(), [](const CloneRead& a, const CloneRead& b) {
      return std::pair(a.buffer, a.reader) < std::pair(b.buffer, b.reader);
    });
    EXPECT_EQ(found.reads(), want) << seed;
    reads += static_cast<int64_t>(want.size());
  }
  EXPECT_GT(reads, 0);
}

// u is made again for g, and that run goes to the host until h.
constexpr char kRewritten[] =
    "x = Source : f32[1024]\n"
    "u = Op(x) : f32[1024] repeatable\n"
    "a = Op(u) : f32[1024]\n"
    "b = Op(a, +^tflms/recompute/u) : f32[1024]\n"
    "g = Op(b, tflms/recompute/u) : f32[1024]\n"
    "c = Op(g) : f32[1024]\n"
    "h = Op(c, tflms/swap_in/u) : f32[1024]\n"
    "tflms/recompute/u = Op(x, +^u, +^a) : f32[1024] repeatable role=recompute of=u\n"
    "tflms/swap_out/u = Identity(tflms/recompute/u) : f32[1024] @cpu role=swap-out\n"
    "tflms/swap_in/u = Identity(tflms/swap_out/u, +^c) : f32[1024]{alias=0} @cpu role=swap-in\n";

TEST(CliClones, AGraphWithClonesHasItsPlanAndItsPeak) {
  const Graph graph = ParseGraph(kRewritten).value();
  Options options;
  options.budget_bytes = 1 << 20;
  const Result<PlannedGraph> graphs = PlanGraph(options, "g", graph);
  ASSERT_TRUE(graphs.ok()) << graphs.status().ToString();
  const Planned& planned = graphs->planned.at(0);
  EXPECT_EQ(planned.plan.clones.size(), 1u);
  ASSERT_EQ(planned.plan.clone_reads.size(), 2u);
  EXPECT_EQ(planned.memory.peak_bytes, 3 * 4096);  // of g: b, u again, and itself
  const std::vector<NamedSwap> swaps = ListSwaps(*graphs, planned);
  ASSERT_EQ(swaps.size(), 1u);
  EXPECT_EQ(swaps[0].tensor, "tflms/recompute/u");
  EXPECT_EQ(swaps[0].leave_after, "g");
  EXPECT_EQ(swaps[0].trigger, "c");
  EXPECT_EQ(swaps[0].back_for, "h");
}

}  // namespace
}  // namespace tflms::cli
