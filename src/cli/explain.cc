// SPDX-License-Identifier: Apache-2.0
//
// tflms explain: everything about the tensors of one node: where they live, for how long, and why
// they are swapped or stay.

#include <algorithm>
#include <optional>

#include "src/base/text.h"
#include "src/cli/choices.h"
#include "src/cli/command.h"
#include "src/cli/swap_list.h"
#include "src/cli/table.h"
#include "src/cli/tensor_text.h"

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

class Explainer {
 public:
  Explainer(const PlannedGraph& graphs, const Options& options, Answer* answer)
      : graphs_(graphs), options_(options), answer_(answer) {}

  Json Explain(NodeId id) {
    const Node& node = graphs_.before.node(id);
    const std::string device =
        node.device == kNoDevice ? "no device" : graphs_.before.devices[Index(node.device)].name;
    answer_->text += node.name + ": " + node.op + " on " + device + ", level " +
                     std::to_string(graphs_.facts.level[Index(id)]) + "\n";
    Json json = {{"node", node.name},
                 {"op", node.op},
                 {"device", device},
                 {"level", graphs_.facts.level[Index(id)]},
                 {"outputs", Json::array()}};
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      json["outputs"].push_back(ExplainOutput(id, static_cast<int32_t>(port)));
    }
    if (node.outputs.empty()) answer_->text += FormatLine("outputs", "none");
    return json;
  }

 private:
  Json ExplainOutput(NodeId id, int32_t port) {
    const BufferIndex index = graphs_.facts.buffers.Of(id, port);
    const Buffer& buffer = graphs_.facts.buffers.buffers[Index(index)];
    const std::string tensor = TensorName(graphs_.before, id, port);
    const std::string root = TensorName(graphs_.before, buffer.node, buffer.port);
    const TensorType& type = graphs_.before.node(id).outputs[Index(port)].type;
    answer_->text += "  " + tensor + "\n";
    answer_->text +=
        FormatLine("  type, size", TypeText(type) + ", " + SizeText(buffer.size_bytes));
    if (root != tensor) answer_->text += FormatLine("  shares memory with", root);
    const std::string place = Place(buffer);
    answer_->text += FormatLine("  lives", place);
    Json json = {{"tensor", tensor},
                 {"type", TypeText(type)},
                 {"bytes", buffer.size_bytes ? Json(*buffer.size_bytes) : Json()},
                 {"buffer", root},
                 {"lives", place}};
    ExplainRange(buffer, &json);
    ExplainFate(buffer, index, &json);
    return json;
  }

  std::string Place(const Buffer& buffer) const {
    if (buffer.device == kNoDevice) return "nowhere that is known: its node has no device";
    const Device& device = graphs_.before.devices[Index(buffer.device)];
    if (buffer.host_memory) return "in host memory, though its node is on " + device.name;
    return (buffer.persistent ? "for the whole training on " : "on ") + device.name;
  }

  void ExplainRange(const Buffer& buffer, Json* json) {
    const std::vector<int32_t>& level = graphs_.facts.level;
    int32_t last = level[Index(buffer.node)];
    std::vector<std::string> readers;
    for (const Reader& reader : buffer.readers) {
      last = std::max(last, level[Index(reader.node)]);
      const std::string name = graphs_.before.node(reader.node).name + " (level " +
                               std::to_string(level[Index(reader.node)]) + ")";
      if (std::find(readers.begin(), readers.end(), name) == readers.end()) readers.push_back(name);
    }
    answer_->text += FormatLine("  live, in levels", std::to_string(level[Index(buffer.node)]) +
                                                         " to " + std::to_string(last));
    for (const std::string& reader : readers) answer_->text += FormatLine("  read by", reader);
    (*json)["first_level"] = level[Index(buffer.node)];
    (*json)["last_level"] = last;
    (*json)["readers"] = readers;
  }

  // The accelerator's plan that the buffer belongs to, or null.
  const Planned* PlannedFor(const Buffer& buffer) const {
    for (const Planned& planned : graphs_.planned) {
      if (planned.device == buffer.device && !buffer.host_memory) return &planned;
    }
    return nullptr;
  }

  void ExplainFate(const Buffer& buffer, BufferIndex index, Json* json) {
    (*json)["swapped"] = false;
    const Planned* planned = PlannedFor(buffer);
    if (planned == nullptr) return Stays("it is not in the memory of an accelerator", json);
    const std::string root = TensorName(graphs_.before, buffer.node, buffer.port);
    (*json)["swaps"] = Json::array();
    for (const NamedSwap& swap : ListSwaps(graphs_, *planned)) {
      if (swap.tensor != root) continue;
      (*json)["swapped"] = true;
      (*json)["swaps"].push_back({{"leave_after", swap.leave_after},
                                  {"sync", swap.sync},
                                  {"trigger", swap.trigger},
                                  {"back_for", swap.back_for},
                                  {"distance", swap.distance}});
      answer_->text +=
          FormatLine("  swapped", "away for " + std::to_string(swap.distance) + " steps");
      answer_->text += FormatLine("    leaves after", swap.leave_after);
      if (!swap.sync.empty()) answer_->text += FormatLine("    waited for by", swap.sync);
      answer_->text += FormatLine("    comes back with", swap.trigger);
      answer_->text += FormatLine("    is back for", swap.back_for);
    }
    if (!(*json)["swapped"].get<bool>()) Stays(WhyItStays(*planned, buffer, index), json);
    ExplainChoices(*planned, index, json);
  }

  // What else could be done with the tensor; nothing where it may neither leave nor be made again.
  void ExplainChoices(const Planned& planned, BufferIndex index, Json* json) {
    const auto& all = planned.map.graph_buffer;
    const auto found = std::find(all.begin(), all.end(), index);
    if (found == all.end()) return;
    const auto id = static_cast<BufferId>(found - all.begin());
    const ProblemBuffer& buffer = planned.map.problem.buffers[Index(id)];
    if (!buffer.swappable && !buffer.recomputable) return;
    DescribeChoices(graphs_, planned, id, options_.budget_bytes, answer_, json);
  }

  std::string WhyItStays(const Planned& planned, const Buffer& buffer, BufferIndex index) const {
    const std::string& reason = planned.map.why_kept[Index(index)];
    if (!reason.empty()) return ReasonText(reason);
    if (!buffer.size_bytes) return ReasonText("unknown-size");
    if (*buffer.size_bytes < options_.min_swap_bytes) return ReasonText("too-small");
    if (!planned.plan.pin_order && planned.plan.swaps.empty()) {
      return "the plan swaps nothing" +
             (planned.report.reason.empty() ? std::string() : ": " + planned.report.reason);
    }
    return "the plan does without: the budget holds, or its uses are too close to one another";
  }

  void Stays(const std::string& why, Json* json) {
    answer_->text += FormatLine("  stays", why);
    (*json)["stays_because"] = why;
  }

  const PlannedGraph& graphs_;
  const Options& options_;
  Answer* answer_;
};

// Up to five names that contain `part`, for the message about a node that is not there.
std::string Similar(const GraphFile& file, const std::string& part) {
  std::string names;
  int found = 0;
  for (const Unit& unit : file.units) {
    for (const Node& node : unit.graph.nodes) {
      if (node.name.find(part) == std::string::npos || found == 5) continue;
      names += (found++ == 0 ? "; there is " : ", ") + Quoted(node.name);
    }
  }
  return names;
}

// Whether the node has the output that the text behind its name asks for: "" (any), ":0", ":1".
bool HasOutput(const Node& node, std::string_view output) {
  if (output.empty()) return true;
  const std::optional<int64_t> port = ParseInt64(output.substr(1));
  return port && *port >= 0 && *port < static_cast<int64_t>(node.outputs.size());
}

Failure NoOutput(const GraphFile& file, const Node& node, std::string_view output) {
  return {kUsage, file.path + ": node " + Quoted(node.name) + " has no output " +
                      std::string(output.substr(1)) + "; it has " +
                      Count(static_cast<int64_t>(node.outputs.size()), "output") +
                      (node.outputs.empty() ? "" : ", numbered from 0")};
}

// Without a node: of each plan its bottleneck, and what more memory would buy.
Attempt<Answer> ExplainPlans(const Arguments& arguments, const GraphFile& file) {
  Answer answer;
  DescribeFile(file, &answer);
  answer.json["graphs"] = Json::array();
  for (const Unit& unit : file.units) {
    Attempt<PlannedGraph> graphs = PlanUnit(arguments, unit);
    if (!graphs.ok()) return graphs.failure();
    if (!HasDeviceMemory(*graphs)) continue;
    answer.text += unit.name + ":\n";
    Json json = {{"graph", unit.name}, {"devices", Json::array()}};
    for (const Planned& planned : graphs->planned) {
      Json one;
      const Status status = DescribeBottleneck(*graphs, planned, arguments.options, &answer, &one);
      if (!status.ok()) return FailureFrom(status, kUsage);
      json["devices"].push_back(std::move(one));
    }
    answer.json["graphs"].push_back(std::move(json));
  }
  if (answer.json["graphs"].empty()) answer.text += "no graph has a tensor on an accelerator\n";
  return answer;
}

Attempt<Answer> Run(const Arguments& arguments) {
  Attempt<GraphFile> file = Open(arguments, arguments.graph);
  if (!file.ok()) return file.failure();
  if (arguments.node.empty()) return ExplainPlans(arguments, *file);
  const std::string name = arguments.node.substr(0, arguments.node.find(':'));
  const std::string output = arguments.node.substr(name.size());
  Answer answer;
  DescribeFile(*file, &answer);
  answer.json["nodes"] = Json::array();
  for (const Unit& unit : file->units) {
    if (!IndexByName(unit.graph).contains(name)) continue;
    Attempt<PlannedGraph> graphs = PlanUnit(arguments, unit);
    if (!graphs.ok()) return graphs.failure();
    const auto by_name = IndexByName(graphs->before);
    const auto id = by_name.find(name);
    if (id == by_name.end()) {
      return Failure{kUsage, Quoted(name) + " was added by tflms: ask for the tensor it copies"};
    }
    const Node& node = graphs->before.node(id->second);
    if (!HasOutput(node, output)) return NoOutput(*file, node, output);
    if (file->units.size() > 1) answer.text += unit.name + ":\n";
    Json json = Explainer(*graphs, arguments.options, &answer).Explain(id->second);
    json["graph"] = unit.name;
    answer.json["nodes"].push_back(std::move(json));
  }
  if (!answer.json["nodes"].empty()) return answer;
  return Failure{kUsage, file->path + " has no node " + Quoted(name) + Similar(*file, name)};
}

}  // namespace

Command ExplainCommand() {
  return {
      "explain",
      "Why the tensors of one node are swapped, or are not, and what else would cost",
      "Every other choice is the plan with that one decision changed, simulated. Without NODE:\n"
      "which operation is the bottleneck of the plan, and what more memory would buy.\n"
      "Example: tflms explain step.pb conv1/Relu --budget-bytes 4GiB",
      {GraphArgument(),
       {"NODE", &Arguments::node, "", "The node's name, or one of its tensors, name:0", false}},
      &Run};
}

}  // namespace tflms::cli
