// SPDX-License-Identifier: Apache-2.0
//
// Adjustments of graphs from files.

#include "src/cli/adjust.h"

#include <algorithm>
#include <array>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "src/base/checked_math.h"
#include "src/graph/laws.h"
#include "src/graph/topology.h"
#include "src/graph/verifier.h"
#include "src/tensorflow/wire.h"

namespace tflms::cli {
namespace {

constexpr std::array<std::string_view, 3> kReshapes = {"Reshape", "Squeeze", "ExpandDims"};

// Operations whose first extent need not be that of their inputs.
constexpr std::array<std::string_view, 36> kChangeExtent = {"Where",
                                                            "Unique",
                                                            "UniqueV2",
                                                            "UniqueWithCounts",
                                                            "Range",
                                                            "Fill",
                                                            "Tile",
                                                            "Concat",
                                                            "ConcatV2",
                                                            "Pack",
                                                            "Unpack",
                                                            "Slice",
                                                            "StridedSlice",
                                                            "StridedSliceGrad",
                                                            "Gather",
                                                            "GatherV2",
                                                            "GatherNd",
                                                            "ScatterNd",
                                                            "Transpose",
                                                            "BroadcastTo",
                                                            "DynamicPartition",
                                                            "DynamicStitch",
                                                            "BatchToSpaceND",
                                                            "SpaceToBatchND",
                                                            "BatchToSpace",
                                                            "SpaceToBatch",
                                                            "Split",
                                                            "SplitV",
                                                            "Pad",
                                                            "PadV2",
                                                            "MirrorPad",
                                                            "OneHot",
                                                            "Sum",
                                                            "TensorListStack",
                                                            "TensorListGetItem",
                                                            "UnsortedSegmentSum"};

template <size_t N>
bool Contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Which outputs of a graph have numbers and an unknown first extent: by node, by port.
using Unknown = std::vector<std::vector<bool>>;

Unknown FindUnknown(const Graph& graph) {
  Unknown unknown(graph.nodes.size());
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    for (const OutputInfo& output : graph.nodes[id].outputs) {
      const std::vector<int64_t>& extents = output.type.shape.extents;
      const bool open =
          !output.type.shape.rank_known || (!extents.empty() && extents[0] == kUnknownExtent);
      unknown[id].push_back(open && IsCopyable(output.type.dtype));
    }
  }
  return unknown;
}

// The one first extent that all inputs have whose own was unknown; the batch for what is fed.
int64_t FirstExtentPassedOn(const Graph& graph, const Node& node, const Unknown& unknown,
                            int64_t batch_size) {
  if (node.inputs.empty()) return node.Has(kSource) ? batch_size : kUnknownExtent;
  if (node.op.starts_with("IteratorGetNext")) return batch_size;
  if (Contains(kChangeExtent, node.op) || node.Has(kControlFlowFlags | kCall)) {
    return kUnknownExtent;
  }
  int64_t passed = kUnknownExtent;
  for (const Input& in : node.inputs) {
    if (!unknown[static_cast<size_t>(in.node)][static_cast<size_t>(in.port)]) continue;
    const std::vector<int64_t>& extents = graph.output(in).type.shape.extents;
    if (extents.empty() || extents[0] == kUnknownExtent) return kUnknownExtent;
    if (passed != kUnknownExtent && passed != extents[0]) return kUnknownExtent;
    passed = extents[0];
  }
  return passed;
}

// The first extent of a reshape's result that keeps the number of elements; unknown when another
// extent is, or the input's number.
int64_t FirstExtentBySum(const Graph& graph, const Node& node,
                         const std::vector<int64_t>& extents) {
  if (node.inputs.empty()) return kUnknownExtent;
  const std::optional<int64_t> elements = ElementCount(graph.output(node.inputs[0]).type.shape);
  int64_t others = 1;
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i] <= 0) return kUnknownExtent;
    others = SaturatingMul(others, extents[i]);
  }
  return elements && *elements % others == 0 ? *elements / others : kUnknownExtent;
}

}  // namespace

std::string PlaceNodes(std::string_view graph_def, std::string_view device, int64_t* placed) {
  std::string out;
  FieldReader fields(graph_def);
  while (fields.Next()) {
    if (fields.tag() != field::kGraphNode) {
      out.append(fields.raw());
      continue;
    }
    bool has_device = false;
    FieldReader node(fields.Bytes());
    while (node.Next()) {
      if (node.tag() == field::kNodeDevice) has_device = !node.Bytes().empty();
    }
    std::string body(fields.Bytes());
    if (!has_device) {
      ++*placed;
      protozero::pbf_writer(body).add_string(field::kNodeDevice, device.data(), device.size());
    }
    protozero::pbf_writer(out).add_message(field::kGraphNode, body);
  }
  return out;
}

void FillBatch(int64_t batch_size, Graph* graph) {
  if (batch_size <= 0) return;
  const Result<std::vector<NodeId>> order = TopologicalOrder(*graph);
  if (!order.ok()) return;
  const Unknown unknown = FindUnknown(*graph);
  for (NodeId id : *order) {
    Node& node = graph->node(id);
    const int64_t passed = FirstExtentPassedOn(*graph, node, unknown, batch_size);
    for (OutputInfo& output : node.outputs) {
      std::vector<int64_t>& extents = output.type.shape.extents;
      if (extents.empty() || extents[0] != kUnknownExtent) continue;
      extents[0] = Contains(kReshapes, node.op) ? FirstExtentBySum(*graph, node, extents) : passed;
    }
  }
}

void TypeSwapNodes(Graph* graph) {
  for (int pass = 0; pass < 2; ++pass) {  // swap-outs before the swap-ins that read them
    for (Node& node : graph->nodes) {
      const bool swaps = node.role == NodeRole::kSwapOut || node.role == NodeRole::kSwapIn;
      if (!swaps || node.inputs.size() != 1) continue;
      if (node.outputs.size() != 1) continue;
      const TensorType& type = graph->output(node.inputs[0]).type;
      if (type.dtype == node.outputs[0].type.dtype) node.outputs[0].type = type;
    }
  }
}

bool CanErase(const Graph& graph) {
  bool rewritten = false;
  for (const Node& node : graph.nodes) {
    rewritten |= node.role != NodeRole::kOriginal || node.added_controls > 0;
  }
  if (!rewritten || !VerifyGraph(graph).ok()) return false;
  const Graph erased = EraseRewrite(graph);
  return std::all_of(erased.nodes.begin(), erased.nodes.end(), [](const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [](const Input& in) { return in.node != kNoNode; });
  });
}

void RestoreFacts(const Graph& erased, Graph* graph) {
  NodeId next = 0;
  for (Node& node : graph->nodes) {
    if (node.role != NodeRole::kOriginal || next >= erased.size()) continue;
    const Node& from = erased.node(next++);
    if (from.name != node.name || from.inputs.size() != node.inputs.size()) continue;
    Node facts = from;
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      facts.inputs[slot].node = node.inputs[slot].node;
      facts.inputs[slot].port = node.inputs[slot].port;
    }
    facts.control_inputs = node.control_inputs;
    facts.added_controls = node.added_controls;
    facts.cookie = node.cookie;
    facts.device = node.device;
    node = std::move(facts);
  }
  for (Node& node : graph->nodes) {
    if (node.role != NodeRole::kRecompute) continue;
    const Node& source = graph->node(node.clone_of);
    if (source.inputs.size() != node.inputs.size()) continue;
    node.flags = source.flags;
    node.outputs = source.outputs;
  }
}

}  // namespace tflms::cli
