// SPDX-License-Identifier: Apache-2.0
//
// Plans with clones become graphs in which everybody reads what the plan says: random plans on
// random graphs, and the cases with aliases by hand.
//
// TFLMS_PROPERTY_SEEDS in the environment sets the number of seeds (default 50; nightly 1,000).

#include "src/rewrite/clone_wiring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/graph/text.h"
#include "src/rewrite/plan_request.h"
#include "tests/core/clone_plans.h"
#include "tests/core/rule_helpers.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

uint64_t Seeds() {
  const char* seeds = std::getenv("TFLMS_PROPERTY_SEEDS");
  return seeds == nullptr ? 50 : std::strtoull(seeds, nullptr, 10);
}

// The node that made the bytes: behind swap nodes and other names of the buffer whose first node is
// `root`.
NodeId MakerOf(const Graph& after, Input in, NodeId root) {
  for (;;) {
    const Node& node = after.node(in.node);
    const bool swaps = node.role == NodeRole::kSwapOut || node.role == NodeRole::kSwapIn;
    if (swaps) {
      in = node.inputs[0];
    } else if ((node.clone_of == kNoNode ? in.node : node.clone_of) != root) {
      in = node.inputs[Index(node.outputs[Index(in.port)].alias_of)];
    } else {
      return in.node;
    }
  }
}

// Every reader of every buffer reads the run of its producer that the plan says.
void ExpectWiring(const PlannedCase& p, const Graph& after) {
  const Expansion expansion = Expand(p.map.problem, p.plan);
  const CloneWiring wiring(p.graph, p.facts, p.map, p.plan, expansion);
  for (size_t id = 0; id < expansion.problem.buffers.size(); ++id) {
    const OpId maker = expansion.problem.buffers[id].producer;
    const BufferId first = expansion.original[id];
    const Buffer& buffer = p.facts.buffers.buffers[Index(p.map.graph_buffer[Index(first)])];
    for (const Wire& wire : wiring.WiresOf(static_cast<BufferId>(id))) {
      EXPECT_EQ(MakerOf(after, after.node(wire.reader).inputs[Index(wire.slot)], buffer.node),
                wiring.NodeOf(maker))
          << after.node(wire.reader).name << " slot " << wire.slot;
    }
  }
}

class CloneWiringLaws : public testing::TestWithParam<uint64_t> {};

TEST_P(CloneWiringLaws, EverybodyReadsWhatThePlanSays) {
  const PlannedCase planned = RandomClonePlan(GetParam());
  const Graph after = CarriedOut(planned);
  ExpectWiring(planned, after);
}

TEST_P(CloneWiringLaws, SoTheyDoWithOrderEdgesOnSomeLevelsOnly) {
  const PlannedCase planned = RandomClonePlan(GetParam());
  Options options;
  options.serialization = "2:3";
  options.sync_mode = 3;
  const Graph after = CarriedOut(planned, options);
  ExpectWiring(planned, after);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CloneWiringLaws, testing::Range<uint64_t>(0, Seeds()));

TEST(CloneWiring, RandomPlansHaveWhatMakesThemHard) {
  int64_t clones = 0, of_clones = 0, aliases = 0, swapped = 0;
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    const PlannedCase p = RandomClonePlan(seed);
    const SwapRequest request =
        RequestFromPlan(p.graph, p.facts, p.map, p.plan, {}, GraphBuilder::kCpu);
    clones += static_cast<int64_t>(p.plan.clones.size());
    aliases += static_cast<int64_t>(request.clones.size() - p.plan.clones.size());
    for (const CloneRead& read : p.plan.clone_reads) of_clones += read.reader >= p.graph.size();
    for (const SwapGap& swap : p.plan.swaps) {
      swapped += swap.buffer >= static_cast<BufferId>(p.map.problem.buffers.size());
    }
  }
  EXPECT_GT(clones, static_cast<int64_t>(Seeds()));
  EXPECT_GT(of_clones, 0);
  EXPECT_GT(aliases, 0);
  EXPECT_GT(swapped, 0);
}

constexpr char kAliased[] =
    "x = Source : f32[64]\n"
    "u = Op(x) : f32[64] repeatable\n"
    "r = Reshape(u) : f32[8,8]{alias=0} repeatable\n"
    "a = Op(r) : f32[64]\n"
    "b = Op(a, u) : f32[64]\n"
    "g = Op(b, r) : f32[64]\n"
    "h = Op(g, r, u) : f32[64]\n";

TEST(CloneWiring, AReaderOfAnAliasGetsAnAliasOfTheClone) {
  PlannedCase p(*ParseGraph(kAliased));
  const OpId clone = p.CloneBefore(p.Op("u"), p.Op("g"));
  for (const char* reader : {"g", "h"}) p.Read(p.BufferOf("u"), p.Op(reader), clone);
  const Graph after = CarriedOut(p);
  ExpectWiring(p, after);
  EXPECT_EQ(PrintGraph(after).substr(PrintGraph(after).find("g = ")),
            "g = Op(b, tflms/recompute/r, +^tflms/recompute/u) : f32[64]\n"
            "h = Op(g, tflms/recompute/r, tflms/recompute/u) : f32[64]\n"
            "tflms/recompute/u = Op(x, +^u, +^b) : f32[64] repeatable role=recompute of=u\n"
            "tflms/recompute/r = Reshape(tflms/recompute/u, +^r) : f32[8,8]{alias=0} repeatable "
            "role=recompute of=r\n");
}

TEST(CloneWiring, AnAliasThatReadsTheCloneServesItsReaders) {
  PlannedCase p(
      *ParseGraph("x = Source : f32[64]\nu = Op(x) : f32[64] repeatable\na = Op(u) : f32[64]\n"
                  "r = Reshape(u, ^a) : f32[8,8]{alias=0} repeatable\ng = Op(a, r) : f32[64]\n"
                  "h = Op(g, r) : f32[64]\n"));
  const OpId clone = p.CloneBefore(p.Op("u"), p.Op("r"));
  p.Read(p.BufferOf("u"), p.Op("r"), clone);
  p.Read(p.BufferOf("u"), p.Op("g"), clone);  // h still reads the first run
  const Graph after = CarriedOut(p);
  ExpectWiring(p, after);
  const std::string text = PrintGraph(after);
  EXPECT_NE(text.find("r = Reshape(tflms/recompute/u, ^a)"), std::string::npos) << text;
  EXPECT_NE(text.find("g = Op(a, r)"), std::string::npos) << text;
  EXPECT_NE(text.find("h = Op(g, tflms/recompute/r)"), std::string::npos) << text;
  EXPECT_NE(text.find("tflms/recompute/r = Reshape(u, +^r)"), std::string::npos) << text;
}

TEST(CloneWiring, ASwapOfWhatACloneMakesIsOnTheClonesReaders) {
  PlannedCase p(
      *ParseGraph("x = Source : f32[64]\nu = Op(x) : f32[64] repeatable\na = Op(u) : f32[64]\n"
                  "b = Op(a, u) : f32[64]\nc = Op(b) : f32[64]\ng = Op(c, u) : f32[64]\n"));
  const OpId clone = p.CloneBefore(p.Op("u"), p.Op("b"));
  const BufferId u = p.BufferOf("u");
  p.Read(u, p.Op("b"), clone);
  p.Read(u, p.Op("g"), clone);
  const auto made_again = static_cast<BufferId>(p.map.problem.buffers.size());
  p.plan.swaps = {{made_again, p.Op("b"), p.Op("g"), p.Op("b"), p.Op("c")}};
  p.plan.swaps[0].sync = kNoOp;
  const Graph after = CarriedOut(p);
  ExpectWiring(p, after);
  const std::string text = PrintGraph(after);
  EXPECT_NE(text.find("b = Op(a, tflms/recompute/u)"), std::string::npos) << text;
  EXPECT_NE(text.find("g = Op(c, tflms/swap_in/tflms/recompute/u)"), std::string::npos) << text;
}

}  // namespace
}  // namespace tflms
