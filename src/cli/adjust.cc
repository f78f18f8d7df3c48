// SPDX-License-Identifier: Apache-2.0
//
// Adjustments of graphs from files.

#include "src/cli/adjust.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "src/graph/laws.h"
#include "src/graph/verifier.h"
#include "src/tensorflow/wire.h"

namespace tflms::cli {

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
  for (Node& node : graph->nodes) {
    for (OutputInfo& output : node.outputs) {
      std::vector<int64_t>& extents = output.type.shape.extents;
      if (!extents.empty() && extents[0] == kUnknownExtent) extents[0] = batch_size;
    }
  }
}

void TypeSwapNodes(Graph* graph) {
  for (int pass = 0; pass < 2; ++pass) {  // swap-outs before the swap-ins that read them
    for (Node& node : graph->nodes) {
      if (node.role == NodeRole::kOriginal || node.inputs.size() != 1) continue;
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
}

}  // namespace tflms::cli
