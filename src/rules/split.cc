// SPDX-License-Identifier: Apache-2.0
//
// See split.h.

#include "src/rules/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "src/base/checked_math.h"
#include "src/graph/splits.h"
#include "src/rules/edit.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

bool RunsOnce(const Contexts& contexts, NodeId id) {
  return contexts.frame[Index(id)] == 0 && !contexts.conditional[Index(id)];
}

bool HasPicker(const Graph& graph, const Buffer& buffer) {
  return std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](const Reader& reader) {
    return graph.node(reader.node).Has(kPicksInput);
  });
}

// Whether a tensor may leave the device for the host.
bool MayTravel(const Graph& graph, const Contexts& contexts, const Buffer& buffer,
               const Input& from) {
  const OutputInfo& output = graph.output(from);
  return from.action == EdgeAction::kRead && !output.host_memory && !output.persistent &&
         !output.type.is_ref && !buffer.persistent && !buffer.ref && !buffer.updated &&
         IsCopyable(output.type.dtype) && RunsOnce(contexts, from.node) &&
         !graph.node(from.node).Has(kSwitch | kCompiled) && !HasPicker(graph, buffer);
}

std::string WhyNotReaders(const Graph& graph, const Contexts& contexts, const Buffer& made) {
  if (made.names.size() > 1) return "its output has further names";
  if (HasPicker(graph, made)) return "a sum reads its output";
  for (const Reader& reader : made.readers) {
    const Node& node = graph.node(reader.node);
    const EdgeAction action = node.inputs[Index(reader.slot)].action;
    if (action != EdgeAction::kRead || !RunsOnce(contexts, reader.node) ||
        node.Has(kControlFlowFlags | kCompiled)) {
      return "its output is read in a loop or on a branch";
    }
  }
  return "";
}

std::string WhyNotNode(const Graph& graph, const Contexts& contexts, NodeId id) {
  const Node& node = graph.node(id);
  if (node.role != NodeRole::kOriginal || node.pieces > 1) return "it is split already";
  if (!node.Has(kBatchwise)) {
    return "rows of its result are not known to depend on the same rows of its inputs alone";
  }
  if (node.Has(kRunsOnceFlags) || node.sync_group != 0 || node.outputs.size() != 1 ||
      !RunsOnce(contexts, id) || graph.kind_of(id) != DeviceKind::kAccelerator) {
    return "it is fetched, has effects, or does not run once in every step";
  }
  const OutputInfo& output = node.outputs.front();
  if (output.host_memory || output.persistent || output.type.is_ref || output.alias_of >= 0 ||
      !IsCopyable(output.type.dtype) || !SizeBytes(output.type)) {
    return "its output cannot be copied, or its size is not known";
  }
  const Shape& shape = output.type.shape;
  if (shape.extents.empty() || shape.extents[0] < 2) return "it has one row only";
  const bool has_host = graph.devices[Index(node.device)].host != kNoDevice;
  return has_host ? "" : "no host device is known";
}

int64_t CopyTimeUs(int64_t bytes, double bytes_per_us) {
  if (bytes_per_us <= 0) return 0;
  return static_cast<int64_t>(std::llround(static_cast<double>(bytes) / bytes_per_us));
}

// Adds the nodes of one split operation, from the inputs to the readers.
class Splitter {
 public:
  Splitter(const SplitCandidate& candidate, int64_t pieces, const SplitLink& link, Graph* graph)
      : candidate_(candidate),
        count_(pieces),
        link_(link),
        graph_(*graph),
        names_(*graph),
        device_(graph->node(candidate.node).device),
        host_(graph->devices[Index(device_)].host) {}

  void Run() {
    axis_ = Add("split-axis", "Const", host_, {});
    graph_.node(axis_).flags = kSource;
    graph_.node(axis_).outputs = {{{DataType::kInt32, false, Shape::Known({})}}};
    begin_ = Add("split-begin", "NoOp", device_, {});
    graph_.node(begin_).time_us = CopyTimeUs(candidate_.rows_bytes, link_.out_bytes_per_us) +
                                  CopyTimeUs(candidate_.rows_bytes / count_, link_.in_bytes_per_us);
    for (const int32_t slot : candidate_.slots) SplitInput(slot);
    gone_ = Add("split-begin", "NoOp", device_, {});
    Wait(gone_, begin_);
    const std::vector<Reader> readers = ReadersOf(candidate_.node);
    for (int64_t i = 0; i < count_; ++i) AddPiece(i);
    Join(readers);
  }

 private:
  // A node of role kSplit; outputs are added by the caller.
  NodeId Add(std::string_view kind, std::string op, DeviceId device, std::vector<Input> inputs) {
    Node node;
    node.name = names_.Make(kind, graph_.node(candidate_.node).name);
    node.op = std::move(op);
    node.device = device;
    node.role = NodeRole::kSplit;
    node.inputs = std::move(inputs);
    node.time_us = 0;
    graph_.nodes.push_back(std::move(node));
    return graph_.size() - 1;
  }

  NodeId AddSwap(NodeRole role, const Input& from) {
    const bool out = role == NodeRole::kSwapOut;
    const NodeId id = Add(out ? "split-out" : "split-in", "Identity", host_, {from});
    Node& node = graph_.node(id);
    node.role = role;
    node.time_us = 1;
    OutputInfo output;
    output.type = MadeType(graph_, from.node, from.port);
    if (!out) output.alias_of = 0;
    node.outputs.push_back(std::move(output));
    return id;
  }

  NodeId AddArrival(const Input& from) {
    const NodeId id = Add("split-on-device", "Identity", device_, {from});
    OutputInfo output;
    output.type = graph_.output(from).type;
    graph_.node(id).outputs.push_back(std::move(output));
    return id;
  }

  void Wait(NodeId node, NodeId for_node) {
    Node& waiting = graph_.node(node);
    const auto& controls = waiting.control_inputs;
    if (std::find(controls.begin(), controls.end(), for_node) != controls.end()) return;
    const auto reads = [&](const Input& in) { return in.node == for_node; };
    if (std::any_of(waiting.inputs.begin(), waiting.inputs.end(), reads)) return;
    waiting.control_inputs.push_back(for_node);
    ++waiting.added_controls;
  }

  void SplitInput(int32_t slot) {
    const Input from = graph_.node(candidate_.node).inputs[Index(slot)];
    const std::pair<NodeId, int32_t> key{from.node, from.port};
    if (const auto found = split_of_.find(key); found != split_of_.end()) {
      split_by_slot_[slot] = found->second;
      return;
    }
    const NodeId out = AddSwap(NodeRole::kSwapOut, {from.node, from.port});
    Wait(begin_, out);
    const NodeId split = Add("split", "Split", host_, {{axis_, 0}, {out, 0}});
    OutputInfo part;
    part.type = graph_.node(out).outputs.front().type;
    part.type.shape.extents[0] /= count_;
    graph_.node(split).outputs.assign(static_cast<size_t>(count_), part);
    split_of_[key] = split_by_slot_[slot] = split;
  }

  // The inputs of piece i: its own rows, as they come to the device.
  std::vector<Input> InputsOfPiece(int64_t i) {
    std::vector<Input> inputs = graph_.node(candidate_.node).inputs;
    std::map<NodeId, NodeId> arrival_of;  // by Split
    for (const int32_t slot : candidate_.slots) {
      const NodeId split = split_by_slot_[slot];
      auto [at, is_new] = arrival_of.try_emplace(split, kNoNode);
      if (is_new) {
        const NodeId in = AddSwap(NodeRole::kSwapIn, {split, static_cast<int32_t>(i)});
        Wait(in, i < 2 ? gone_ : pieces_[static_cast<size_t>(i - 2)]);
        at->second = AddArrival({in, 0});
      }
      inputs[Index(slot)] = {at->second, 0};
    }
    return inputs;
  }

  void AddPiece(int64_t i) {
    std::vector<Input> inputs = InputsOfPiece(i);
    NodeId piece = candidate_.node;
    if (i + 1 < count_) {
      Node clone = graph_.node(candidate_.node);
      clone.name = names_.Make("split-piece", clone.name);
      clone.role = NodeRole::kRecompute;
      clone.clone_of = candidate_.node;
      clone.cookie = -1;
      clone.control_inputs.clear();
      clone.added_controls = 0;
      graph_.nodes.push_back(std::move(clone));
      piece = graph_.size() - 1;
    }
    graph_.node(piece).inputs = std::move(inputs);
    graph_.node(piece).pieces = count_;
    Wait(piece, i == 0 ? gone_ : pieces_.back());
    if (i >= 2) Wait(piece, outs_[static_cast<size_t>(i - 2)]);
    pieces_.push_back(piece);
    outs_.push_back(AddSwap(NodeRole::kSwapOut, {piece, 0}));
  }

  std::vector<Reader> ReadersOf(NodeId id) const {
    const Readers all(graph_);
    return {all.begin(id), all.end(id)};
  }

  void Join(const std::vector<Reader>& readers) {
    std::vector<Input> parts;
    for (const NodeId out : outs_) parts.push_back({out, 0});
    parts.push_back({axis_, 0});
    OutputInfo whole;
    whole.type = graph_.node(candidate_.node).outputs.front().type;
    const NodeId concat = Add("split-join", "ConcatV2", host_, std::move(parts));
    graph_.node(concat).outputs.push_back(whole);
    const NodeId end = Add("split-end", "NoOp", device_, {});
    Wait(end, outs_[outs_.size() - 2]);
    Wait(end, outs_.back());
    graph_.node(end).time_us = CopyTimeUs(candidate_.output_bytes / count_, link_.out_bytes_per_us);
    const NodeId gone = Add("split-end", "NoOp", device_, {});
    Wait(gone, end);
    const NodeId in = AddSwap(NodeRole::kSwapIn, {concat, 0});
    Wait(in, gone);
    const NodeId arrival = AddArrival({in, 0});
    graph_.node(arrival).time_us = CopyTimeUs(candidate_.output_bytes, link_.in_bytes_per_us);
    for (const Reader& reader : readers) {
      graph_.node(reader.node).inputs[Index(reader.slot)] = {arrival, 0};
    }
  }

  const SplitCandidate& candidate_;
  const int64_t count_;
  const SplitLink& link_;
  Graph& graph_;
  NameMaker names_;
  const DeviceId device_, host_;
  NodeId axis_ = kNoNode;
  NodeId begin_ = kNoNode;  // waits until the inputs are on the host
  NodeId gone_ = kNoNode;   // by then they have left the device
  std::map<std::pair<NodeId, int32_t>, NodeId> split_of_;  // by tensor
  std::map<int32_t, NodeId> split_by_slot_;
  std::vector<NodeId> pieces_, outs_;
};

}  // namespace

std::string WhyNotSplit(const Graph& graph, const Contexts& contexts, const BufferTable& buffers,
                        NodeId id, SplitCandidate* candidate) {
  std::string reason = WhyNotNode(graph, contexts, id);
  if (reason.empty()) reason = WhyNotReaders(graph, contexts, buffers.at(id, 0));
  if (!reason.empty()) return reason;
  const Node& node = graph.node(id);
  *candidate = {id, node.outputs.front().type.shape.extents[0],      {}, 0,
                0,  SizeBytes(node.outputs.front().type).value_or(0)};
  std::set<BufferIndex> counted;
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    const Input& in = node.inputs[slot];
    const OutputInfo& read = graph.output(in);
    const BufferIndex index = buffers.Of(in.node, in.port);
    const Buffer& buffer = buffers.buffers[Index(index)];
    const bool on_device = graph.node(in.node).device == node.device && !read.host_memory;
    const bool is_new = counted.insert(index).second;
    const int64_t bytes =
        is_new && on_device && !buffer.persistent ? buffer.size_bytes.value_or(0) : 0;
    switch (UseOfSlot(read, node.outputs.front())) {
      case SlotUse::kUnknown:
        return "which rows of input " + std::to_string(slot) + " it reads cannot be told";
      case SlotUse::kWhole:
        candidate->whole_bytes = SaturatingAdd(candidate->whole_bytes, bytes);
        break;
      case SlotUse::kRows:
        if (!on_device || !MayTravel(graph, contexts, buffer, in)) {
          return "its input " + std::to_string(slot) + " must stay where it is";
        }
        candidate->slots.push_back(static_cast<int32_t>(slot));
        candidate->rows_bytes = SaturatingAdd(candidate->rows_bytes, bytes);
        break;
    }
  }
  return candidate->slots.empty() ? "it reads no input row by row" : "";
}

int64_t SplitNeed(const SplitCandidate& candidate, int64_t pieces) {
  const int64_t in = 2 * (candidate.rows_bytes / pieces);
  const int64_t out = candidate.output_bytes / pieces;
  return std::max({candidate.rows_bytes, candidate.output_bytes,
                   SaturatingAdd(SaturatingAdd(in, 3 * out), candidate.whole_bytes)});
}

void SplitNode(const SplitCandidate& candidate, int64_t pieces, const SplitLink& link,
               Graph* graph) {
  Splitter(candidate, pieces, link, graph).Run();
}

}  // namespace tflms
