// SPDX-License-Identifier: Apache-2.0
//
// Graph -> GraphDef. See graph_bytes.h.

#include "bench/core/graph_bytes.h"

#include <protozero/pbf_writer.hpp>
#include <string_view>

#include "src/tensorflow/wire.h"

namespace tflms {
namespace {

constexpr int kFloatType = 1;

void AddText(uint32_t tag, std::string_view text, std::string* out) {
  protozero::pbf_writer(*out).add_bytes(tag, text.data(), text.size());
}

void AddFloatType(std::string_view key, std::string* node_def) {
  std::string entry, value;
  AddText(field::kMapKey, key, &entry);
  protozero::pbf_writer(value).add_enum(field::kAttrType, kFloatType);
  AddText(field::kMapValue, value, &entry);
  AddText(field::kNodeAttr, entry, node_def);
}

std::string NodeDefBytes(const Graph& graph, const Node& node) {
  std::string out;
  AddText(field::kNodeName, node.name, &out);
  AddText(field::kNodeOp, node.op, &out);
  for (const Input& in : node.inputs) {
    AddText(field::kNodeInput, TensorName(graph, in.node, in.port), &out);
  }
  for (NodeId from : node.control_inputs) {
    AddText(field::kNodeInput, "^" + graph.node(from).name, &out);
  }
  AddText(field::kNodeDevice, graph.devices[static_cast<size_t>(node.device)].name, &out);
  AddFloatType("T", &out);
  AddFloatType("dtype", &out);
  return out;
}

}  // namespace

std::string GraphDefBytes(const Graph& graph) {
  std::string out;
  for (const Node& node : graph.nodes) AddText(field::kGraphNode, NodeDefBytes(graph, node), &out);
  return out;
}

ImportContext ContextOf(const Graph& graph) {
  ImportContext context;
  for (const Node& node : graph.nodes) {
    for (const OutputInfo& output : node.outputs)
      context.inferred[node.name].push_back(output.type);
    if (node.Has(kPreserved)) context.preserve.insert(node.name);
  }
  return context;
}

}  // namespace tflms
