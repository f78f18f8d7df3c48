// SPDX-License-Identifier: Apache-2.0
//
// Nodes that do not run, and nodes that wait outside of edges. See idle_nodes.h.

#include "src/tensorflow/idle_nodes.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace tflms {
namespace {

constexpr std::array<std::string_view, 8> kTakes = {
    "QueueDequeue", "Unstage",        "MapUnstage",      "OrderedMapUnstage",
    "StagePeek",    "OrderedMapPeek", "BarrierTakeMany", "MapPeek"};
constexpr std::array<std::string_view, 6> kPuts = {
    "QueueEnqueue", "QueueClose", "Stage", "MapStage", "OrderedMapStage", "BarrierInsertMany"};

bool Takes(std::string_view op) {
  return std::any_of(kTakes.begin(), kTakes.end(),
                     [&](std::string_view prefix) { return op.starts_with(prefix); });
}

bool Puts(std::string_view op) {
  return !Takes(op) && std::any_of(kPuts.begin(), kPuts.end(), [&](std::string_view prefix) {
    return op.starts_with(prefix) && !op.ends_with("Size") && !op.ends_with("Clear");
  });
}

// Names a function whose bytes hold one of the words; op names stand in them as they are.
template <size_t n>
std::string FunctionWith(const GraphDefImport& import,
                         const std::array<std::string_view, n>& words) {
  for (const LibraryFunction& function : import.functions) {
    for (std::string_view word : words) {
      // "Stage" is part of too many other words.
      if (word == "Stage" || function.bytes.find(word) == std::string_view::npos) continue;
      return std::string(function.name);
    }
  }
  return "";
}

}  // namespace

void KeepIdleNodesOut(const std::unordered_set<std::string>& fetched, Graph* graph) {
  const bool is_body = std::any_of(graph->nodes.begin(), graph->nodes.end(), [](const Node& node) {
    return node.op == "_Retval" || node.op == "_DeviceRetval" || node.op == "_Arg";
  });
  if (fetched.empty() || is_body) return;
  std::vector<bool> needed(graph->nodes.size(), false);
  std::vector<NodeId> open;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (fetched.contains(graph->node(id).name)) open.push_back(id);
  }
  if (open.empty()) return;
  for (NodeId id : open) needed[static_cast<size_t>(id)] = true;
  std::vector<bool> seen = needed;
  while (!open.empty()) {
    const NodeId id = open.back();
    const Node& node = graph->node(id);
    open.pop_back();
    if (node.Has(kPreserved) && !fetched.contains(node.name)) {
      needed[static_cast<size_t>(id)] = false;  // fed: its value comes from outside
      continue;
    }
    const auto visit = [&](NodeId from) {
      if (!seen[static_cast<size_t>(from)]) open.push_back(from);
      seen[static_cast<size_t>(from)] = needed[static_cast<size_t>(from)] = true;
    };
    for (const Input& in : node.inputs) visit(in.node);
    for (NodeId from : node.control_inputs) visit(from);
  }
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!needed[static_cast<size_t>(id)]) graph->node(id).flags |= kPinnedOutside;
  }
}

std::optional<std::string> FindMeeting(const GraphDefImport& import) {
  std::string takes, puts;
  bool calls = false;
  for (const Node& node : import.graph.nodes) {
    if (takes.empty() && Takes(node.op)) takes = node.name;
    if (puts.empty() && Puts(node.op)) puts = node.name;
    calls = calls || node.Has(kCall);
  }
  if (calls && takes.empty()) takes = FunctionWith(import, kTakes);
  if (calls && puts.empty()) puts = FunctionWith(import, kPuts);
  if (takes.empty() || puts.empty()) return std::nullopt;
  return "`" + takes + "` waits for what `" + puts +
         "` puts in, outside of the graph's edges: order edges could make them wait for one "
         "another "
         "for ever; run them in steps of their own";
}

}  // namespace tflms
