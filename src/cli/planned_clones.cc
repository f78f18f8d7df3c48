// SPDX-License-Identifier: Apache-2.0
//
// Clones read off a rewritten graph. See planned_clones.h.

#include "src/cli/planned_clones.h"

#include <algorithm>
#include <utility>

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

bool IsSwap(const Node& node) {
  return node.role == NodeRole::kSwapOut || node.role == NodeRole::kSwapIn;
}

}  // namespace

CloneReader::CloneReader(const Graph& before, const Graph& after, const GraphFacts& facts,
                         const ProblemMap& map, DeviceId device)
    : before_(before),
      after_(after),
      facts_(facts),
      map_(map),
      problem_buffer_(facts.buffers.buffers.size(), -1),
      source_of_(after.nodes.size(), kNoNode),
      op_of_(after.nodes.size(), kNoOp) {
  for (size_t id = 0; id < map.graph_buffer.size(); ++id) {
    problem_buffer_[Index(map.graph_buffer[id])] = static_cast<BufferId>(id);
  }
  const auto by_name = IndexByName(before);
  for (NodeId id = 0; id < after.size(); ++id) {
    const Node& node = after.node(id);
    const NodeId source = node.role == NodeRole::kRecompute ? node.clone_of : id;
    const auto found = by_name.find(after.node(source).name);
    if (found != by_name.end()) source_of_[Index(id)] = found->second;
    if (node.role == NodeRole::kOriginal) op_of_[Index(id)] = source_of_[Index(id)];
  }
  FindClones(device);
  FindReads(device);
}

void CloneReader::FindClones(DeviceId device) {
  std::vector<bool> makes(before_.nodes.size(), false);
  for (const ProblemBuffer& buffer : map_.problem.buffers) makes[Index(buffer.producer)] = true;
  for (NodeId id = 0; id < after_.size(); ++id) {
    const Node& node = after_.node(id);
    const NodeId source = SourceOf(id);
    if (node.role != NodeRole::kRecompute || node.device != device || source == kNoNode) continue;
    if (!makes[Index(source)]) continue;
    op_of_[Index(id)] = before_.size() + static_cast<OpId>(clones_.size());
    clones_.push_back(source);
    clone_nodes_.push_back(id);
  }
}

CloneReader::Run CloneReader::RunBehind(Input in) const {
  Run run;
  // Ends: aliases and swap nodes lie on no cycle.
  for (NodeId hops = 0; hops <= after_.size(); ++hops) {
    const Node& node = after_.node(in.node);
    if (IsSwap(node)) {
      if (node.inputs.empty()) return {};
      in = node.inputs[0];
      continue;
    }
    const NodeId source = SourceOf(in.node);
    if (source == kNoNode || Index(in.port) >= before_.node(source).outputs.size()) return {};
    const BufferIndex index = facts_.buffers.Of(source, in.port);
    const Buffer& buffer = facts_.buffers.buffers[Index(index)];
    run.buffer = problem_buffer_[Index(index)];
    if (run.buffer < 0) return {};
    if (source == buffer.node) {
      run.clone =
          op_of_[Index(in.node)] < before_.size() ? -1 : op_of_[Index(in.node)] - before_.size();
      return run;
    }
    const int16_t slot = before_.node(source).outputs[Index(in.port)].alias_of;
    if (slot < 0 || Index(slot) >= node.inputs.size()) return {};
    in = node.inputs[Index(slot)];
  }
  return {};
}

void CloneReader::FindReads(DeviceId device) {
  if (clones_.empty()) return;
  for (NodeId id = 0; id < after_.size(); ++id) {
    const OpId op = op_of_[Index(id)];
    if (op == kNoOp || after_.node(id).device != device) continue;
    for (const Input& in : after_.node(id).inputs) {
      const Run run = RunBehind(in);
      if (run.buffer >= 0 && run.clone >= 0) reads_.push_back({run.buffer, op, run.clone});
    }
  }
  const auto key = [](const CloneRead& read) { return std::pair(read.buffer, read.reader); };
  std::stable_sort(reads_.begin(), reads_.end(),
                   [&](const CloneRead& a, const CloneRead& b) { return key(a) < key(b); });
  const auto same = [&](const CloneRead& a, const CloneRead& b) { return key(a) == key(b); };
  reads_.erase(std::unique(reads_.begin(), reads_.end(), same), reads_.end());
}

std::vector<std::string> CloneReader::Names() const {
  std::vector<std::string> names;
  for (const Node& node : before_.nodes) names.push_back(node.name);
  for (NodeId id : clone_nodes_) names.push_back(after_.node(id).name);
  return names;
}

}  // namespace tflms::cli
