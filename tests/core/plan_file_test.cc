// SPDX-License-Identifier: Apache-2.0
//
// Plans as files: what is written is what is read, damage is an error and never a crash, and a plan
// that does not fit a graph says what is in the way.

#include "src/rewrite/plan_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "src/base/fingerprint.h"
#include "src/planners/order.h"
#include "src/rewrite/named_plan.h"
#include "src/sim/clones.h"
#include "tests/core/plan_file_helpers.h"
#include "tests/core/random_graph.h"

namespace tflms {
namespace {

// The same graph with its nodes listed in another order.
Graph Shuffled(const Graph& graph, uint64_t seed) {
  std::vector<NodeId> to(graph.nodes.size());
  std::iota(to.begin(), to.end(), 0);
  Random random(seed);
  random.Shuffle(&to);
  Graph out;
  out.devices = graph.devices;
  out.nodes.resize(graph.nodes.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    Node node = graph.node(id);
    for (Input& in : node.inputs) in.node = to[static_cast<size_t>(in.node)];
    for (NodeId& from : node.control_inputs) from = to[static_cast<size_t>(from)];
    out.node(to[static_cast<size_t>(id)]) = std::move(node);
  }
  return out;
}

// A clone of every repeatable op, right before its last reader, which reads it.
Plan WithClones(const Problem& problem) {
  Plan plan{MakeOrder(problem, OrderPolicy::kReadyFirst), true, {}};
  std::vector<int32_t> position = Positions(plan.order);
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    if (!buffer.recomputable || buffer.uses.empty()) continue;
    const OpId reader =
        *std::max_element(buffer.uses.begin(), buffer.uses.end(), [&](OpId a, OpId b) {
          return position[static_cast<size_t>(a)] < position[static_cast<size_t>(b)];
        });
    plan.clone_reads.push_back(
        {static_cast<BufferId>(id), reader, static_cast<int32_t>(plan.clones.size())});
    plan.clones.push_back(buffer.producer);
  }
  plan.order = MakeOrder(Expand(problem, plan).problem, OrderPolicy::kReadyFirst);
  return plan;
}

TEST(Fingerprint, KnownValues) {
  Fingerprinter empty, a, foobar;
  a.Bytes("a");
  foobar.Bytes("foobar");
  EXPECT_EQ(empty.Hex(), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(a.Hex(), "d228cb696f1a8caf78912b704e4a8964");
  EXPECT_EQ(foobar.Hex(), "343e1662793c64bf6f0d3597ba446f18");
}

TEST(PlanKeys, ListingDoesNotMatterAndContentDoes) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const PlanCase c = CaseOf(RandomGraph(seed));
    const PlanCase shuffled = CaseOf(Shuffled(c.graph, seed + 1));
    EXPECT_EQ(GraphFingerprint(c.graph, 0), GraphFingerprint(shuffled.graph, 0)) << seed;
    EXPECT_EQ(PlanKey(c.subject(), Budget(), {}), PlanKey(shuffled.subject(), Budget(), {}))
        << seed;
  }
}

TEST(PlanKeys, EveryPartOfANodeCounts) {
  const Graph graph = Network();
  std::map<std::string, std::string> seen = {{GraphFingerprint(graph, 0), "nothing"}};
  const auto differs = [&](const std::string& what, const auto& change) {
    Graph changed = graph;
    change(&changed.nodes[4]);
    const auto [at, fresh] = seen.emplace(GraphFingerprint(changed, 0), what);
    EXPECT_TRUE(fresh) << what << " as " << at->second;
  };
  differs("name", [](Node* node) { node->name = "other"; });
  differs("op", [](Node* node) { node->op = "Other"; });
  differs("device", [](Node* node) { node->device = 1; });
  differs("flags", [](Node* node) { node->flags |= kRandom; });
  differs("group", [](Node* node) { node->sync_group = 3; });
  differs("input", [](Node* node) { node->inputs[0].node = 1; });
  differs("action", [](Node* node) { node->inputs[0].action = EdgeAction::kUpdate; });
  differs("control input", [](Node* node) { node->control_inputs.push_back(0); });
  differs("state", [](Node* node) { node->state_bytes = 7; });
  differs("shape", [](Node* node) { node->outputs[0].type.shape.extents[0] = 5; });
  differs("dtype", [](Node* node) { node->outputs[0].type.dtype = DataType::kInt32; });
  differs("host memory", [](Node* node) { node->outputs[0].host_memory = true; });
  differs("persistent", [](Node* node) { node->outputs[0].persistent = true; });
  differs("alias", [](Node* node) { node->outputs[0].alias_of = 0; });
  differs("reuse", [](Node* node) { node->outputs[0].may_reuse = 0; });
  Graph same = graph;
  same.nodes[4].cookie = 99;
  EXPECT_TRUE(seen.contains(GraphFingerprint(same, 0))) << "a handle is no part of the graph";
}

TEST(PlanKeys, TimesAndShapingOptionsCountInTheKeyOnly) {
  const PlanCase c = CaseOf(Network());
  const std::string key = PlanKey(c.subject(), Budget(), {});
  Options options = Budget();
  options.log_level = "debug";
  options.time_limit_ms = 5;
  options.dump_dir = "somewhere";
  EXPECT_EQ(PlanKey(c.subject(), options, {}), key);
  options.n_tensors = 3;
  EXPECT_NE(PlanKey(c.subject(), options, {}), key);
  PlannerOptions faster;
  faster.machine.out_bytes_per_us = 10;
  EXPECT_NE(PlanKey(c.subject(), Budget(), faster), key);
  Graph slow = Network();
  slow.nodes[4].time_us = 1000;
  const PlanCase changed = CaseOf(slow);
  EXPECT_NE(PlanKey(changed.subject(), Budget(), {}), key);
  EXPECT_EQ(GraphFingerprint(slow, 0), GraphFingerprint(c.graph, 0));
}

TEST(PlanFile, WhatIsWrittenIsRead) {
  int swaps = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Options options;
    options.min_swap_bytes = 0;
    const PlanCase c = CaseOf(RandomGraph(seed));
    const Plan plan = PlanOf(c, options);
    swaps += static_cast<int>(plan.swaps.size());
    const NamedPlan named = NamePlan(c.subject(), plan, "random", options, Machine());
    const Result<std::vector<NamedPlan>> read = ParsePlanFile(FileText(named));
    ASSERT_TRUE(read.ok()) << seed << ": " << read.status().message();
    ASSERT_EQ(read->size(), 1u);
    // Options come back in the order of their names.
    NamedPlan sorted = named;
    std::sort(sorted.options.begin(), sorted.options.end());
    EXPECT_EQ(read->front(), sorted) << seed;
    const Result<Plan> again = PlanFromNames(c.subject(), read->front());
    ASSERT_TRUE(again.ok()) << seed << ": " << again.status().message();
    EXPECT_EQ(*again, plan) << seed;
    // In another listing of the nodes the ids differ, and the names do not.
    const PlanCase shuffled = CaseOf(Shuffled(c.graph, seed));
    const Result<Plan> there = PlanFromNames(shuffled.subject(), read->front());
    ASSERT_TRUE(there.ok()) << seed << ": " << there.status().message();
    EXPECT_EQ(PlannedMemory(shuffled.map.problem, *there).peak_bytes,
              PlannedMemory(c.map.problem, plan).peak_bytes);
  }
  EXPECT_GT(swaps, 30);
}

TEST(PlanFile, ClonesToo) {
  PlanCase c = CaseOf(Network());
  for (ProblemOp& op : c.map.problem.ops) op.repeatable = op.orderable;
  for (ProblemBuffer& buffer : c.map.problem.buffers) {
    buffer.recomputable = c.map.problem.ops[static_cast<size_t>(buffer.producer)].repeatable;
  }
  Plan plan = WithClones(c.map.problem);
  ASSERT_GT(plan.clones.size(), 5u);
  ASSERT_EQ(CheckPlan(c.map.problem, plan), "");
  const NamedPlan named = NamePlan(c.subject(), plan, "g", Budget(), Machine());
  const Result<std::vector<NamedPlan>> read = ParsePlanFile(FileText(named));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Result<Plan> again = PlanFromNames(c.subject(), read->front());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, plan);
}

TEST(PlanFile, AnythingCutOffIsAnError) {
  const std::string text = FileText(NetworkPlan());
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    ASSERT_FALSE(ParsePlanFile(text.substr(0, size)).ok()) << size;
  }
}

TEST(PlanFile, DamageIsAnErrorOrAPlanThatIsChecked) {
  const PlanCase c = CaseOf(Network());
  const std::string text = FileText(NetworkPlan());
  const std::string marks = "{}[]\",:0123456789-.eEtfn\\ \x01\xff";
  Random random(7);
  int parsed = 0, fit = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (int i = 1 + random.Below(3); i > 0; --i) {
      const auto at = static_cast<size_t>(random.Below(static_cast<int32_t>(damaged.size())));
      const char mark =
          marks[static_cast<size_t>(random.Below(static_cast<int32_t>(marks.size())))];
      if (random.Percent(60)) {
        damaged[at] = mark;
      } else if (random.Percent(50)) {
        damaged.erase(at, static_cast<size_t>(1 + random.Below(40)));
      } else {
        damaged.insert(at, 1, mark);
      }
    }
    const Result<std::vector<NamedPlan>> plans = ParsePlanFile(damaged);
    if (!plans.ok()) continue;
    for (const NamedPlan& named : *plans) {
      ++parsed;
      const Result<Plan> plan = PlanFromNames(c.subject(), named);
      if (!plan.ok()) continue;
      ++fit;
      ASSERT_EQ(CheckPlan(c.map.problem, *plan), "");
    }
  }
  EXPECT_GT(parsed, 100);
  EXPECT_GT(fit, 10);
  EXPECT_LT(fit, parsed);
}

std::string ErrorOf(const std::string& text) {
  const Result<std::vector<NamedPlan>> plans = ParsePlanFile(text);
  return plans.ok() ? "read" : plans.status().message();
}

std::string Replaced(const std::string& was, const std::string& is) {
  std::string text = FileText(NetworkPlan());
  const size_t at = text.find(was);
  EXPECT_NE(at, std::string::npos) << was;
  return text.replace(at, was.size(), is);
}

TEST(PlanFile, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(ErrorOf(Replaced("\"format\": 1", "\"format\": 2")),
            "format: expected 1, found 2; the file is of another version of tflms");
  EXPECT_NE(ErrorOf("[]").find("expected a plan file"), std::string::npos);
  EXPECT_NE(ErrorOf(R"({"graphs": []})").find("no `format`"), std::string::npos);
  EXPECT_EQ(ErrorOf(Replaced("\"pin_order\": true", "\"pin_order\": 1")),
            "plans[0].pin_order: expected true or false, found 1");
  EXPECT_EQ(ErrorOf(Replaced("\"budget_bytes\"", "\"budget\"")),
            "plans[0]: `budget_bytes` is missing");
  const std::string range = "a whole number from 0 to 9223372036854775807";
  for (const std::string bad : {"1e9", "-1", "1.5", "18446744073709551615", "\"1\"", "null"}) {
    EXPECT_EQ(ErrorOf(Replaced("\"stall_us\":0", "\"stall_us\":" + bad)).substr(0, 89),
              "plans[0].predicted.stall_us: expected " + range + ", found");
  }
  EXPECT_EQ(ErrorOf(Replaced("\"leave_after\":\"", "\"leave_after\":{\"clone\":0},\"was\":\"")),
            "plans[0].swaps[0].leave_after.clone: expected no clone, since `clones` is empty, "
            "found 0");
}

TEST(PlanFile, DeepAndHugeTextsAreRefused) {
  EXPECT_NE(ErrorOf(std::string(1 << 20, '[')).find("deep"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(kMaxPlanFileBytes + 1, ' ')).find("at most"), std::string::npos);
  EXPECT_NE(ErrorOf(R"({"format": 1, "plans": "[[[[[[[[[[[[[[[[[[[["})").find("no list"),
            std::string::npos);
}

std::string WhyNot(const Graph& graph, NamedPlan named = NetworkPlan()) {
  const PlanCase c = CaseOf(graph);
  const Result<Plan> plan = PlanFromNames(c.subject(), named);
  return plan.ok() ? "it fits" : plan.status().message();
}

TEST(PlanFit, SaysWhatIsInTheWay) {
  EXPECT_EQ(WhyNot(Network()), "it fits");
  EXPECT_EQ(WhyNot(Network("f3 = Layer(f2) : f32[262144]", "f3 = Layer(f2) : f32[262145]")),
            "tensor `f3:0` has 1048580 bytes, and had 1048576 when the plan was made");
  EXPECT_EQ(WhyNot(Network("f0 = Layer(x)", "e0 = Layer(x) : f32[4]\nf0 = Layer(x)")),
            "the graph has operation `e0`, which the plan has not");
  NamedPlan more = NetworkPlan();
  more.order.push_back({"gone", -1, false});
  EXPECT_EQ(WhyNot(Network(), more), "the graph has no operation `gone`");
  NamedPlan elsewhere = NetworkPlan();
  elsewhere.device = "/device:GPU:7";
  EXPECT_EQ(WhyNot(Network(), elsewhere), "it is for /device:GPU:7, not gpu");
  NamedPlan late = NetworkPlan();
  late.swaps[0].trigger = late.swaps[0].back_for;
  EXPECT_NE(WhyNot(Network(), late).find("trigger-inside"), std::string::npos)
      << WhyNot(Network(), late);
  NamedPlan clone = NetworkPlan();
  clone.clones = {"f1"};
  EXPECT_EQ(WhyNot(Network(), clone), "operation `f1` may not run a second time");
}

TEST(PlanFit, HostOperationsMayComeAndGo) {
  const Graph graph = Network("f0 = Layer(x)", "h = Note : f32[4] @cpu\nf0 = Layer(x)");
  EXPECT_EQ(WhyNot(graph), "it fits");
}

}  // namespace
}  // namespace tflms
