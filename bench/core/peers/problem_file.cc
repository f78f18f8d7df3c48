// SPDX-License-Identifier: Apache-2.0
//
// Reading what peers are compared on. See problem_file.h.

#include "bench/core/peers/problem_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "src/cost/apply.h"
#include "src/graph/text.h"
#include "src/rewrite/problem_builder.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

ProblemOp OpFrom(const nlohmann::json& object) {
  ProblemOp op;
  op.time_us = object.at("time_us").get<int64_t>();
  op.workspace_bytes = object.value("workspace_bytes", int64_t{0});
  op.repeatable = object.value("repeatable", false);
  return op;
}

ProblemBuffer BufferFrom(const nlohmann::json& object) {
  ProblemBuffer buffer;
  buffer.size_bytes = object.at("size_bytes").get<int64_t>();
  buffer.producer = object.at("producer").get<OpId>();
  buffer.uses = object.at("uses").get<std::vector<OpId>>();
  std::sort(buffer.uses.begin(), buffer.uses.end());
  buffer.uses.erase(std::unique(buffer.uses.begin(), buffer.uses.end()), buffer.uses.end());
  buffer.live_at_end = object.value("live_at_end", false);
  buffer.swappable = object.value("swappable", false);
  buffer.recomputable = object.value("recomputable", false);
  return buffer;
}

Status CheckNumbers(const Problem& problem, const std::vector<std::pair<OpId, OpId>>& edges) {
  for (const ProblemOp& op : problem.ops) {
    if (op.time_us <= 0 || op.workspace_bytes < 0) {
      return InvalidArgument("an op's time_us must be > 0 and its workspace_bytes >= 0");
    }
  }
  const auto is_op = [&](OpId op) { return op >= 0 && Index(op) < problem.ops.size(); };
  for (const auto& [from, to] : edges) {
    if (!is_op(from) || !is_op(to)) {
      return InvalidArgument("edge " + std::to_string(from) + " -> " + std::to_string(to) +
                             " is between ops that do not exist");
    }
  }
  for (const ProblemBuffer& buffer : problem.buffers) {
    if (buffer.size_bytes <= 0) return InvalidArgument("a buffer's size_bytes must be > 0");
    if (!is_op(buffer.producer)) return InvalidArgument("a buffer has no producer");
  }
  return {};
}

}  // namespace

Result<PeerInput> InputFromGraph(Graph graph, const MachineProfile& machine) {
  ApplyCosts(machine, nullptr, 0, &graph);
  const Result<GraphFacts> facts = FindFacts(graph);
  if (!facts.ok()) return facts.status();
  DeviceId accelerator = -1;
  for (size_t id = graph.devices.size(); id-- > 0;) {
    if (graph.devices[id].kind == DeviceKind::kAccelerator) accelerator = static_cast<DeviceId>(id);
  }
  if (accelerator < 0) return InvalidArgument("the graph has no accelerator");
  PeerInput input{BuildProblem(graph, *facts, accelerator).problem, {}};
  for (const Node& node : graph.nodes) {
    input.layers.push_back(node.op.find("Conv") != std::string::npos);
  }
  return input;
}

Result<PeerInput> InputFromJson(std::string_view text) {
  PeerInput input;
  std::vector<std::pair<OpId, OpId>> edges;
  try {
    const nlohmann::json file = nlohmann::json::parse(text);
    input.problem.persistent_bytes = file.value("persistent_bytes", int64_t{0});
    for (const nlohmann::json& op : file.at("ops")) {
      input.problem.ops.push_back(OpFrom(op));
      input.layers.push_back(op.value("layer", false));
    }
    for (const nlohmann::json& buffer : file.at("buffers")) {
      input.problem.buffers.push_back(BufferFrom(buffer));
    }
    if (file.contains("edges")) file.at("edges").get_to(edges);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument(std::string("not a problem: ") + error.what());
  }
  for (const ProblemBuffer& buffer : input.problem.buffers) {
    for (OpId use : buffer.uses) edges.push_back({buffer.producer, use});
  }
  if (Status status = CheckNumbers(input.problem, edges); !status.ok()) return status;
  input.problem.successors.resize(input.problem.ops.size());
  for (const auto& [from, to] : edges) input.problem.successors[Index(from)].push_back(to);
  for (std::vector<OpId>& next : input.problem.successors) {
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
  }
  if (std::find(input.layers.begin(), input.layers.end(), true) == input.layers.end()) {
    input.layers.clear();
  }
  return input;
}

Result<PeerInput> ReadPeerInput(const std::string& path, const MachineProfile& machine) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return InvalidArgument(path + ": cannot be read");
  if (path.ends_with(".json")) return InputFromJson(text.str());
  Result<Graph> graph = ParseGraph(text.str());
  if (!graph.ok()) return graph.status();
  return InputFromGraph(std::move(*graph), machine);
}

}  // namespace tflms
