// SPDX-License-Identifier: Apache-2.0
//
// Random graphs, built scope by scope. See random_graph.h.

#include "tests/core/random_graph.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace tflms {
namespace {

constexpr DeviceId kGpu = 0, kCpu = 1, kOtherGpu = 2;

// A part of the graph whose nodes may read one another: the root, a loop's body, a branch's side.
struct Scope {
  std::vector<Input> values;  // outputs that may be read
  std::vector<NodeId> nodes;  // nodes that control edges may come from
  int32_t depth = 0;
};

class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {
    graph_.devices = {{"/device:GPU:0", DeviceKind::kAccelerator, kCpu},
                      {"/device:CPU:0", DeviceKind::kHost, kNoDevice},
                      {"/device:GPU:1", DeviceKind::kAccelerator, kCpu}};
  }

  Graph Run() {
    Scope root;
    for (int i = 0; i < 2; ++i) Take(AddSource(), &root);
    while (graph_.size() < options_.min_nodes) AddConstruct(&root);
    return Shuffled();
  }

 private:
  void AddConstruct(Scope* scope) {
    int32_t chance = random_.Below(100);
    const auto is = [&](int32_t part) { return (chance -= part) < 0; };
    const bool root = scope->depth == 0;
    if (is(options_.loop) && scope->depth < 2) return AddLoop(scope);
    if (is(options_.branch) && scope->depth < 2) return AddBranch(scope);
    if (is(options_.variable) && root) return AddVariable(scope);
    if (is(options_.collective) && root) return AddCollective(scope);
    if (is(4) && root) return Take(AddSource(), scope);
    Take(AddOp(scope), scope);
  }

  NodeId Add(const std::string& op, std::vector<Input> inputs, size_t outputs, uint32_t flags) {
    Node node;
    node.name = "n" + std::to_string(graph_.size());
    node.op = op;
    node.device = RandomDevice();
    node.flags = flags;
    node.inputs = std::move(inputs);
    node.time_us = 1 + random_.Below(9);
    for (size_t port = 0; port < outputs; ++port) node.outputs.push_back(RandomOutput(node));
    graph_.nodes.push_back(std::move(node));
    return graph_.size() - 1;
  }

  // Opens the node to the scope: all its outputs may be read, control edges may leave it.
  void Take(NodeId id, Scope* scope) {
    for (size_t port = 0; port < graph_.node(id).outputs.size(); ++port) {
      scope->values.push_back({id, static_cast<int32_t>(port)});
    }
    scope->nodes.push_back(id);
  }

  DeviceId RandomDevice() {
    const int32_t at = random_.Below(100);
    if (at < options_.host) return kCpu;
    return at < options_.host + options_.other_accelerator ? kOtherGpu : kGpu;
  }

  OutputInfo RandomOutput(const Node& node) {
    static const std::vector<DataType> kPlain = {DataType::kFloat32, DataType::kFloat32,
                                                 DataType::kFloat16, DataType::kInt64,
                                                 DataType::kBool,    DataType::kUint8};
    OutputInfo output;
    output.type.dtype = random_.Pick(kPlain);
    if (!random_.Percent(8)) {
      output.type.shape = Shape::Known({1 + random_.Below(64), 1 + random_.Below(64)});
      if (random_.Percent(8)) output.type.shape.extents[0] = kUnknownExtent;
    }
    const auto slots = static_cast<int32_t>(node.inputs.size());
    if (slots > 0 && random_.Percent(15)) {
      output.alias_of = static_cast<int16_t>(random_.Below(slots));
    } else if (slots > 0 && random_.Percent(15)) {
      output.may_reuse = static_cast<int16_t>(random_.Below(slots + 1) - 2);
      if (output.may_reuse == -1) output.may_reuse = 0;
    }
    if (random_.Percent(options_.odd_output)) MakeOdd(&output);
    return output;
  }

  void MakeOdd(OutputInfo* output) {
    static const std::vector<DataType> kNotCopyable = {DataType::kResource, DataType::kVariant,
                                                       DataType::kString};
    switch (random_.Below(4)) {
      case 0:
        output->host_memory = true;
        output->type.dtype = DataType::kInt32;
        break;
      case 1:
        output->persistent = true;
        break;
      case 2:
        output->type.is_ref = true;
        break;
      default:
        output->type.dtype = random_.Pick(kNotCopyable);
    }
  }

  // An output of the scope; the latest ones more often than the others.
  Input RandomValue(const Scope& scope) {
    const auto size = static_cast<int32_t>(scope.values.size());
    const int32_t recent = std::min(size, 8);
    const int32_t at = random_.Percent(60) ? size - 1 - random_.Below(recent) : random_.Below(size);
    return scope.values[static_cast<size_t>(at)];
  }

  void AddControls(const Scope& scope, NodeId id) {
    std::vector<NodeId>& controls = graph_.node(id).control_inputs;
    while (random_.Percent(20)) {
      const NodeId from = random_.Pick(scope.nodes);
      if (std::find(controls.begin(), controls.end(), from) == controls.end()) {
        controls.push_back(from);
      }
    }
  }

  NodeId AddSource() { return Add("Source", {}, 1, kSource); }

  NodeId AddOp(Scope* scope) {
    std::vector<Input> inputs;
    // Inside loops and branches a node needs an input from there, or it would not belong to them.
    const int32_t fewest = scope->depth > 0 ? 1 : random_.Percent(95);
    const int32_t count = fewest + (fewest > 0 ? random_.Below(3) : 0);
    for (int32_t i = 0; i < count; ++i) {
      const bool again = !inputs.empty() && random_.Percent(15);
      inputs.push_back(again ? random_.Pick(inputs) : RandomValue(*scope));
      if (random_.Percent(2)) inputs.back().action = EdgeAction::kUpdate;
    }
    const auto outputs = static_cast<size_t>(random_.Percent(75) ? 1 : random_.Below(5));
    static const std::vector<uint32_t> kOdd = {
        kSideEffect, kRandom, kPreserved, kCompiled, kCall, kPinnedOutside, kParameterised};
    const uint32_t flags = random_.Percent(options_.odd_node) ? random_.Pick(kOdd) : 0;
    const NodeId id = Add("Op", std::move(inputs), outputs, flags);
    AddControls(*scope, id);
    return id;
  }

  void AddVariable(Scope* scope) {
    const NodeId handle = Add("VarHandle", {}, 1, kParameterised);
    graph_.node(handle).state_bytes = 64 * (1 + random_.Below(64));
    graph_.node(handle).outputs[0] = {};
    graph_.node(handle).outputs[0].type.dtype = DataType::kResource;
    const NodeId read = Add("ReadVariable", {{handle, 0}}, 1, kParameterised);
    graph_.node(read).outputs[0].persistent = true;
    const Input update = {handle, 0, EdgeAction::kUpdate};
    const NodeId assign = Add("Assign", {update, RandomValue(*scope)}, 0, kParameterised);
    graph_.node(assign).flags |= kSideEffect;
    if (random_.Percent(50)) graph_.node(assign).control_inputs = {read};
    Take(read, scope);
    scope->nodes.push_back(assign);
  }

  void AddCollective(Scope* scope) {
    const int32_t group = random_.Percent(80) ? ++groups_ : -1;
    std::vector<NodeId> members;
    for (DeviceId device : {kGpu, kOtherGpu}) {
      members.push_back(Add("AllReduce", {RandomValue(*scope)}, 1, kCollective));
      graph_.node(members.back()).device = device;
      graph_.node(members.back()).sync_group = group;
    }
    for (NodeId member : members) Take(member, scope);
  }

  // One to four nodes that read `scope`'s values.
  void AddBody(Scope* scope) {
    const int32_t size = graph_.size() + 1 + random_.Below(4);
    do {
      AddConstruct(scope);
    } while (graph_.size() < size);
  }

  void AddBranch(Scope* scope) {
    const Input predicate = RandomValue(*scope);
    const NodeId split = Add("Switch", {RandomValue(*scope), predicate}, 2, kSwitch);
    std::vector<Input> sides;
    for (int32_t side = 0; side < 2; ++side) {
      Scope branch;
      branch.depth = scope->depth + 1;
      branch.values = {{split, side}};
      branch.nodes = {};
      // The first node is there for its side; further nodes may hang on it.
      Take(Add("Op", {{split, side}}, 1, 0), &branch);
      AddBody(&branch);
      sides.push_back(RandomValue(branch));
    }
    Take(Add("Merge", sides, 1, kMerge), scope);
  }

  void AddLoop(Scope* scope) {
    const NodeId enter = Add("Enter", {RandomValue(*scope)}, 1, kEnter);
    graph_.node(enter).frame_name = "loop" + std::to_string(enter);
    const NodeId merge = Add("Merge", {{enter, 0}}, 1, kMerge);
    const NodeId test = Add("Less", {{merge, 0}}, 1, 0);
    const NodeId cond = Add("LoopCond", {{test, 0}}, 1, kLoopCond);
    const NodeId split = Add("Switch", {{merge, 0}, {cond, 0}}, 2, kSwitch);
    Scope body;
    body.depth = scope->depth + 1;
    body.values = {{split, 1}};
    Take(Add("Op", {{split, 1}}, 1, 0), &body);
    AddBody(&body);
    const NodeId next = Add("NextIteration", {RandomValue(body)}, 1, kNextIteration);
    graph_.node(merge).inputs.push_back({next, 0});
    Take(Add("Exit", {{split, 0}}, 1, kExit), scope);
  }

  Graph Shuffled() {
    std::vector<NodeId> new_id(graph_.nodes.size());
    std::iota(new_id.begin(), new_id.end(), 0);
    random_.Shuffle(&new_id);
    Graph result;
    result.devices = graph_.devices;
    result.nodes.resize(graph_.nodes.size());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      Node node = graph_.node(id);
      for (Input& in : node.inputs) in.node = new_id[static_cast<size_t>(in.node)];
      for (NodeId& from : node.control_inputs) from = new_id[static_cast<size_t>(from)];
      result.node(new_id[static_cast<size_t>(id)]) = std::move(node);
    }
    return result;
  }

  Random random_;
  RandomGraphOptions options_;
  Graph graph_;
  int32_t groups_ = 0;
};

}  // namespace

uint64_t Random::Next() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).Run();
}

}  // namespace tflms
