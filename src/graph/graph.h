// SPDX-License-Identifier: Apache-2.0
//
// The formal graph: G = (V, E, lambda, tau) of operations, as in arXiv 1807.02037.
//
//   lambda(v) = (op, parameterised?)     Node::op and Node::flags
//   tau(e)    = (action, type)           Input::action and the type of the output it reads
//   delta(v)  = device                   Node::device
//
// An output is a pair (node, port). An edge is (output, consumer, input slot) for data and
// (node, consumer) for control; a node may read the same output twice. A node may run any time
// after all its inputs are there: only edges give order. The edges out of NextIteration nodes
// into Merge nodes are the only ones that may close a cycle.
//
// The graph knows no framework. What an operation means is carried as data: flags on the node,
// and for every output where it lives, whether it persists and which buffers it may share. An
// adapter fills these in (src/tensorflow/op_table.h for TensorFlow); the text form writes them out
// (src/graph/text.h). Plain structs and ids; nothing here owns a pointer to anything else.

#ifndef TFLMS_GRAPH_GRAPH_H_
#define TFLMS_GRAPH_GRAPH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/graph/types.h"

namespace tflms {

using NodeId = int32_t;
using DeviceId = int16_t;
inline constexpr NodeId kNoNode = -1;
inline constexpr DeviceId kNoDevice = -1;

// Every node a rule adds has a name under this prefix, and no other node may.
inline constexpr std::string_view kReservedPrefix = "tflms/";

enum class DeviceKind : uint8_t {
  kAccelerator,  // memory is scarce here
  kHost,         // memory is plentiful here
  kOther,        // neither planned nor used
};

struct Device {
  std::string name;  // as the framework writes it, in full
  DeviceKind kind = DeviceKind::kOther;
  DeviceId host = kNoDevice;  // of an accelerator: the device its swapped tensors go to
  friend bool operator==(const Device&, const Device&) = default;
};

// What lambda(v) says beyond the operation's name. A set of bits.
enum NodeFlag : uint32_t {
  kParameterised = 1u << 0,  // owns or touches persistent state: variable, handle, table, queue
  kSideEffect = 1u << 1,     // must run exactly as often as the graph says: print, assert, assign
  kRandom = 1u << 2,         // draws from a random state
  kSource = 1u << 3,         // has a value without running: constant, placeholder, argument
  kCall = 1u << 4,           // runs a function: its own tensors are not visible here
  kCompiled = 1u << 5,       // belongs to a part a compiler takes over (XLA)
  kSwitch = 1u << 6,         // v1 control flow; output 0 = false side, 1 = true side
  kMerge = 1u << 7,
  kEnter = 1u << 8,
  kExit = 1u << 9,
  kNextIteration = 1u << 10,
  kLoopCond = 1u << 11,
  kCollective = 1u << 12,     // waits for peers on other devices, see Node::sync_group
  kPreserved = 1u << 13,      // fed, fetched or otherwise named from outside
  kPinnedOutside = 1u << 14,  // order edges must not touch it (asynchronous, blocking, send/recv)
  // Its result depends, in the last bit, on which of its inputs nobody else needs when it runs: a
  // sum that starts from the input it may overwrite.
  kPicksInput = 1u << 15,
  // Pure, and gives the same bits when it runs a second time on the same inputs and device.
  kRepeatable = 1u << 16,
  // Pure, and row i of its output, along the first extent, takes of every input that has as many
  // rows only row i, in bits: it may run on some rows at a time.
  kBatchwise = 1u << 17,
};

inline constexpr uint32_t kControlFlowFlags =
    kSwitch | kMerge | kEnter | kExit | kNextIteration | kLoopCond;

// What no node that runs a second time may be.
inline constexpr uint32_t kRunsOnceFlags = kParameterised | kSideEffect | kRandom | kSource |
                                           kCall | kCompiled | kControlFlowFlags | kCollective |
                                           kPreserved | kPinnedOutside | kPicksInput;

// Which rule made a node; kOriginal for the nodes of the input.
enum class NodeRole : uint8_t { kOriginal, kSwapOut, kSwapIn, kRecompute, kSplit };

enum class EdgeAction : uint8_t {
  kRead,    // the value is consumed
  kUpdate,  // the consumer writes the state the edge stands for
};

struct Input {
  NodeId node = kNoNode;
  int32_t port = 0;
  EdgeAction action = EdgeAction::kRead;
  friend bool operator==(const Input&, const Input&) = default;
};

struct OutputInfo {
  TensorType type;
  bool host_memory = false;  // lives on the host though its node runs on the accelerator
  bool persistent = false;   // lives as long as the model: a variable's or a constant's buffer
  int16_t alias_of = -1;     // input slot whose buffer this output always shares, or -1
  // Input slot whose buffer this output takes over when no one else reads it any more (in-place
  // element-wise kernels), or -1. -2: any input of the same size.
  int16_t may_reuse = -1;
  friend bool operator==(const OutputInfo&, const OutputInfo&) = default;
};
inline constexpr int16_t kReuseAny = -2;

struct Node {
  std::string name;
  std::string op;
  DeviceId device = kNoDevice;
  NodeRole role = NodeRole::kOriginal;
  uint32_t flags = 0;
  // For loop nodes: frame named by Enter; filled by the adapter for Enter nodes only.
  std::string frame_name;
  // Nodes of one group > 0 wait for one another while they run (a collective's members).
  // -1: a collective whose peers are not known.
  int32_t sync_group = 0;
  std::vector<Input> inputs;           // data inputs in slot order
  std::vector<NodeId> control_inputs;  // no duplicates; those of the input first, added ones last
  // How many of control_inputs, counted from the end, rules added: what erasing takes away (L6).
  int32_t added_controls = 0;
  std::vector<OutputInfo> outputs;  // by port
  int64_t state_bytes = 0;          // persistent bytes this node owns on its device
  int64_t workspace_bytes = 0;      // device bytes only while it runs
  int64_t time_us = 1;              // estimated run time, >= 0
  int64_t pieces = 1;               // > 1: makes one of so many pieces, see splits.h
  NodeId clone_of = kNoNode;        // of a kRecompute node: the original it runs again
  int64_t cookie = -1;              // the adapter's handle for what the graph does not model

  bool Has(uint32_t any_of) const { return (flags & any_of) != 0; }
  friend bool operator==(const Node&, const Node&) = default;
};

struct Graph {
  std::vector<Device> devices;
  std::vector<Node> nodes;

  int32_t size() const { return static_cast<int32_t>(nodes.size()); }
  Node& node(NodeId id) { return nodes[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  // The kind of the device the node is placed on; kOther when it has none.
  DeviceKind kind_of(NodeId id) const {
    const DeviceId device = node(id).device;
    return device == kNoDevice ? DeviceKind::kOther : devices[static_cast<size_t>(device)].kind;
  }
  const OutputInfo& output(const Input& in) const {
    return node(in.node).outputs[static_cast<size_t>(in.port)];
  }
};

// "name" for port 0 and "name:port" for others, as users write tensors.
std::string TensorName(const Graph& graph, NodeId node, int32_t port);

// Name -> id. O(V).
std::unordered_map<std::string_view, NodeId> IndexByName(const Graph& graph);

// True when the edge closes a loop: NextIteration into Merge.
bool IsBackEdge(const Graph& graph, NodeId from, NodeId to);

// One reader of one output.
struct Reader {
  NodeId node = kNoNode;
  int32_t slot = 0;  // data input slot of `node`
  int32_t port = 0;  // port of the producer that is read
};

// The graph's edges turned round, in compressed rows. Built in O(V + E); valid until the graph
// changes.
class Readers {
 public:
  explicit Readers(const Graph& graph);
  // Data readers of all ports of `node`, ordered by (reader id, slot).
  const Reader* begin(NodeId node) const { return readers_.data() + Row(data_row_, node); }
  const Reader* end(NodeId node) const { return readers_.data() + Row(data_row_, node + 1); }
  // Nodes with a control edge from `node`, ordered by id.
  const NodeId* control_begin(NodeId node) const {
    return control_.data() + Row(control_row_, node);
  }
  const NodeId* control_end(NodeId node) const {
    return control_.data() + Row(control_row_, node + 1);
  }

 private:
  static int64_t Row(const std::vector<int64_t>& rows, NodeId node) {
    return rows[static_cast<size_t>(node)];
  }
  std::vector<int64_t> data_row_, control_row_;
  std::vector<Reader> readers_;
  std::vector<NodeId> control_;
};

}  // namespace tflms

#endif  // TFLMS_GRAPH_GRAPH_H_
