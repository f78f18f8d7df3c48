// SPDX-License-Identifier: Apache-2.0
//
// Values of symbolic extents. See symbols.h.

#include "src/tensorflow/symbols.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/checked_math.h"

namespace tflms {
namespace {

// Operations that hand a step what it is fed.
bool IsFed(std::string_view op) {
  return op.starts_with("IteratorGetNext") || op.starts_with("MultiDeviceIteratorGetNext") ||
         op.starts_with("Placeholder") || op == "_Arg" || op == "_DeviceArg" ||
         op == "OptionalGetValue" || op.starts_with("QueueDequeue");
}

bool IsReshape(std::string_view op) {
  return op == "Reshape" || op == "Squeeze" || op == "ExpandDims";
}

class Solver {
 public:
  explicit Solver(Graph* graph) : graph_(*graph) {}

  void TellBatch(int64_t batch_size) {
    for (Node& node : graph_.nodes) {
      if (!IsFed(node.op)) continue;
      for (OutputInfo& output : node.outputs) {
        std::vector<int64_t>& extents = output.type.shape.extents;
        if (extents.empty() || extents[0] >= 0) continue;
        if (extents[0] == kUnknownExtent) {
          extents[0] = batch_size;
        } else {
          value_.try_emplace(extents[0], batch_size);
        }
      }
    }
  }

  // One pass over all reshapes; true when a symbol got its value.
  bool SolveReshapes() {
    bool solved = false;
    for (Node& node : graph_.nodes) {
      if (!IsReshape(node.op) || node.inputs.empty() || node.outputs.empty()) continue;
      Shape& in = graph_.node(node.inputs[0].node)
                      .outputs[static_cast<size_t>(node.inputs[0].port)]
                      .type.shape;
      Shape& out = node.outputs[0].type.shape;
      solved = Solve(in, &out) || Solve(out, &in) || solved;
    }
    return solved;
  }

  void Replace() {
    for (Node& node : graph_.nodes) {
      for (OutputInfo& output : node.outputs) {
        for (int64_t& extent : output.type.shape.extents) extent = ValueOf(extent);
      }
    }
  }

 private:
  // The extent as a number, or kUnknownExtent.
  int64_t ValueOf(int64_t extent) const {
    if (extent >= kUnknownExtent) return extent;
    const auto found = value_.find(extent);
    return found == value_.end() ? kUnknownExtent : found->second;
  }

  std::optional<int64_t> Count(const Shape& shape) const {
    if (!shape.rank_known) return std::nullopt;
    int64_t count = 1;
    for (int64_t extent : shape.extents) {
      const int64_t value = ValueOf(extent);
      if (value < 0) return std::nullopt;
      count = SaturatingMul(count, value);
    }
    return count;
  }

  // `open` has as many elements as `known`: gives its one open extent the value that follows.
  bool Solve(const Shape& known, Shape* open) {
    const std::optional<int64_t> count = Count(known);
    if (!count || *count <= 0 || !open->rank_known) return false;
    int64_t others = 1;
    int64_t* unknown = nullptr;
    for (int64_t& extent : open->extents) {
      const int64_t value = ValueOf(extent);
      if (value >= 0) {
        others = SaturatingMul(others, value);
      } else if (unknown != nullptr) {
        return false;
      } else {
        unknown = &extent;
      }
    }
    if (unknown == nullptr || others <= 0 || *count % others != 0) return false;
    const int64_t value = *count / others;
    if (*unknown == kUnknownExtent) {
      *unknown = value;  // no symbol: known at this place only
    } else {
      value_.emplace(*unknown, value);
    }
    return true;
  }

  Graph& graph_;
  std::unordered_map<int64_t, int64_t> value_;  // by symbol
};

}  // namespace

void ResolveSymbols(int64_t batch_size, Graph* graph) {
  Solver solver(graph);
  if (batch_size > 0) solver.TellBatch(batch_size);
  while (solver.SolveReshapes()) {
  }
  solver.Replace();
}

}  // namespace tflms
