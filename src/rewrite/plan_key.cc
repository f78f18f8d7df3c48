// SPDX-License-Identifier: Apache-2.0
//
// Fingerprints of graphs and problems. Nodes count in the order of their names, and ids as places
// in that order, so that the listing of the nodes does not matter.

#include "src/rewrite/plan_key.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "src/base/fingerprint.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Options that no plan depends on. A new option counts, unless it is put here.
constexpr std::array<std::string_view, 13> kShapeNoPlan = {"device_type",
                                                           "host_device",
                                                           "trigger_strategy",
                                                           "lb",
                                                           "ub",
                                                           "serialization",
                                                           "serialization_bytes",
                                                           "log_level",
                                                           "time_limit_ms",
                                                           "dump_dir",
                                                           "plan",
                                                           "cache_dir",
                                                           "feedback"};

// Nodes by name, and the place of each.
struct ByName {
  std::vector<NodeId> nodes;
  std::vector<int32_t> place;  // by node
};

ByName SortByName(const Graph& graph) {
  ByName sorted;
  sorted.nodes.resize(graph.nodes.size());
  std::iota(sorted.nodes.begin(), sorted.nodes.end(), 0);
  std::sort(sorted.nodes.begin(), sorted.nodes.end(),
            [&](NodeId a, NodeId b) { return graph.node(a).name < graph.node(b).name; });
  sorted.place.resize(graph.nodes.size());
  for (size_t i = 0; i < sorted.nodes.size(); ++i) {
    sorted.place[Index(sorted.nodes[i])] = static_cast<int32_t>(i);
  }
  return sorted;
}

class Hasher {
 public:
  explicit Hasher(const Graph& graph) : graph_(graph), sorted_(SortByName(graph)) {}

  void AddGraph(DeviceId accelerator) {
    hash_.Text(graph_.devices[Index(accelerator)].name);
    for (NodeId id : sorted_.nodes) AddNode(graph_.node(id));
  }

  void AddProblem(const PlanSubject& subject) {
    const Problem& problem = subject.map.problem;
    hash_.Number(problem.persistent_bytes);
    for (NodeId id : sorted_.nodes) {
      const ProblemOp& op = problem.ops[Index(id)];
      for (int64_t value : {op.time_us, op.workspace_bytes, int64_t{op.on_device},
                            int64_t{op.orderable}, int64_t{op.group}, int64_t{op.repeatable}}) {
        hash_.Number(value);
      }
      AddPlaces(problem.successors[Index(id)]);
    }
    AddBuffers(subject);
    std::vector<std::pair<int32_t, int32_t>> pairs;
    for (const auto& [reader, writer] : problem.writes_after_reads) {
      pairs.emplace_back(sorted_.place[Index(reader)], sorted_.place[Index(writer)]);
    }
    std::sort(pairs.begin(), pairs.end());
    hash_.Number(static_cast<int64_t>(pairs.size()));
    for (const auto& [reader, writer] : pairs) {
      hash_.Number(reader);
      hash_.Number(writer);
    }
  }

  Fingerprinter& hash() { return hash_; }

 private:
  void AddPlaces(const std::vector<NodeId>& nodes) {
    std::vector<int32_t> places;
    for (NodeId id : nodes) places.push_back(sorted_.place[Index(id)]);
    std::sort(places.begin(), places.end());
    hash_.Number(static_cast<int64_t>(places.size()));
    for (int32_t place : places) hash_.Number(place);
  }

  void AddNode(const Node& node) {
    hash_.Text(node.name);
    hash_.Text(node.op);
    hash_.Text(node.device == kNoDevice ? std::string() : graph_.devices[Index(node.device)].name);
    for (int64_t value :
         {int64_t{static_cast<uint8_t>(node.role)}, int64_t{node.flags}, int64_t{node.sync_group},
          int64_t{node.added_controls}, node.state_bytes}) {
      hash_.Number(value);
    }
    hash_.Text(node.frame_name);
    hash_.Number(static_cast<int64_t>(node.inputs.size()));
    for (const Input& in : node.inputs) {
      hash_.Number(sorted_.place[Index(in.node)]);
      hash_.Number(in.port);
      hash_.Number(static_cast<uint8_t>(in.action));
    }
    AddPlaces(node.control_inputs);
    hash_.Number(static_cast<int64_t>(node.outputs.size()));
    for (const OutputInfo& out : node.outputs) AddOutput(out);
  }

  void AddOutput(const OutputInfo& out) {
    const Shape& shape = out.type.shape;
    for (int64_t value : {int64_t{static_cast<uint8_t>(out.type.dtype)}, int64_t{out.type.is_ref},
                          int64_t{out.host_memory}, int64_t{out.persistent}, int64_t{out.alias_of},
                          int64_t{out.may_reuse}, int64_t{shape.rank_known},
                          static_cast<int64_t>(shape.extents.size())}) {
      hash_.Number(value);
    }
    for (int64_t extent : shape.extents) hash_.Number(extent);
  }

  // The output that makes a buffer, as (place of the node, port).
  std::pair<int32_t, int32_t> RootOf(const PlanSubject& subject, BufferId id) const {
    const Buffer& root = subject.facts.buffers.buffers[Index(subject.map.graph_buffer[Index(id)])];
    return {sorted_.place[Index(root.node)], root.port};
  }

  void AddBuffers(const PlanSubject& subject) {
    const std::vector<ProblemBuffer>& buffers = subject.map.problem.buffers;
    std::vector<std::pair<std::pair<int32_t, int32_t>, BufferId>> order;
    for (size_t id = 0; id < buffers.size(); ++id) {
      order.emplace_back(RootOf(subject, static_cast<BufferId>(id)), static_cast<BufferId>(id));
    }
    std::sort(order.begin(), order.end());
    hash_.Number(static_cast<int64_t>(order.size()));
    for (const auto& [root, id] : order) {
      const ProblemBuffer& buffer = buffers[Index(id)];
      for (int64_t value :
           {int64_t{root.first}, int64_t{root.second}, buffer.size_bytes,
            int64_t{buffer.live_at_end}, int64_t{buffer.swappable}, int64_t{buffer.recomputable}}) {
        hash_.Number(value);
      }
      AddPlaces(buffer.uses);
      AddPlaces(buffer.holds);
      // The first that qualifies is taken over: their order counts.
      hash_.Number(static_cast<int64_t>(buffer.may_reuse.size()));
      for (BufferId giver : buffer.may_reuse) {
        hash_.Number(RootOf(subject, giver).first);
        hash_.Number(RootOf(subject, giver).second);
      }
    }
  }

  const Graph& graph_;
  const ByName sorted_;
  Fingerprinter hash_;
};

}  // namespace

std::string GraphFingerprint(const Graph& graph, DeviceId accelerator) {
  Hasher hasher(graph);
  hasher.AddGraph(accelerator);
  return hasher.hash().Hex();
}

std::string PlanKey(const PlanSubject& subject, const Options& options,
                    const PlannerOptions& planner_options) {
  Hasher hasher(subject.graph);
  hasher.AddGraph(subject.accelerator);
  hasher.AddProblem(subject);
  Fingerprinter& hash = hasher.hash();
  for (const auto& [name, value] : OptionsThatShapePlans(options)) {
    hash.Text(name);
    hash.Text(value);
  }
  // What these came to, should they follow from more than the options.
  hash.Number(planner_options.budget_bytes);
  hash.Number(planner_options.memory_bytes);
  hash.Number(planner_options.host_bytes);
  hash.Real(planner_options.machine.out_bytes_per_us);
  hash.Real(planner_options.machine.in_bytes_per_us);
  hash.Text(TFLMS_VERSION);
  return hash.Hex();
}

std::vector<std::pair<std::string, std::string>> OptionsThatShapePlans(const Options& options) {
  std::vector<std::pair<std::string, std::string>> shaping;
  for (const OptionInfo& info : OptionTable()) {
    if (std::find(kShapeNoPlan.begin(), kShapeNoPlan.end(), info.name) != kShapeNoPlan.end()) {
      continue;
    }
    shaping.emplace_back(info.name, GetOption(options, info.name));
  }
  return shaping;
}

}  // namespace tflms
