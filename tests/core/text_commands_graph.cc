// SPDX-License-Identifier: Apache-2.0
//
// Text commands on the graph itself: print, verify, levels, buffers, erase.

#include "src/base/text.h"
#include "src/graph/buffers.h"
#include "src/graph/laws.h"
#include "src/graph/text.h"
#include "src/graph/topology.h"
#include "src/graph/verifier.h"
#include "tests/core/text_commands.h"

namespace tflms {
namespace {

std::string BufferLine(const Graph& graph, const Buffer& buffer, const LiveRange& range,
                       const std::vector<NodeId>& order) {
  const auto name_at = [&](int32_t p) { return graph.node(order[static_cast<size_t>(p)]).name; };
  std::string line = TensorName(graph, buffer.node, buffer.port) +
                     " bytes=" + (buffer.size_bytes ? std::to_string(*buffer.size_bytes) : "?") +
                     " live=" + name_at(range.first) + ".." + name_at(range.last);
  std::string aliases;
  for (size_t i = 1; i < buffer.names.size(); ++i) {
    aliases += (i == 1 ? " aliases=" : ",") +
               TensorName(graph, buffer.names[i].node, buffer.names[i].port);
  }
  line += aliases;
  if (graph.kind_of(buffer.node) != DeviceKind::kAccelerator) line += " elsewhere";
  if (buffer.host_memory) line += " host";
  if (buffer.persistent) line += " persistent";
  if (buffer.ref) line += " ref";
  if (buffer.updated) line += " updated";
  if (buffer.preserved) line += " preserved";
  return line;
}

}  // namespace

// Also checks that the canonical form is one: printed again it is the same.
Result<Lines> PrintCommand(const Graph& graph, RunArgs*, TextState*) {
  const std::string text = PrintGraph(graph);
  TFLMS_ASSIGN_OR_RETURN(const Graph again, ParseGraph(text));
  if (again.nodes != graph.nodes || again.devices != graph.devices) {
    return InternalError("the canonical form reads as another graph");
  }
  return GraphLines(graph);
}

Result<Lines> VerifyCommand(const Graph& graph, RunArgs*, TextState*) {
  const Status status = VerifyGraph(graph);
  return Lines{status.ok() ? "ok" : status.message()};
}

Result<Lines> LevelsCommand(const Graph& graph, RunArgs*, TextState*) {
  TFLMS_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph));
  const std::vector<int32_t> level = Levels(graph, order);
  const Contexts contexts = FindContexts(graph, order);
  Lines lines;
  for (NodeId id : order) {
    const auto index = static_cast<size_t>(id);
    std::string line = graph.node(id).name + " level=" + std::to_string(level[index]);
    if (contexts.frame[index] != 0) line += " frame=" + std::to_string(contexts.frame[index]);
    if (contexts.conditional[index]) line += " conditional";
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<Lines> BuffersCommand(const Graph& graph, RunArgs*, TextState*) {
  TFLMS_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph));
  const BufferTable table = FindBuffers(graph, order);
  const std::vector<LiveRange> ranges = LiveRanges(graph, table, order);
  Lines lines;
  for (size_t i = 0; i < table.buffers.size(); ++i) {
    lines.push_back(BufferLine(graph, table.buffers[i], ranges[i], order));
  }
  return lines;
}

Result<Lines> EraseCommand(const Graph& graph, RunArgs*, TextState*) {
  const Graph erased = EraseRewrite(graph);
  TFLMS_RETURN_IF_ERROR(VerifyRewrite(erased, graph));
  return GraphLinesAfter(graph, erased);
}

}  // namespace tflms
