// SPDX-License-Identifier: Apache-2.0
//
// Rule recompute on random graphs: random clones that are legal, together with swaps that begin and
// end at them, keep the laws, and every node reads the values it read before.
//
// TFLMS_PROPERTY_SEEDS in the environment sets the number of seeds (default 50; nightly 1,000).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "src/graph/buffers.h"
#include "src/graph/laws.h"
#include "src/graph/text.h"
#include "src/graph/verifier.h"
#include "src/rules/edit.h"
#include "tests/core/random_graph.h"
#include "tests/core/rule_helpers.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

uint64_t Seeds() {
  const char* seeds = std::getenv("TFLMS_PROPERTY_SEEDS");
  return seeds == nullptr ? 50 : std::strtoull(seeds, nullptr, 10);
}

// Graphs in which most of the plain operations may run again.
Graph RepeatableGraph(uint64_t seed) {
  Graph graph = RandomGraph(seed, {.min_nodes = 20, .host = 5, .other_accelerator = 5});
  Random random(seed);
  for (Node& node : graph.nodes) {
    if (node.op == "Op" && random.Percent(80)) node.flags |= kRepeatable;
    if (node.op == "Op" && random.Percent(4)) node.flags |= kPicksInput;
  }
  return graph;
}

// Does the rule make all of it?
bool IsCarriedOut(const Graph& graph, const SwapRequest& request) {
  RuleRun run(graph);
  run.request = request;
  const RuleEffect effect = run.Apply("recompute");
  EXPECT_TRUE(effect.refused == 0 || run.graph.nodes == graph.nodes);
  return effect.refused == 0;
}

// Adds a clone of `source` that waits for `trigger`, is read by some of the source's readers, and
// reads clones where there are any; kept when the rule takes it.
bool AddClone(const Graph& graph, NodeId source, NodeId trigger, Random* random,
              SwapRequest* request) {
  SwapRequest more = *request;
  NodeClone& clone = more.clones.emplace_back();
  clone = {source, trigger, {}};
  for (const Input& in : graph.node(source).inputs) {
    NodeId read = kNoNode;
    for (size_t i = 0; i + 1 < more.clones.size(); ++i) {
      if (more.clones[i].source == in.node && random->Percent(50)) {
        read = more.first_clone + static_cast<NodeId>(i);
      }
    }
    clone.reads.push_back(read);
  }
  const NodeId id = more.first_clone + static_cast<NodeId>(more.clones.size()) - 1;
  const Readers readers(graph);
  for (const Reader* reader = readers.begin(source); reader != readers.end(source); ++reader) {
    const bool taken = std::any_of(
        more.cloned_reads.begin(), more.cloned_reads.end(),
        [&](const ClonedRead& r) { return r.reader == reader->node && r.slot == reader->slot; });
    if (!taken && random->Percent(60)) {
      more.cloned_reads.push_back({reader->node, reader->slot, id});
    }
  }
  if (!IsCarriedOut(graph, more)) return false;
  *request = std::move(more);
  return true;
}

struct Case {
  explicit Case(uint64_t seed) : random(seed + 7), graph(RepeatableGraph(seed)) {
    request.host = GraphBuilder::kCpu;
    request.first_clone = graph.size();
    for (int tries = 0; tries < 40; ++tries) {
      NodeId trigger = random.Below(graph.size() + 1) - 1;
      if (!request.clones.empty() && random.Percent(30)) {
        trigger = request.first_clone + random.Below(static_cast<int32_t>(request.clones.size()));
      }
      AddClone(graph, random.Below(graph.size()), trigger, &random, &request);
    }
    AddSwaps();
  }

  // Swaps of anything by anything, clones among them, and any order or a legal one.
  void AddSwaps() {
    RuleRun run(graph);
    run.request = request;
    run.Apply("recompute");
    const NodeId size = run.graph.size();
    const auto any_node = [&] { return random.Percent(30) ? kNoNode : random.Below(size); };
    for (NodeId id = 0; id < size; ++id) {
      for (size_t slot = 0; slot < run.graph.node(id).inputs.size(); ++slot) {
        if (!random.Percent(30)) continue;
        request.edges.push_back(
            {id, static_cast<int32_t>(slot), random.Below(2), any_node(), any_node()});
      }
    }
    request.serial_order = TopologicalOrder(run.graph).value();
    if (random.Percent(20)) random.Shuffle(&request.serial_order);
    request.strategy = static_cast<TriggerStrategy>(random.Below(3));
  }

  Random random;
  Graph graph;
  SwapRequest request;
};

uint64_t Mix(uint64_t hash, uint64_t value) { return Random(hash ^ (value * 31 + 7)).Next(); }

// A value for every output: of a swap node what it reads, of any other a hash of the operation (a
// clone's is its source's) and of all that it reads.
std::vector<std::vector<uint64_t>> Values(const Graph& graph) {
  std::vector<std::vector<uint64_t>> values(graph.nodes.size());
  const std::vector<NodeId> order = TopologicalOrder(graph).value();
  for (NodeId id : order) {
    const Node& node = graph.node(id);
    const bool swaps = node.role == NodeRole::kSwapOut || node.role == NodeRole::kSwapIn;
    const NodeId operation = node.clone_of == kNoNode ? id : node.clone_of;
    uint64_t hash = Mix(0, static_cast<uint64_t>(operation));
    for (const Input& in : node.inputs) {
      const bool back = IsBackEdge(graph, in.node, id);
      const uint64_t value = back ? 0 : values[Index(in.node)][Index(in.port)];
      hash = swaps ? value : Mix(hash, value);
    }
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      values[Index(id)].push_back(swaps ? hash : Mix(hash, port));
    }
  }
  return values;
}

class RecomputeLaws : public testing::TestWithParam<uint64_t> {};

TEST_P(RecomputeLaws, HoldAfterEveryRuleAndErasingGivesTheInput) {
  const Case c(GetParam());
  RuleRun run(c.graph);
  run.request = c.request;
  for (const RuleEntry& rule : RuleCatalog()) {
    run.Apply(rule.name);
    const Status status = VerifyRewrite(run.before, run.graph);
    ASSERT_TRUE(status.ok()) << rule.name << ": " << status.ToString() << "\n"
                             << PrintGraph(run.graph);
  }
  EXPECT_EQ(EraseRewrite(run.graph).nodes, c.graph.nodes);
  EXPECT_EQ(ParseGraph(PrintGraph(run.graph))->nodes, run.graph.nodes);
}

TEST_P(RecomputeLaws, EveryNodeReadsTheValuesItReadBefore) {
  const Case c(GetParam());
  RuleRun run(c.graph);
  run.request = c.request;
  run.ApplyAll();
  std::vector<std::vector<uint64_t>> after = Values(run.graph);
  for (NodeId id = run.before.size(); id < run.graph.size(); ++id) {
    const NodeId source = run.graph.node(id).clone_of;
    if (source == kNoNode) continue;
    EXPECT_EQ(after[Index(id)], after[Index(source)]) << run.graph.node(id).name;
  }
  after.resize(run.before.nodes.size());
  EXPECT_EQ(after, Values(run.before));
}

TEST_P(RecomputeLaws, OnceIsEnough) {
  const Case c(GetParam());
  RuleRun run(c.graph);
  run.request = c.request;
  run.ApplyAll();
  EXPECT_EQ(run.ApplyAll().changes, 0);
  RuleRun again(run.graph);
  again.request = c.request;
  EXPECT_EQ(again.ApplyAll().changes, 0);
  EXPECT_EQ(PrintGraph(again.graph), PrintGraph(run.graph));
}

TEST_P(RecomputeLaws, ClonesRunBehindTheirSourcesAndTriggers) {
  const Case c(GetParam());
  RuleRun run(c.graph);
  run.request = c.request;
  run.ApplyAll();
  for (size_t i = 0; i < c.request.clones.size(); ++i) {
    const NodeClone& clone = c.request.clones[i];
    const NodeId id = c.request.first_clone + static_cast<NodeId>(i);
    EXPECT_TRUE(run.state.order->Reaches(clone.source, id));
    if (clone.trigger != kNoNode) {
      EXPECT_TRUE(run.state.order->Reaches(clone.trigger, id));
    }
    EXPECT_GT(run.graph.node(id).added_controls, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RecomputeLaws, testing::Range<uint64_t>(0, Seeds()));

TEST(RecomputeRule, RandomCasesHaveClonesThatReadClonesAndAreSwapped) {
  int64_t clones = 0, of_clones = 0, swapped = 0, triggers = 0;
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    const Case c(seed);
    RuleRun run(c.graph);
    run.request = c.request;
    run.ApplyAll();
    const auto is_clone = [&](NodeId id) {
      return run.graph.node(id).role == NodeRole::kRecompute;
    };
    for (const Node& node : run.graph.nodes) {
      clones += node.role == NodeRole::kRecompute;
      for (const Input& in : node.inputs) {
        of_clones += node.role == NodeRole::kRecompute && is_clone(in.node);
        swapped += node.role == NodeRole::kSwapOut && is_clone(in.node);
      }
      for (NodeId from : node.control_inputs) {
        triggers += node.role == NodeRole::kSwapIn && is_clone(from);
      }
    }
  }
  EXPECT_GT(clones, static_cast<int64_t>(Seeds()) * 2);
  EXPECT_GT(of_clones, 0);
  EXPECT_GT(swapped, 0);
  EXPECT_GT(triggers, 0);
}

TEST(RecomputeRule, NamesAndFieldsAreTheSources) {
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId u = b.Op("a/u", {x}, kRepeatable);
  const NodeId v = b.Op("v", {u});
  b.node(u).workspace_bytes = 12;
  b.node(u).time_us = 34;
  b.node(u).cookie = 1;
  RuleRun run(b.graph());
  run.request.first_clone = 3;
  run.request.clones = {{u, kNoNode, {}}, {u, v, {}}};
  run.request.cloned_reads = {{v, 0, 3}};
  EXPECT_EQ(run.Apply("recompute").refused, 0);
  ASSERT_EQ(run.Added(), 2);
  const Node& clone = run.graph.node(3);
  EXPECT_EQ(clone.name, "tflms/recompute/a/u");
  EXPECT_EQ(run.graph.node(4).name, "tflms/recompute/a/u_1");
  EXPECT_EQ(clone.workspace_bytes, 12);
  EXPECT_EQ(clone.time_us, 34);
  EXPECT_EQ(clone.cookie, -1);
  EXPECT_EQ(clone.clone_of, u);
  EXPECT_EQ(run.InputName(v), "tflms/recompute/a/u");
  EXPECT_EQ(run.state.level.size(), 5u);
  EXPECT_EQ(run.state.level[4], run.state.level[Index(v)] + 1);
}

// A clone of an otherwise lawful graph that has been spoilt; the law that notices.
std::string LawAfter(const std::function<void(Graph*)>& spoil) {
  GraphBuilder b;
  const NodeId x = b.Source("x");
  const NodeId u = b.Op("u", {x}, kRepeatable);
  const NodeId v = b.Op("v", {u});
  RuleRun run(b.graph());
  run.request.first_clone = 3;
  run.request.clones = {{u, kNoNode, {}}};
  run.request.cloned_reads = {{v, 0, 3}};
  run.Apply("recompute");
  EXPECT_TRUE(VerifyRewrite(run.before, run.graph).ok());
  spoil(&run.graph);
  return VerifyRewrite(run.before, run.graph).message();
}

TEST(RecomputeRule, TheLawsSeeClonesThatAreNotTheirSources) {
  const std::string node = "L3 node `tflms/recompute/u`: ";
  EXPECT_EQ(LawAfter([](Graph* g) { g->node(3).op = "Other"; }),
            node + "its operation is not that of `u`");
  EXPECT_EQ(LawAfter([](Graph* g) { g->node(3).device = GraphBuilder::kGpu2; }),
            node + "its device is not that of `u`");
  EXPECT_EQ(LawAfter([](Graph* g) { g->node(3).outputs[0].type.dtype = DataType::kFloat16; }),
            node + "its outputs is not that of `u`");
  EXPECT_EQ(LawAfter([](Graph* g) {
              Node other = g->node(0);
              other.name = "y";
              g->nodes.push_back(other);
              g->node(3).inputs[0].node = 4;
            }),
            node + "its input 0 is not what `u` reads");
  EXPECT_EQ(LawAfter([](Graph* g) { g->node(3).added_controls = 0; }),
            node + "has no control input that holds it back, or one of its source's own");
  EXPECT_EQ(LawAfter([](Graph* g) { g->node(1).flags = g->node(3).flags = 0; }),
            node + "runs `u` again, which may run only once");
  EXPECT_EQ(LawAfter([](Graph* g) { g->node(3).clone_of = kNoNode; }),
            "L0 node `tflms/recompute/u`: a recompute, and no other node, says which node it runs "
            "again");
  EXPECT_EQ(LawAfter([](Graph* g) { g->node(3).clone_of = 3; }),
            "L0 node `tflms/recompute/u`: runs `tflms/recompute/u` again, which is no node of the "
            "graph as it came");
}

}  // namespace
}  // namespace tflms
