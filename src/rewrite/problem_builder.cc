// SPDX-License-Identifier: Apache-2.0
//
// Graph -> Problem. See problem_builder.h.

#include "src/rewrite/problem_builder.h"

#include <algorithm>
#include <map>

#include "src/base/checked_math.h"
#include "src/graph/loops.h"
#include "src/graph/splits.h"
#include "src/rewrite/repeatable.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

class Builder {
 public:
  Builder(const Graph& graph, const GraphFacts& facts, DeviceId accelerator, const Filters& filters)
      : graph_(graph), facts_(facts), accelerator_(accelerator), filters_(filters) {}

  ProblemMap Run() {
    map_.problem.ops.resize(graph_.nodes.size());
    touches_.assign(graph_.nodes.size(), false);
    state_.assign(graph_.nodes.size(), -1);
    problem_buffer_.assign(facts_.buffers.buffers.size(), -1);
    map_.why_kept.resize(facts_.buffers.buffers.size());
    AddBuffers();
    AddOps();
    AddStateWrites();
    AddEdges();
    AddUses();
    AddReuse();
    MarkRepeatable(graph_, facts_, filters_, problem_buffer_, &map_);
    KeepWaitedFor();
    CountReasons();
    return std::move(map_);
  }

 private:
  bool OnDevice(NodeId id) const { return graph_.node(id).device == accelerator_; }

  bool InRoot(NodeId id) const {
    return facts_.contexts.frame[Index(id)] == 0 && !facts_.contexts.conditional[Index(id)];
  }

  // Buffers in the accelerator's own memory that come and go within a step.
  void AddBuffers() {
    for (size_t i = 0; i < facts_.buffers.buffers.size(); ++i) {
      const Buffer& buffer = facts_.buffers.buffers[i];
      if (!OnDevice(buffer.node) || buffer.host_memory || buffer.ref) continue;
      const DataType dtype = graph_.node(buffer.node).outputs[Index(buffer.port)].type.dtype;
      if (buffer.persistent) {
        Skip(i, "persistent", buffer.size_bytes.value_or(0));
        continue;
      }
      if (!IsCopyable(dtype)) {
        if (dtype != DataType::kInvalid) Skip(i, "not-copyable", 0);
        continue;
      }
      MarkTouched(buffer);
      const int64_t pieces = graph_.node(buffer.node).pieces;
      if (!buffer.size_bytes) {
        Skip(i, "unknown-size", 0);
        ++map_.unknown_size_tensors;
        continue;
      }
      if (*buffer.size_bytes == 0) continue;
      problem_buffer_[i] = static_cast<BufferId>(map_.problem.buffers.size());
      ProblemBuffer& out = map_.problem.buffers.emplace_back();
      out.size_bytes = std::max<int64_t>(1, *buffer.size_bytes / pieces);
      out.producer = buffer.node;
      if (IsSplitArrival(graph_, buffer.node)) out.producer = BeginOfArrival(buffer.node);
      out.live_at_end = buffer.preserved;
      map_.graph_buffer.push_back(static_cast<BufferIndex>(i));
    }
  }

  // The op whose end lets the copy to the device begin.
  NodeId BeginOfArrival(NodeId arrival) const {
    const Node& node = graph_.node(arrival);
    if (node.inputs.empty()) return arrival;
    const Node& in = graph_.node(node.inputs.front().node);
    return in.control_inputs.empty() ? arrival : in.control_inputs.front();
  }

  void MarkTouched(const Buffer& buffer) {
    for (const OutputName& name : buffer.names) touches_[Index(name.node)] = true;
    for (const Reader& reader : buffer.readers) touches_[Index(reader.node)] = true;
  }

  void AddOps() {
    constexpr uint32_t kNeverHeld =
        kControlFlowFlags | kPinnedOutside | kCollective | kSource | kCompiled;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      ProblemOp& op = map_.problem.ops[Index(id)];
      op.on_device = OnDevice(id);
      op.time_us = op.on_device ? node.time_us / node.pieces : 0;
      op.workspace_bytes = op.on_device ? node.workspace_bytes : 0;
      op.group = std::max(node.sync_group, 0);
      op.orderable = op.on_device && InRoot(id) && !node.Has(kNeverHeld) &&
                     (touches_[Index(id)] || node.role == NodeRole::kSplit);
      if (node.sync_group < 0) map_.unknown_peers = true;
      if (node.Has(kCompiled)) ++map_.compiled_nodes;
      if (op.on_device) {
        map_.problem.persistent_bytes =
            SaturatingAdd(map_.problem.persistent_bytes, node.state_bytes);
        if (node.state_bytes <= 0) continue;
        state_[Index(id)] = static_cast<int32_t>(map_.problem.persistent_sizes.size());
        map_.problem.persistent_sizes.push_back(node.state_bytes);
      }
    }
  }

  void AddStateWrites() {
    std::vector<StateWrite>& writes = map_.problem.state_writes;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!OnDevice(id) || !InRoot(id)) continue;
      for (const Input& in : graph_.node(id).inputs) {
        if (in.action != EdgeAction::kUpdate) continue;
        if (const int32_t state = state_[Index(StateOf(in))]; state >= 0)
          writes.push_back({id, state});
      }
    }
    std::sort(writes.begin(), writes.end());
    writes.erase(std::unique(writes.begin(), writes.end()), writes.end());
  }

  void AddEdges() {
    std::vector<std::vector<OpId>>& successors = map_.problem.successors;
    successors.resize(graph_.nodes.size());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      for (const Input& in : node.inputs) {
        if (!IsBackEdge(graph_, in.node, id)) successors[Index(in.node)].push_back(id);
      }
      for (NodeId from : node.control_inputs) {
        if (!IsBackEdge(graph_, from, id)) successors[Index(from)].push_back(id);
      }
    }
    for (const auto& [exit, entries] : FindLoopWaits(graph_)) {
      for (NodeId enter : entries) successors[Index(enter)].push_back(exit);
    }
    AddWritesAfterReads(&successors);
    for (std::vector<OpId>& next : successors) {
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
    }
  }

  // The node whose state the edge stands for: back along reads and aliases to the owner.
  NodeId StateOf(Input in) const {
    for (size_t hops = 0; hops <= graph_.nodes.size(); ++hops) {
      const Node& node = graph_.node(in.node);
      const OutputInfo& out = node.outputs[Index(in.port)];
      const DataType dtype = out.type.dtype;
      if (out.alias_of >= 0 && Index(out.alias_of) < node.inputs.size()) {
        in = node.inputs[Index(out.alias_of)];
      } else if (out.persistent && dtype != DataType::kResource && !out.type.is_ref &&
                 node.Has(kParameterised) && !node.inputs.empty()) {
        in = node.inputs[0];  // a read of the state its first input stands for
      } else {
        return in.node;
      }
    }
    return in.node;
  }

  void AddWritesAfterReads(std::vector<std::vector<OpId>>* successors) {
    std::map<NodeId, std::vector<NodeId>> writers, readers;  // by owner of the state
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!map_.problem.ops[Index(id)].orderable) continue;
      for (const Input& in : graph_.node(id).inputs) {
        if (in.action == EdgeAction::kUpdate) {
          writers[StateOf(in)].push_back(id);
        } else if (facts_.buffers.at(in.node, in.port).persistent) {
          readers[StateOf(in)].push_back(id);
        }
      }
    }
    IncrementalOrder order(graph_, facts_.order);
    auto& pairs = map_.problem.writes_after_reads;
    for (const auto& [state, writing] : writers) {
      const auto found = readers.find(state);
      if (found == readers.end()) continue;
      for (NodeId reader : found->second) {
        for (NodeId writer : writing) {
          if (reader == writer || !order.AddDataEdge(reader, writer)) continue;
          (*successors)[Index(reader)].push_back(writer);
          pairs.emplace_back(reader, writer);
        }
      }
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  }

  void AddUses() {
    const std::vector<std::vector<NodeId>> exits = ExitsByFrame();
    for (size_t id = 0; id < map_.problem.buffers.size(); ++id) {
      ProblemBuffer& out = map_.problem.buffers[id];
      const Buffer& buffer = facts_.buffers.buffers[Index(map_.graph_buffer[id])];
      const auto use = [&](NodeId node) {
        if (node != out.producer) out.uses.push_back(node);
        const int32_t frame = facts_.contexts.frame[Index(node)];
        if (frame != 0) {
          out.uses.insert(out.uses.end(), exits[Index(frame)].begin(), exits[Index(frame)].end());
        }
      };
      for (const OutputName& name : buffer.names) use(name.node);
      for (const Reader& reader : buffer.readers) {
        if (!OnDevice(reader.node)) continue;
        use(reader.node);
        if (!MayComeBack(filters_, graph_.node(reader.node))) out.holds.push_back(reader.node);
      }
      for (NodeId waiting : WaitingForCopy(buffer)) {
        use(waiting);
        out.holds.push_back(waiting);
      }
      if (IsSplitArrival(graph_, buffer.node)) out.holds.push_back(buffer.node);
      std::sort(out.holds.begin(), out.holds.end());
      out.holds.erase(std::unique(out.holds.begin(), out.holds.end()), out.holds.end());
      std::sort(out.uses.begin(), out.uses.end());
      out.uses.erase(std::unique(out.uses.begin(), out.uses.end()), out.uses.end());
      const std::string reason = WhyNotSwappable(buffer, out);
      out.swappable = reason.empty();
      if (!out.swappable) Skip(Index(map_.graph_buffer[id]), reason, out.size_bytes);
    }
  }

  // The parts of a split operation that wait until the buffer has been copied to the host.
  std::vector<NodeId> WaitingForCopy(const Buffer& buffer) {
    std::vector<NodeId> waiting;
    if (!copies_known_) FindCopiesWaitedFor();
    for (const Reader& reader : buffer.readers) {
      const auto found = waits_for_copy_.find(reader.node);
      if (found == waits_for_copy_.end()) continue;
      waiting.insert(waiting.end(), found->second.begin(), found->second.end());
    }
    return waiting;
  }

  void FindCopiesWaitedFor() {
    copies_known_ = true;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.role != NodeRole::kSplit && node.pieces <= 1) continue;
      for (NodeId from : node.control_inputs) {
        if (graph_.node(from).role == NodeRole::kSwapOut) waits_for_copy_[from].push_back(id);
      }
    }
  }

  // What goes to the host for a split operation is read there: a second run would not be.
  void KeepWaitedFor() {
    if (waits_for_copy_.empty()) return;
    for (size_t id = 0; id < map_.problem.buffers.size(); ++id) {
      const Buffer& buffer = facts_.buffers.buffers[Index(map_.graph_buffer[id])];
      if (!WaitingForCopy(buffer).empty()) map_.problem.buffers[id].recomputable = false;
    }
  }

  // Exit nodes by the frame they leave.
  std::vector<std::vector<NodeId>> ExitsByFrame() const {
    int32_t frames = 0;
    for (int32_t frame : facts_.contexts.frame) frames = std::max(frames, frame);
    std::vector<std::vector<NodeId>> exits(Index(frames) + 1);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!node.Has(kExit) || node.inputs.empty()) continue;
      exits[Index(facts_.contexts.frame[Index(node.inputs[0].node)])].push_back(id);
    }
    return exits;
  }

  // True when a node that picks its input reads the buffer beside other readers: whether the node
  // may overwrite it must not change with a copy on its way to the host. A buffer that only that
  // node reads can always be overwritten, swapped or not.
  bool DecidesASum(const Buffer& buffer) const {
    const bool one_reader =
        std::all_of(buffer.readers.begin(), buffer.readers.end(),
                    [&](const Reader& reader) { return reader.node == buffer.readers[0].node; });
    return !one_reader &&
           std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](const Reader& reader) {
             return graph_.node(reader.node).Has(kPicksInput);
           });
  }

  // What comes back in parts, not the output put together.
  bool IsPieceInput(const Buffer& buffer) const {
    return IsSplitArrival(graph_, buffer.node) &&
           std::any_of(buffer.readers.begin(), buffer.readers.end(),
                       [&](const Reader& reader) { return graph_.node(reader.node).pieces > 1; });
  }

  std::string WhyNotSwappable(const Buffer& buffer, const ProblemBuffer& out) const {
    if (!InRoot(buffer.node)) return "in-loop-or-branch";
    if (graph_.node(buffer.node).Has(kCompiled)) return "compiled";
    if (buffer.updated) return "written-in-place";
    if (buffer.preserved) return "fetched";
    if (out.uses.empty()) return "no-reader";
    if (graph_.node(buffer.node).pieces > 1 || IsPieceInput(buffer)) return "split";
    if (DecidesASum(buffer)) return "decides-a-sum";
    if (!MayLeave(filters_, graph_.node(buffer.node))) return "filtered";
    for (OpId use : out.uses) {
      if (!InRoot(use)) return "read-in-loop-or-branch";
      if (!map_.problem.ops[Index(use)].orderable) return "read-out-of-order";
    }
    return "";
  }

  void AddReuse() {
    for (size_t id = 0; id < map_.problem.buffers.size(); ++id) {
      ProblemBuffer& out = map_.problem.buffers[id];
      const Buffer& buffer = facts_.buffers.buffers[Index(map_.graph_buffer[id])];
      const Node& node = graph_.node(buffer.node);
      const int16_t slot = node.outputs[Index(buffer.port)].may_reuse;
      if (slot == -1) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (slot != kReuseAny && Index(slot) != i) continue;
        const Input& in = node.inputs[i];
        const BufferId giver = problem_buffer_[Index(facts_.buffers.Of(in.node, in.port))];
        if (giver >= 0 && giver != static_cast<BufferId>(id)) out.may_reuse.push_back(giver);
      }
    }
  }

  void Skip(size_t buffer, const std::string& reason, int64_t bytes) {
    map_.why_kept[buffer] = reason;
    SkipCount& count = reasons_[reason];
    ++count.tensors;
    count.bytes = SaturatingAdd(count.bytes, bytes);
  }

  void CountReasons() {
    for (auto& [reason, count] : reasons_) {
      count.reason = reason;
      map_.skipped.push_back(count);
    }
  }

  const Graph& graph_;
  const GraphFacts& facts_;
  const DeviceId accelerator_;
  const Filters& filters_;
  ProblemMap map_;
  std::vector<bool> touches_;             // by node: reads or makes a buffer of the accelerator
  std::vector<BufferId> problem_buffer_;  // by graph buffer
  std::vector<int32_t> state_;            // by node: of persistent_sizes, -1 without state
  std::map<std::string, SkipCount> reasons_;
  // By swap-out: the parts of split operations that wait for it.
  std::map<NodeId, std::vector<NodeId>> waits_for_copy_;
  bool copies_known_ = false;
};

}  // namespace

Result<GraphFacts> FindFacts(const Graph& graph) {
  GraphFacts facts;
  TFLMS_ASSIGN_OR_RETURN(facts.order, TopologicalOrder(graph));
  facts.level = Levels(graph, facts.order);
  facts.contexts = FindContexts(graph, facts.order);
  facts.buffers = FindBuffers(graph, facts.order);
  return facts;
}

ProblemMap BuildProblem(const Graph& graph, const GraphFacts& facts, DeviceId accelerator,
                        const Filters& filters) {
  return Builder(graph, facts, accelerator, filters).Run();
}

}  // namespace tflms
