// SPDX-License-Identifier: Apache-2.0
//
// Buffers and their live ranges. See buffers.h for the definition and the cost.

#include "src/graph/buffers.h"

#include <algorithm>

#include "src/graph/topology.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// The input whose buffer output `port` of `id` shares for certain, or null.
const Input* AliasedInput(const Graph& graph, NodeId id, size_t port) {
  const Node& node = graph.node(id);
  const OutputInfo& output = node.outputs[port];
  if (output.alias_of < 0 || node.Has(kMerge)) return nullptr;
  const size_t slot = static_cast<size_t>(output.alias_of);
  if (slot >= node.inputs.size()) return nullptr;
  const Input& in = node.inputs[slot];
  const bool same_memory = graph.node(in.node).device == node.device &&
                           graph.output(in).host_memory == output.host_memory;
  return same_memory ? &in : nullptr;
}

// Takes output `port` of `id` into its buffer as one more name.
void AddName(const Graph& graph, NodeId id, int32_t port, Buffer* buffer) {
  const Node& node = graph.node(id);
  const OutputInfo& output = node.outputs[Index(port)];
  buffer->names.push_back({id, port});
  buffer->persistent |= output.persistent;
  buffer->ref |= output.type.is_ref;
  buffer->preserved |= node.Has(kPreserved);
}

Buffer NewBuffer(const Graph& graph, NodeId id, int32_t port) {
  const Node& node = graph.node(id);
  Buffer buffer;
  buffer.node = id;
  buffer.port = port;
  buffer.device = node.device;
  buffer.host_memory = node.outputs[Index(port)].host_memory;
  return buffer;
}

void SetSize(const Graph& graph, Buffer* buffer) {
  buffer->size_bytes = SizeBytes(graph.node(buffer->node).outputs[Index(buffer->port)].type);
  if (buffer->size_bytes) return;
  for (const OutputName& name : buffer->names) {
    const auto size = SizeBytes(graph.node(name.node).outputs[Index(name.port)].type);
    if (size) buffer->size_bytes = std::max(buffer->size_bytes.value_or(0), *size);
  }
}

// The last position of every frame along `order`, the frames inside it included. Frame 0 is the
// graph outside all loops and has no use here.
std::vector<int32_t> FrameEnds(const Graph& graph, const Contexts& contexts,
                               const std::vector<NodeId>& order) {
  int32_t frames = 1;
  for (int32_t frame : contexts.frame) frames = std::max(frames, frame + 1);
  std::vector<int32_t> end(Index(frames), 0), parent(Index(frames), 0);
  for (size_t position = 0; position < order.size(); ++position) {
    const NodeId id = order[position];
    const int32_t frame = contexts.frame[Index(id)];
    end[Index(frame)] = static_cast<int32_t>(position);
    const Node& node = graph.node(id);
    if (!node.Has(kEnter) || node.inputs.empty()) continue;
    parent[Index(frame)] = contexts.frame[Index(node.inputs.front().node)];
  }
  // Frames are numbered as they are met, so a frame's number is above its parent's.
  for (int32_t frame = frames - 1; frame > 0; --frame) {
    const int32_t above = parent[Index(frame)];
    if (above < frame) end[Index(above)] = std::max(end[Index(above)], end[Index(frame)]);
  }
  return end;
}

// Lengthens the ranges of buffers that an Enter node takes into a loop to the end of the loop.
void ExtendOverLoops(const Graph& graph, const BufferTable& table, const std::vector<NodeId>& order,
                     std::vector<LiveRange>* ranges) {
  const auto is_enter = [](const Node& node) { return node.Has(kEnter); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_enter)) return;
  const Contexts contexts = FindContexts(graph, order);
  const std::vector<int32_t> end = FrameEnds(graph, contexts, order);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!node.Has(kEnter)) continue;
    const int32_t loop_end = end[Index(contexts.frame[Index(id)])];
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      LiveRange& range = (*ranges)[Index(table.Of(id, static_cast<int32_t>(port)))];
      range.last = std::max(range.last, loop_end);
    }
  }
}

}  // namespace

BufferTable FindBuffers(const Graph& graph, const std::vector<NodeId>& order) {
  BufferTable table;
  int64_t outputs = 0;
  for (const Node& node : graph.nodes) {
    table.row_.push_back(outputs);
    outputs += static_cast<int64_t>(node.outputs.size());
  }
  table.of_.assign(static_cast<size_t>(outputs), -1);
  for (NodeId id : order) {
    for (size_t port = 0; port < graph.node(id).outputs.size(); ++port) {
      const Input* in = AliasedInput(graph, id, port);
      BufferIndex index = in == nullptr ? -1 : table.Of(in->node, in->port);
      if (index < 0) {  // no alias, or an alias across a back edge
        index = static_cast<BufferIndex>(table.buffers.size());
        table.buffers.push_back(NewBuffer(graph, id, static_cast<int32_t>(port)));
      }
      table.of_[static_cast<size_t>(table.row_[Index(id)]) + port] = index;
      AddName(graph, id, static_cast<int32_t>(port), &table.buffers[Index(index)]);
    }
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const Input& in = node.inputs[slot];
      Buffer& buffer = table.buffers[Index(table.Of(in.node, in.port))];
      buffer.readers.push_back({id, static_cast<int32_t>(slot), in.port});
      buffer.updated |= in.action == EdgeAction::kUpdate;
    }
  }
  for (Buffer& buffer : table.buffers) SetSize(graph, &buffer);
  return table;
}

std::vector<LiveRange> LiveRanges(const Graph& graph, const BufferTable& table,
                                  const std::vector<NodeId>& order) {
  std::vector<int32_t> position(graph.nodes.size(), 0);
  for (size_t p = 0; p < order.size(); ++p) position[Index(order[p])] = static_cast<int32_t>(p);
  const int32_t end = std::max<int32_t>(0, static_cast<int32_t>(order.size()) - 1);
  std::vector<LiveRange> ranges;
  ranges.reserve(table.buffers.size());
  for (const Buffer& buffer : table.buffers) {
    LiveRange range = {position[Index(buffer.node)], position[Index(buffer.node)]};
    for (const OutputName& name : buffer.names) {
      range.last = std::max(range.last, position[Index(name.node)]);
    }
    for (const Reader& reader : buffer.readers) {
      range.last = std::max(range.last, position[Index(reader.node)]);
    }
    if (buffer.persistent) range.first = 0;
    if (buffer.persistent || buffer.preserved) range.last = end;
    ranges.push_back(range);
  }
  ExtendOverLoops(graph, table, order, &ranges);
  return ranges;
}

}  // namespace tflms
