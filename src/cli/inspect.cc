// SPDX-License-Identifier: Apache-2.0
//
// tflms inspect: what a graph holds in device memory and for how long, without a plan.
//
//   distance(b) = most levels between two neighbouring accesses of buffer b
//
// Cost: O((V + E + accesses) log).

#include <algorithm>
#include <numeric>
#include <tuple>

#include "src/base/bytes_text.h"
#include "src/base/checked_math.h"
#include "src/cli/command.h"
#include "src/cli/table.h"
#include "src/cli/tensor_text.h"

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Figures of one accelerator's buffers and ops.
struct Figures {
  std::vector<int32_t> distance;     // by problem buffer
  std::vector<int64_t> working_set;  // by op: inputs, outputs and workspace
  std::vector<BufferId> largest;     // all buffers, largest first
  std::vector<OpId> largest_ops;     // ops with a working set, largest first
  int64_t bytes = 0, swappable = 0, swappable_bytes = 0;
};

int32_t Distance(const ProblemBuffer& buffer, const std::vector<int32_t>& level) {
  std::vector<int32_t> at = {level[Index(buffer.producer)]};
  for (OpId use : buffer.uses) at.push_back(level[Index(use)]);
  std::sort(at.begin(), at.end());
  int32_t most = 0;
  for (size_t i = 1; i < at.size(); ++i) most = std::max(most, at[i] - at[i - 1]);
  return most;
}

Figures FindFigures(const PlannedGraph& graphs, const Planned& device) {
  const Problem& problem = device.map.problem;
  Figures figures;
  for (const ProblemOp& op : problem.ops) figures.working_set.push_back(op.workspace_bytes);
  for (const ProblemBuffer& buffer : problem.buffers) {
    figures.distance.push_back(Distance(buffer, graphs.facts.level));
    figures.bytes = SaturatingAdd(figures.bytes, buffer.size_bytes);
    if (buffer.swappable) {
      ++figures.swappable;
      figures.swappable_bytes = SaturatingAdd(figures.swappable_bytes, buffer.size_bytes);
    }
    const auto add = [&](OpId op) {
      int64_t& bytes = figures.working_set[Index(op)];
      bytes = SaturatingAdd(bytes, buffer.size_bytes);
    };
    add(buffer.producer);
    std::for_each(buffer.uses.begin(), buffer.uses.end(), add);
  }
  figures.largest.resize(problem.buffers.size());
  std::iota(figures.largest.begin(), figures.largest.end(), 0);
  std::stable_sort(figures.largest.begin(), figures.largest.end(), [&](BufferId a, BufferId b) {
    return problem.buffers[Index(a)].size_bytes > problem.buffers[Index(b)].size_bytes;
  });
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    if (figures.working_set[op] > 0) figures.largest_ops.push_back(static_cast<OpId>(op));
  }
  std::stable_sort(figures.largest_ops.begin(), figures.largest_ops.end(), [&](OpId a, OpId b) {
    return figures.working_set[Index(a)] > figures.working_set[Index(b)];
  });
  return figures;
}

std::string BufferName(const PlannedGraph& graphs, const Planned& device, BufferId id) {
  const Buffer& buffer = graphs.facts.buffers.buffers[Index(device.map.graph_buffer[Index(id)])];
  return TensorName(graphs.before, buffer.node, buffer.port);
}

void DescribeSizes(const PlannedGraph& graphs, const Planned& device, const Figures& figures,
                   Answer* answer, Json* json) {
  const Problem& problem = device.map.problem;
  const auto tensors = static_cast<int64_t>(problem.buffers.size());
  const int64_t unknown = device.map.unknown_size_tensors;
  const MemoryView& memory = device.memory_as_it_came;
  const std::string name = graphs.before.devices[Index(device.device)].name;
  const auto node = [&](OpId op) {
    return op == kNoOp ? std::string() : graphs.before.node(op).name;
  };
  const OpId peak_op =
      memory.peak_position < 0 ? kNoOp : device.as_it_came.order[Index(memory.peak_position)];
  const auto at = [&](OpId op) { return op == kNoOp ? "" : " at " + node(op); };
  answer->text += FormatLine("device", name);
  answer->text += FormatLine("variables, constants", FormatBytes(problem.persistent_bytes));
  answer->text +=
      FormatLine("tensors", std::to_string(tensors) + ", " + FormatBytes(figures.bytes));
  if (unknown > 0) {
    answer->text += FormatLine(
        "unknown sizes", Count(unknown, "tensor") + " not counted: --batch-size, --infer-shapes");
  }
  answer->text += FormatLine("could be swapped", std::to_string(figures.swappable) + ", " +
                                                     FormatBytes(figures.swappable_bytes));
  for (const SkipCount& skip : device.map.skipped) {
    answer->text +=
        FormatLine("stay", std::to_string(skip.tensors) + ", " + FormatBytes(skip.bytes) + ": " +
                               ReasonText(skip.reason));
  }
  answer->text += FormatLine("peak as it came", FormatBytes(memory.peak_bytes) + at(peak_op));
  answer->text += FormatLine("floor", FormatBytes(device.floor.bytes) + at(device.floor.op));
  (*json)["device"] = name;
  (*json)["persistent_bytes"] = problem.persistent_bytes;
  (*json)["tensors"] = tensors;
  (*json)["tensor_bytes"] = figures.bytes;
  (*json)["unknown_size_tensors"] = unknown;
  (*json)["swappable_tensors"] = figures.swappable;
  (*json)["swappable_bytes"] = figures.swappable_bytes;
  (*json)["kept"] = Json::array();
  for (const SkipCount& skip : device.map.skipped) {
    (*json)["kept"].push_back(
        {{"reason", skip.reason}, {"tensors", skip.tensors}, {"bytes", skip.bytes}});
  }
  (*json)["peak_bytes"] = memory.peak_bytes;
  (*json)["peak_node"] = node(peak_op);
  (*json)["floor_bytes"] = device.floor.bytes;
  (*json)["floor_node"] = node(device.floor.op);
}

void DescribeLargest(const PlannedGraph& graphs, const Planned& device, const Figures& figures,
                     int64_t top, Answer* answer, Json* json) {
  const Problem& problem = device.map.problem;
  std::vector<std::vector<std::string>> rows;
  (*json)["largest_tensors"] = Json::array();
  for (BufferId id : figures.largest) {
    if (static_cast<int64_t>(rows.size()) >= top) break;
    const BufferIndex index = device.map.graph_buffer[Index(id)];
    const Buffer& buffer = graphs.facts.buffers.buffers[Index(index)];
    const TensorType& type = graphs.before.node(buffer.node).outputs[Index(buffer.port)].type;
    const std::string& reason = device.map.why_kept[Index(index)];
    const int64_t bytes = problem.buffers[Index(id)].size_bytes;
    const std::string name = BufferName(graphs, device, id);
    rows.push_back({FormatBytes(bytes), name, TypeText(type),
                    std::to_string(figures.distance[Index(id)]),
                    reason.empty() ? "may be swapped" : "stays: " + reason});
    (*json)["largest_tensors"].push_back({{"tensor", name},
                                          {"type", TypeText(type)},
                                          {"bytes", bytes},
                                          {"distance", figures.distance[Index(id)]},
                                          {"kept_because", reason}});
  }
  if (!rows.empty()) answer->text += "  largest tensors (with their distance in levels)\n";
  answer->text += FormatTable(rows);
  rows.clear();
  (*json)["largest_operations"] = Json::array();
  for (OpId op : figures.largest_ops) {
    if (static_cast<int64_t>(rows.size()) >= top) break;
    const Node& node = graphs.before.node(op);
    const int64_t bytes = figures.working_set[Index(op)];
    rows.push_back({FormatBytes(bytes), node.name, node.op});
    (*json)["largest_operations"].push_back(
        {{"node", node.name}, {"op", node.op}, {"bytes", bytes}});
  }
  if (!rows.empty()) answer->text += "  largest operations (inputs, outputs and workspace)\n";
  answer->text += FormatTable(rows);
}

// Tensors and bytes by distance, in classes 0, 1, 2-3, 4-7, 8-15, ...
void DescribeDistances(const Planned& device, const Figures& figures, Answer* answer, Json* json) {
  struct Class {
    int64_t tensors = 0, bytes = 0;
  };
  std::vector<Class> classes;
  for (size_t id = 0; id < figures.distance.size(); ++id) {
    size_t number = 0;
    for (int32_t rest = figures.distance[id]; rest > 0; rest /= 2) ++number;
    if (number >= classes.size()) classes.resize(number + 1);
    ++classes[number].tensors;
    classes[number].bytes =
        SaturatingAdd(classes[number].bytes, device.map.problem.buffers[id].size_bytes);
  }
  int64_t most = 0;
  for (const Class& one : classes) most = std::max(most, one.bytes);
  std::vector<std::vector<std::string>> rows;
  (*json)["distances"] = Json::array();
  for (size_t number = 0; number < classes.size(); ++number) {
    const int64_t low = number == 0 ? 0 : int64_t{1} << (number - 1);
    const int64_t high = number == 0 ? 0 : (int64_t{1} << number) - 1;
    const Class& one = classes[number];
    rows.push_back({std::to_string(low) + (high > low ? "-" + std::to_string(high) : ""),
                    Count(one.tensors, "tensor"), FormatBytes(one.bytes),
                    Bar(one.bytes, most, 30)});
    (*json)["distances"].push_back(
        {{"from", low}, {"to", high}, {"tensors", one.tensors}, {"bytes", one.bytes}});
  }
  if (!rows.empty()) answer->text += "  levels between two uses\n";
  answer->text += FormatTable(rows);
}

void DescribeUnit(const Unit& unit, const PlannedGraph& graphs, int64_t top, Answer* answer) {
  const auto nodes = static_cast<int64_t>(graphs.before.nodes.size());
  int64_t edges = 0;
  for (const Node& node : graphs.before.nodes) {
    edges += static_cast<int64_t>(node.inputs.size() + node.control_inputs.size());
  }
  answer->text += unit.name + ": " + Count(nodes, "node") + ", " + Count(edges, "edge") +
                  (graphs.rewritten_before ? ", beside what tflms has added" : "") + "\n";
  Json json = {{"graph", unit.name},
               {"nodes", nodes},
               {"edges", edges},
               {"rewritten", graphs.rewritten_before},
               {"devices", Json::array()}};
  if (graphs.planned.empty()) {
    answer->text += FormatLine("device", "none of its nodes is on an accelerator");
  }
  for (const Planned& device : graphs.planned) {
    const Figures figures = FindFigures(graphs, device);
    Json one;
    DescribeSizes(graphs, device, figures, answer, &one);
    DescribeLargest(graphs, device, figures, top, answer, &one);
    DescribeDistances(device, figures, answer, &one);
    json["devices"].push_back(std::move(one));
  }
  answer->json["graphs"].push_back(std::move(json));
}

Attempt<Answer> Run(const Arguments& arguments) {
  Attempt<GraphFile> file = Open(arguments, arguments.graph);
  if (!file.ok()) return file.failure();
  Answer answer;
  DescribeFile(*file, &answer);
  answer.json["graphs"] = Json::array();
  int64_t empty = 0;
  for (const Unit& unit : file->units) {
    Result<PlannedGraph> graphs = ExamineGraph(arguments.options, unit.graph);
    if (!graphs.ok()) return FailureFrom(graphs.status(), kNoInput);
    const bool alone = file->units.size() == 1;
    if (!alone && !HasDeviceMemory(*graphs)) {
      ++empty;
      continue;
    }
    DescribeUnit(unit, *graphs, arguments.top, &answer);
  }
  if (empty > 0) {
    answer.text += Count(empty, "more graph") + " without a tensor on an accelerator\n";
  }
  answer.json["graphs_without_device_memory"] = empty;
  return answer;
}

}  // namespace

Command InspectCommand() {
  return {"inspect",
          "What is in a graph: sizes, largest tensors and operations, live ranges",
          "Example: tflms inspect step.pb --top 5",
          {GraphArgument(), TopArgument("How many tensors and operations to list")},
          &Run};
}

}  // namespace tflms::cli
