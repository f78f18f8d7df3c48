// SPDX-License-Identifier: Apache-2.0
//
// For tests of rules: building a small graph in a line a node, and running rules on it.
//
//   GraphBuilder b;
//   const NodeId x = b.Source("x");
//   const NodeId u = b.Op("u", {x});
//   RuleRun run(b.graph());
//   run.request.edges = {{.reader = v, .slot = 0}};
//   run.Apply("swap");

#ifndef TFLMS_TESTS_CORE_RULE_HELPERS_H_
#define TFLMS_TESTS_CORE_RULE_HELPERS_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/graph.h"
#include "src/graph/topology.h"
#include "src/rules/rule.h"

namespace tflms {

// Builds graphs with two accelerators (devices 0 and 2) and a host (device 1). Every node has one
// output, f32[1024], unless changed afterwards through node().
class GraphBuilder {
 public:
  static constexpr DeviceId kGpu = 0;
  static constexpr DeviceId kCpu = 1;
  static constexpr DeviceId kGpu2 = 2;

  GraphBuilder() {
    graph_.devices = {{"/device:GPU:0", DeviceKind::kAccelerator, kCpu},
                      {"/device:CPU:0", DeviceKind::kHost, kNoDevice},
                      {"/device:GPU:1", DeviceKind::kAccelerator, kCpu}};
  }

  // A node that reads the given outputs; Op: port 0 of the given nodes.
  NodeId Reading(const std::string& name, const std::vector<Input>& inputs, uint32_t flags = 0,
                 DeviceId device = kGpu) {
    Node node;
    node.name = name;
    node.op = "Op";
    node.device = device;
    node.flags = flags;
    node.inputs = inputs;
    OutputInfo output;
    output.type = {DataType::kFloat32, false, Shape::Known({1024})};
    node.outputs = {output};
    graph_.nodes.push_back(std::move(node));
    return graph_.size() - 1;
  }
  NodeId Op(const std::string& name, const std::vector<NodeId>& inputs, uint32_t flags = 0,
            DeviceId device = kGpu) {
    std::vector<Input> list;
    for (NodeId id : inputs) list.push_back({id, 0, EdgeAction::kRead});
    return Reading(name, list, flags, device);
  }
  NodeId Source(const std::string& name) { return Op(name, {}, kSource); }
  // Nodes `prefix`1 .. `prefix`n, each reading the one before, the first reading `from`. Gives back
  // all of them, `from` first.
  std::vector<NodeId> Chain(const std::string& prefix, NodeId from, int n) {
    std::vector<NodeId> ids = {from};
    for (int i = 1; i <= n; ++i) {
      ids.push_back(Op(prefix + std::to_string(i), {ids.back()}));
    }
    return ids;
  }

  Node& node(NodeId id) { return graph_.node(id); }
  const Graph& graph() const { return graph_; }

 private:
  Graph graph_;
};

// A graph under rewriting with all the state that rules need.
class RuleRun {
 public:
  // `order`: the order to start from; empty: any topological order.
  explicit RuleRun(Graph start, std::vector<NodeId> order = {})
      : before(start), graph(std::move(start)) {
    if (order.empty()) {
      Result<std::vector<NodeId>> found = TopologicalOrder(graph);
      EXPECT_TRUE(found.ok()) << found.status().ToString();
      if (!found.ok()) return;
      order = std::move(found.value());
    }
    kept_order_ = std::make_unique<IncrementalOrder>(graph, order);
    contexts_ = FindContexts(graph, order);
    state = {&graph, kept_order_.get(), Levels(graph, order), &contexts_};
    request.host = GraphBuilder::kCpu;
  }
  RuleRun(const RuleRun&) = delete;
  RuleRun& operator=(const RuleRun&) = delete;

  // Runs one rule, or all of them in catalog order; the test fails when one does.
  RuleEffect Apply(std::string_view rule) {
    const RuleEntry* entry = FindRule(rule);
    EXPECT_NE(entry, nullptr) << rule;
    if (entry == nullptr) return {};
    const Result<RuleEffect> effect = entry->apply(request, &state);
    EXPECT_TRUE(effect.ok()) << rule << ": " << effect.status().ToString();
    return effect.ok() ? effect.value() : RuleEffect{};
  }
  RuleEffect ApplyAll() {
    RuleEffect sum;
    for (const RuleEntry& entry : RuleCatalog()) {
      const RuleEffect effect = Apply(entry.name);
      sum.changes += effect.changes;
      sum.refused += effect.refused;
    }
    return sum;
  }

  NodeId Find(std::string_view name) const {
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (graph.node(id).name == name) return id;
    }
    return kNoNode;
  }
  // Name of what data input `slot` of the node reads, as a user writes it.
  std::string InputName(NodeId id, size_t slot = 0) const {
    const Input& in = graph.node(id).inputs[slot];
    return TensorName(graph, in.node, in.port);
  }
  std::vector<std::string> ControlNames(NodeId id) const {
    std::vector<std::string> names;
    for (NodeId from : graph.node(id).control_inputs) names.push_back(graph.node(from).name);
    return names;
  }
  // Number of nodes that rules have added.
  int32_t Added() const { return graph.size() - before.size(); }

  Graph before;
  Graph graph;
  SwapRequest request;
  RewriteState state;

 private:
  std::unique_ptr<IncrementalOrder> kept_order_;
  Contexts contexts_;
};

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_RULE_HELPERS_H_
