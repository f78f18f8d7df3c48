// SPDX-License-Identifier: Apache-2.0
//
// Which operations may run a second time. See repeatable.h.

#include "src/rewrite/repeatable.h"

#include <algorithm>
#include <optional>

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// A tensor from another device that is at most this large may stay for a second run: a rate, a
// shape.
constexpr int64_t kFewBytes = 256;

class Marker {
 public:
  Marker(const Graph& graph, const GraphFacts& facts, const Filters& filters,
         const std::vector<BufferId>& problem_buffer, ProblemMap* map)
      : graph_(graph),
        facts_(facts),
        filters_(filters),
        problem_buffer_(problem_buffer),
        problem_(map->problem),
        graph_buffer_(map->graph_buffer) {}

  void Run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      problem_.ops[Index(id)].repeatable = Repeatable(id);
    }
    for (size_t id = 0; id < problem_.buffers.size(); ++id) {
      const Buffer& buffer = facts_.buffers.buffers[Index(graph_buffer_[id])];
      problem_.buffers[id].recomputable = Recomputable(buffer, problem_.buffers[id].uses);
    }
  }

 private:
  bool InRoot(NodeId id) const {
    return facts_.contexts.frame[Index(id)] == 0 && !facts_.contexts.conditional[Index(id)];
  }

  bool DecidesASum(const Buffer& buffer) const {
    return std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](const Reader& reader) {
      return graph_.node(reader.node).Has(kPicksInput);
    });
  }

  // Handles and lists of tensors stand for more than their own bytes.
  static bool IsPlain(const OutputInfo& output) {
    return IsCopyable(output.type.dtype) && !output.type.is_ref;
  }

  // True when the tensor that `reader` reads is there later, and is the same then.
  bool StaysInReach(NodeId reader, const Input& in) const {
    const BufferIndex index = facts_.buffers.Of(in.node, in.port);
    const Buffer& buffer = facts_.buffers.buffers[Index(index)];
    const OutputInfo& output = graph_.output(in);
    if (in.action != EdgeAction::kRead || buffer.ref || buffer.updated || !IsPlain(output) ||
        !InRoot(in.node) || !InRoot(buffer.node)) {
      return false;
    }
    if (graph_.node(in.node).device != graph_.node(reader).device) {
      const std::optional<int64_t> size = SizeBytes(output.type);
      return size && *size <= kFewBytes;
    }
    if (buffer.persistent || output.host_memory || buffer.size_bytes == 0) return true;
    return problem_buffer_[Index(index)] >= 0 && !DecidesASum(buffer);
  }

  bool Repeatable(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!problem_.ops[Index(id)].orderable || !node.Has(kRepeatable) || node.Has(kRunsOnceFlags) ||
        node.role != NodeRole::kOriginal || node.sync_group != 0 || node.pieces > 1) {
      return false;
    }
    const auto known = [](const OutputInfo& output) {
      return IsPlain(output) && !output.persistent &&
             (output.host_memory || SizeBytes(output.type).has_value());
    };
    return std::all_of(node.outputs.begin(), node.outputs.end(), known) &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Input& in) { return StaysInReach(id, in); });
  }

  bool Recomputable(const Buffer& buffer, const std::vector<OpId>& uses) const {
    if (!problem_.ops[Index(buffer.node)].repeatable || buffer.updated || buffer.preserved ||
        DecidesASum(buffer) || !MayLeave(filters_, graph_.node(buffer.node))) {
      return false;
    }
    const bool in_order = std::all_of(uses.begin(), uses.end(),
                                      [&](OpId use) { return problem_.ops[Index(use)].orderable; });
    if (!in_order) return false;
    // Only the second run's own readers are led to it; an alias is run again behind it.
    return std::all_of(buffer.names.begin() + 1, buffer.names.end(), [&](const OutputName& name) {
      const bool has_readers =
          std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](const Reader& reader) {
            const Input& in = graph_.node(reader.node).inputs[Index(reader.slot)];
            return in.node == name.node && in.port == name.port;
          });
      return !has_readers || (problem_.ops[Index(name.node)].repeatable &&
                              graph_.node(name.node).outputs.size() == 1);
    });
  }

  const Graph& graph_;
  const GraphFacts& facts_;
  const Filters& filters_;
  const std::vector<BufferId>& problem_buffer_;
  Problem& problem_;
  const std::vector<BufferIndex>& graph_buffer_;
};

}  // namespace

void MarkRepeatable(const Graph& graph, const GraphFacts& facts, const Filters& filters,
                    const std::vector<BufferId>& problem_buffer, ProblemMap* map) {
  Marker(graph, facts, filters, problem_buffer, map).Run();
}

}  // namespace tflms
