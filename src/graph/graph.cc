// SPDX-License-Identifier: Apache-2.0
//
// Names, the name index and the reversed edges of a graph.

#include "src/graph/graph.h"

namespace tflms {

std::string TensorName(const Graph& graph, NodeId node, int32_t port) {
  const std::string& name = graph.node(node).name;
  return port == 0 ? name : name + ":" + std::to_string(port);
}

std::unordered_map<std::string_view, NodeId> IndexByName(const Graph& graph) {
  std::unordered_map<std::string_view, NodeId> index;
  index.reserve(graph.nodes.size());
  for (NodeId id = 0; id < graph.size(); ++id) index.emplace(graph.node(id).name, id);
  return index;
}

bool IsBackEdge(const Graph& graph, NodeId from, NodeId to) {
  return graph.node(from).Has(kNextIteration) && graph.node(to).Has(kMerge);
}

Readers::Readers(const Graph& graph) {
  const size_t n = graph.nodes.size();
  data_row_.assign(n + 1, 0);
  control_row_.assign(n + 1, 0);
  for (const Node& node : graph.nodes) {
    for (const Input& in : node.inputs) ++data_row_[static_cast<size_t>(in.node) + 1];
    for (NodeId from : node.control_inputs) ++control_row_[static_cast<size_t>(from) + 1];
  }
  for (size_t i = 0; i < n; ++i) {
    data_row_[i + 1] += data_row_[i];
    control_row_[i + 1] += control_row_[i];
  }
  readers_.resize(static_cast<size_t>(data_row_[n]));
  control_.resize(static_cast<size_t>(control_row_[n]));
  std::vector<int64_t> data_next = data_row_;
  std::vector<int64_t> control_next = control_row_;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const Input& in = node.inputs[slot];
      const int64_t at = data_next[static_cast<size_t>(in.node)]++;
      readers_[static_cast<size_t>(at)] = {id, static_cast<int32_t>(slot), in.port};
    }
    for (NodeId from : node.control_inputs) {
      const int64_t at = control_next[static_cast<size_t>(from)]++;
      control_[static_cast<size_t>(at)] = id;
    }
  }
}

}  // namespace tflms
