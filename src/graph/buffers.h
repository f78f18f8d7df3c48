// SPDX-License-Identifier: Apache-2.0
//
// Buffers: the pieces of memory behind the outputs of a graph, each under all its names.
//
//   buffer(v, p) = buffer(input k of v)   when output p has alias_of = k and both ends have the
//                                         same device and the same kind of memory
//                = a new buffer           otherwise
//
// Outputs are joined only where they share one buffer for certain. Counting a shared buffer twice
// makes a peak too high, which is safe; counting two buffers once would make it too low. A Merge
// therefore always starts a new buffer, though it forwards one of its inputs, and so does a copy
// between two devices. Cost: O(V + E).

#ifndef TFLMS_GRAPH_BUFFERS_H_
#define TFLMS_GRAPH_BUFFERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "src/graph/graph.h"

namespace tflms {

// Index in BufferTable::buffers.
using BufferIndex = int32_t;

// One output of one node: one name of a buffer.
struct OutputName {
  NodeId node = kNoNode;
  int32_t port = 0;
  friend bool operator==(const OutputName&, const OutputName&) = default;
};

struct Buffer {
  // The output that makes the buffer; the others are its aliases.
  NodeId node = kNoNode;
  int32_t port = 0;
  // Bytes of the root output, or, when those are unknown, of the largest alias of known size.
  // Nothing when no name has a known size.
  std::optional<int64_t> size_bytes;
  DeviceId device = kNoDevice;    // device of the node that makes it
  bool host_memory = false;       // in host memory though `device` is an accelerator
  bool persistent = false;        // some name is persistent: lives as long as the model
  bool ref = false;               // some name is a reference to state
  bool updated = false;           // some consumer writes it in place (an `update` edge)
  bool preserved = false;         // some name belongs to a preserved node: it may be fetched
  std::vector<OutputName> names;  // in topological order, the root first
  // Data inputs that read any of the names, alias nodes among them, ordered by (node, slot).
  // Reader::port is the port of the name that is read.
  std::vector<Reader> readers;
};

struct BufferTable {
  std::vector<Buffer> buffers;  // by topological order of their root
  // Buffer of output (node, port). Both must be in range.
  BufferIndex Of(NodeId node, int32_t port) const {
    return of_[static_cast<size_t>(row_[static_cast<size_t>(node)] + port)];
  }
  const Buffer& at(NodeId node, int32_t port) const {
    return buffers[static_cast<size_t>(Of(node, port))];
  }

  std::vector<int64_t> row_;     // by node: where its outputs begin in of_
  std::vector<BufferIndex> of_;  // by output
};

// Groups the outputs of a graph that VerifyGraph accepts. `order` is a topological order of it.
BufferTable FindBuffers(const Graph& graph, const std::vector<NodeId>& order);

// Positions in an order, both ends included.
struct LiveRange {
  int32_t first = 0;
  int32_t last = 0;
  friend bool operator==(const LiveRange&, const LiveRange&) = default;
};

// Live range of every buffer along `order`, a topological order of all nodes: from its root to the
// last of its names and readers. Persistent buffers live throughout; preserved ones to the end. A
// buffer that enters a loop lives at least as long as the loop, since every iteration may read it.
// O(V + E), with loops O((V + E) log V).
std::vector<LiveRange> LiveRanges(const Graph& graph, const BufferTable& table,
                                  const std::vector<NodeId>& order);

}  // namespace tflms

#endif  // TFLMS_GRAPH_BUFFERS_H_
