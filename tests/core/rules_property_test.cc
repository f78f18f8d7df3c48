// SPDX-License-Identifier: Apache-2.0
//
// The laws on random graphs and random requests, most of them nonsense: whatever is asked, the
// result is a lawful graph with the same values.
//
// TFLMS_PROPERTY_SEEDS in the environment sets the number of seeds (default 50; nightly 1,000).

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

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

// A topological order with random choices among the ready nodes; groups stay together.
std::vector<NodeId> RandomOrder(const Graph& graph, Random* random) {
  // Renumber at random, sort, number back: the order depends on the ids alone.
  std::vector<NodeId> new_id(graph.nodes.size());
  for (NodeId id = 0; id < graph.size(); ++id) new_id[Index(id)] = id;
  random->Shuffle(&new_id);
  Graph renamed = graph;
  std::vector<NodeId> old_id(graph.nodes.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    Node node = graph.node(id);
    for (Input& in : node.inputs) in.node = new_id[Index(in.node)];
    for (NodeId& from : node.control_inputs) from = new_id[Index(from)];
    old_id[Index(new_id[Index(id)])] = id;
    renamed.node(new_id[Index(id)]) = std::move(node);
  }
  std::vector<NodeId> order = TopologicalOrder(renamed).value();
  for (NodeId& id : order) id = old_id[Index(id)];
  return order;
}

// A request for about a third of all edges. `order` is the serial order, or, in a quarter of the
// cases, any list of nodes.
SwapRequest RandomRequest(const Graph& graph, const std::vector<NodeId>& order, Random* random) {
  SwapRequest request;
  request.host = GraphBuilder::kCpu;
  const auto any_node = [&] { return random->Percent(30) ? kNoNode : random->Below(graph.size()); };
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (size_t slot = 0; slot < graph.node(id).inputs.size(); ++slot) {
      if (!random->Percent(35)) continue;
      const int32_t group = random->Below(2);
      request.edges.push_back({id, static_cast<int32_t>(slot), group, any_node(), any_node()});
    }
  }
  random->Shuffle(&request.edges);
  if (random->Percent(60)) request.serial_order = order;
  request.fuse_gap = random->Below(6) - 1;
  request.strategy = static_cast<TriggerStrategy>(random->Below(3));
  request.lb = 1 + random->Below(4);
  request.ub = request.lb + random->Below(20);
  return request;
}

uint64_t Mix(uint64_t hash, uint64_t value) { return Random(hash ^ (value * 31 + 7)).Next(); }

uint64_t Hash(uint64_t hash, const std::string& text) {
  for (const char c : text) hash = Mix(hash, static_cast<unsigned char>(c));
  return hash;
}

// A value for every output: a hash of its node and of all values the node reads. Swap nodes are
// identities. A value that comes round a loop counts as 0: the node it comes from has its own.
std::vector<std::vector<uint64_t>> Values(const Graph& graph) {
  std::vector<std::vector<uint64_t>> values(graph.nodes.size());
  const Result<std::vector<NodeId>> order = TopologicalOrder(graph);
  EXPECT_TRUE(order.ok());
  if (!order.ok()) return values;
  for (NodeId id : order.value()) {
    const Node& node = graph.node(id);
    uint64_t hash = Hash(0, node.name);
    for (const Input& in : node.inputs) {
      const bool back = IsBackEdge(graph, in.node, id);
      hash = Mix(hash, back ? 0 : values[Index(in.node)][Index(in.port)]);
    }
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const bool identity = node.role != NodeRole::kOriginal;
      const Input& first = identity ? node.inputs.front() : Input{};
      values[Index(id)].push_back(identity ? values[Index(first.node)][Index(first.port)]
                                           : Mix(hash, port));
    }
  }
  return values;
}

// For each node, the values it reads.
std::vector<std::vector<uint64_t>> ValuesRead(const Graph& graph, int32_t nodes) {
  const std::vector<std::vector<uint64_t>> values = Values(graph);
  std::vector<std::vector<uint64_t>> read(Index(nodes));
  for (NodeId id = 0; id < nodes; ++id) {
    for (const Input& in : graph.node(id).inputs) {
      read[Index(id)].push_back(values[Index(in.node)][Index(in.port)]);
    }
  }
  return read;
}

struct Case {
  explicit Case(uint64_t seed) : random(seed + 1), graph(RandomGraph(seed)) {
    order = RandomOrder(graph, &random);
    request = RandomRequest(graph, order, &random);
  }
  Random random;
  Graph graph;
  std::vector<NodeId> order;
  SwapRequest request;
};

class RuleLaws : public testing::TestWithParam<uint64_t> {};

TEST_P(RuleLaws, RandomGraphIsWellFormed) {
  const Graph graph = RandomGraph(GetParam());
  const Status status = VerifyGraph(graph);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << PrintGraph(graph);
  EXPECT_EQ(PrintGraph(RandomGraph(GetParam())), PrintGraph(graph));
}

TEST_P(RuleLaws, L3L4L6AfterEveryRule) {
  const Case c(GetParam());
  RuleRun run(c.graph, c.order);
  run.request = c.request;
  for (const RuleEntry& rule : RuleCatalog()) {
    const std::string text = PrintGraph(run.graph);
    const RuleEffect effect = run.Apply(rule.name);
    EXPECT_EQ(effect.changes == 0, PrintGraph(run.graph) == text) << rule.name;
    Status status = VerifyGraph(run.graph);
    if (status.ok()) status = VerifyRewrite(run.before, run.graph);
    ASSERT_TRUE(status.ok()) << rule.name << ": " << status.ToString() << "\n"
                             << PrintGraph(run.graph);
  }
}

TEST_P(RuleLaws, L2SameValues) {
  const Case c(GetParam());
  RuleRun run(c.graph, c.order);
  run.request = c.request;
  run.ApplyAll();
  EXPECT_EQ(ValuesRead(run.graph, run.before.size()), ValuesRead(run.before, run.before.size()));
  std::vector<std::vector<uint64_t>> values = Values(run.graph);
  values.resize(run.before.nodes.size());
  EXPECT_EQ(values, Values(run.before));
}

TEST_P(RuleLaws, L5OnceIsEnough) {
  const Case c(GetParam());
  RuleRun run(c.graph, c.order);
  run.request = c.request;
  run.ApplyAll();
  const std::string text = PrintGraph(run.graph);
  EXPECT_EQ(run.ApplyAll().changes, 0);
  EXPECT_EQ(PrintGraph(run.graph), text);
}

TEST_P(RuleLaws, L5AlsoFromTheStart) {
  const Case c(GetParam());
  RuleRun run(c.graph, c.order);
  run.request = c.request;
  run.ApplyAll();
  RuleRun again(run.graph);
  again.request = c.request;
  EXPECT_EQ(again.ApplyAll().changes, 0);
  EXPECT_EQ(PrintGraph(again.graph), PrintGraph(run.graph));
}

TEST_P(RuleLaws, L9SameBytes) {
  const Case c(GetParam());
  std::vector<std::string> texts;
  for (int i = 0; i < 2; ++i) {
    RuleRun run(c.graph, c.order);
    run.request = c.request;
    run.ApplyAll();
    texts.push_back(PrintGraph(run.graph));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST_P(RuleLaws, ALegalSerialOrderHoldsToTheEnd) {
  // Whatever triggers and sync nodes were asked for, none of them breaks the serial order.
  const Case c(GetParam());
  RuleRun run(c.graph, c.order);
  run.request = c.request;
  run.request.serial_order = c.order;
  run.ApplyAll();
  NodeId last = kNoNode;
  for (NodeId id : c.order) {
    if (!TakesOrderEdges(run.state, id)) continue;
    const bool one_group = last != kNoNode && run.graph.node(id).sync_group > 0 &&
                           run.graph.node(id).sync_group == run.graph.node(last).sync_group;
    if (last != kNoNode && !one_group) {
      EXPECT_TRUE(HasEdge(run.graph, last, id))
          << run.graph.node(last).name << " -> " << run.graph.node(id).name;
    }
    last = id;
  }
}

TEST_P(RuleLaws, OneSwapOutForAnOutput) {
  const Case c(GetParam());
  RuleRun run(c.graph, c.order);
  run.request = c.request;
  run.request.fuse_gap = -1;
  run.ApplyAll();
  std::set<std::pair<NodeId, int32_t>> outs;
  std::set<std::pair<NodeId, int32_t>> ins;  // (swap-out, group)
  for (const Node& node : run.graph.nodes) {
    if (node.role != NodeRole::kSwapOut) continue;
    EXPECT_TRUE(outs.emplace(node.inputs[0].node, node.inputs[0].port).second) << node.name;
  }
  std::map<NodeId, std::pair<NodeId, int32_t>> key_of;
  for (const SwapEdge& edge : run.request.edges) {
    const SwapPair pair = FindPair(run.graph, edge.reader, edge.slot);
    if (pair.in == kNoNode) continue;
    const auto key = std::pair(pair.out, edge.group);
    const auto [it, first] = key_of.emplace(pair.in, key);
    EXPECT_EQ(it->second, key);
    if (!first) continue;
    EXPECT_TRUE(ins.insert(key).second) << run.graph.node(pair.in).name;
  }
}

// Is there a path of one or more edges? Plainly, over the graph's own edges.
bool PathExists(const Graph& graph, NodeId from, NodeId to) {
  const auto group = [&](NodeId id) { return graph.node(id).sync_group; };
  std::vector<bool> seen(graph.nodes.size(), false);
  std::vector<NodeId> open;
  const auto enter = [&](NodeId id) {
    for (NodeId member = 0; member < graph.size(); ++member) {
      const bool same = member == id || (group(id) > 0 && group(member) == group(id));
      if (!same || seen[Index(member)]) continue;
      seen[Index(member)] = true;
      open.push_back(member);
    }
  };
  enter(from);
  const bool was_together = seen[Index(to)];
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (HasEdge(graph, at, id) && !IsBackEdge(graph, at, id)) enter(id);
    }
  }
  return from == to ? false : was_together || seen[Index(to)];
}

TEST_P(RuleLaws, TheKeptOrderKnowsEveryPath) {
  Case c(GetParam());
  RuleRun run(c.graph, c.order);
  run.request = c.request;
  run.ApplyAll();
  for (int i = 0; i < 60; ++i) {
    const NodeId a = c.random.Below(run.graph.size()), b = c.random.Below(run.graph.size());
    EXPECT_EQ(run.state.order->Reaches(a, b), PathExists(run.graph, a, b))
        << run.graph.node(a).name << " to " << run.graph.node(b).name;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RuleLaws, testing::Range<uint64_t>(0, Seeds()));

}  // namespace
}  // namespace tflms
