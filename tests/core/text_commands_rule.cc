// SPDX-License-Identifier: Apache-2.0
//
// Text command `rule`: applies rewriting rules to a graph and checks the laws on the way.

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/graph/laws.h"
#include "src/graph/topology.h"
#include "src/rules/rule.h"
#include "tests/core/text_commands.h"

namespace tflms {
namespace {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(',');
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

Result<int32_t> SmallNumber(std::string_view text) {
  const std::optional<int64_t> value = ParseInt64(text);
  if (!value || *value < -1 || *value > 1000000) {
    return InvalidArgument("expected a small number, found " + Quoted(text));
  }
  return static_cast<int32_t>(*value);
}

// A node's name, or +N for clone N of the request.
Result<NodeId> NodeOrClone(const Graph& graph, std::string_view text) {
  if (!text.starts_with('+')) return NodeNamed(graph, text);
  TFLMS_ASSIGN_OR_RETURN(const int32_t number, SmallNumber(text.substr(1)));
  return graph.size() + number;
}

// READER:SLOT[/GROUP]
Status ReadPlace(const Graph& graph, std::string_view text, SwapEdge* edge) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return InvalidArgument("edge=: expected READER:SLOT[/GROUP], found " + Quoted(text));
  }
  TFLMS_ASSIGN_OR_RETURN(edge->reader, NodeOrClone(graph, text.substr(0, colon)));
  std::string_view slot = text.substr(colon + 1);
  const size_t slash = slot.find('/');
  if (slash != std::string_view::npos) {
    TFLMS_ASSIGN_OR_RETURN(edge->group, SmallNumber(slot.substr(slash + 1)));
    slot = slot.substr(0, slash);
  }
  TFLMS_ASSIGN_OR_RETURN(edge->slot, SmallNumber(slot));
  return Status();
}

// READER:SLOT[/GROUP][,trigger=NODE][,sync=NODE]
Result<SwapEdge> ReadEdge(const Graph& graph, std::string_view text) {
  SwapEdge edge;
  const std::vector<std::string> parts = SplitAtCommas(text);
  if (parts.empty()) return InvalidArgument("edge=: expected READER:SLOT[/GROUP]");
  TFLMS_RETURN_IF_ERROR(ReadPlace(graph, parts.front(), &edge));
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    if (part.starts_with("trigger=")) {
      TFLMS_ASSIGN_OR_RETURN(edge.trigger, NodeOrClone(graph, part.substr(8)));
    } else if (part.starts_with("sync=")) {
      TFLMS_ASSIGN_OR_RETURN(edge.sync, NodeOrClone(graph, part.substr(5)));
    } else {
      return InvalidArgument("edge=: expected trigger= or sync=, found " + Quoted(part));
    }
  }
  return edge;
}

// SOURCE[,trigger=NODE][,SLOT=CLONE]...
Result<NodeClone> ReadClone(const Graph& graph, std::string_view text) {
  NodeClone clone;
  const std::vector<std::string> parts = SplitAtCommas(text);
  if (parts.empty()) return InvalidArgument("clone=: expected the name of a node");
  TFLMS_ASSIGN_OR_RETURN(clone.source, NodeNamed(graph, parts.front()));
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return InvalidArgument("clone=: expected SLOT=CLONE");
    TFLMS_ASSIGN_OR_RETURN(const NodeId node, NodeOrClone(graph, part.substr(equals + 1)));
    if (part.starts_with("trigger=")) {
      clone.trigger = node;
      continue;
    }
    TFLMS_ASSIGN_OR_RETURN(const int32_t slot, SmallNumber(part.substr(0, equals)));
    if (slot < 0) return InvalidArgument("clone=: expected a slot of at least 0");
    clone.reads.resize(std::max(clone.reads.size(), static_cast<size_t>(slot) + 1), kNoNode);
    clone.reads[static_cast<size_t>(slot)] = node;
  }
  return clone;
}

// READER:SLOT,CLONE
Result<ClonedRead> ReadClonedRead(const Graph& graph, std::string_view text) {
  const std::vector<std::string> parts = SplitAtCommas(text);
  if (parts.size() != 2) return InvalidArgument("read=: expected READER:SLOT,CLONE");
  SwapEdge place;
  TFLMS_RETURN_IF_ERROR(ReadPlace(graph, parts[0], &place));
  ClonedRead read{place.reader, place.slot, kNoNode};
  TFLMS_ASSIGN_OR_RETURN(read.clone, NodeOrClone(graph, parts[1]));
  return read;
}

Result<DeviceId> HostOf(const Graph& graph) {
  TFLMS_ASSIGN_OR_RETURN(const DeviceId accelerator, AcceleratorOf(graph));
  const DeviceId host = graph.devices[static_cast<size_t>(accelerator)].host;
  if (host == kNoDevice) return InvalidArgument("the accelerator has no host");
  return host;
}

Result<TriggerStrategy> ReadStrategy(std::string_view text) {
  if (text == "planned") return TriggerStrategy::kPlanned;
  if (text == "direct-order") return TriggerStrategy::kDirectOrder;
  if (text == "chain-rule") return TriggerStrategy::kChainRule;
  return InvalidArgument("strategy=: expected planned, direct-order or chain-rule");
}

Result<SwapRequest> ReadRequest(const Graph& graph, RunArgs* args) {
  SwapRequest request;
  TFLMS_ASSIGN_OR_RETURN(request.host, HostOf(graph));
  for (const std::string& text : args->TakeAll("edge")) {
    TFLMS_ASSIGN_OR_RETURN(const SwapEdge edge, ReadEdge(graph, text));
    request.edges.push_back(edge);
  }
  request.first_clone = graph.size();
  for (const std::string& text : args->TakeAll("clone")) {
    TFLMS_ASSIGN_OR_RETURN(NodeClone clone, ReadClone(graph, text));
    request.clones.push_back(std::move(clone));
  }
  for (const std::string& text : args->TakeAll("read")) {
    TFLMS_ASSIGN_OR_RETURN(const ClonedRead read, ReadClonedRead(graph, text));
    request.cloned_reads.push_back(read);
  }
  for (const std::string& name : SplitAtCommas(args->Take("serial"))) {
    TFLMS_ASSIGN_OR_RETURN(const NodeId id, NodeOrClone(graph, name));
    request.serial_order.push_back(id);
  }
  TFLMS_ASSIGN_OR_RETURN(request.fuse_gap, SmallNumber(args->Take("fuse-gap", "-1")));
  TFLMS_ASSIGN_OR_RETURN(request.lb, SmallNumber(args->Take("lb", "1")));
  TFLMS_ASSIGN_OR_RETURN(request.ub, SmallNumber(args->Take("ub", "10000")));
  TFLMS_ASSIGN_OR_RETURN(request.strategy, ReadStrategy(args->Take("strategy", "planned")));
  return request;
}

// The rules named by the argument without a value, comma-separated, or "all"; in catalog order.
Result<std::vector<const RuleEntry*>> ReadRules(RunArgs* args) {
  std::vector<std::string> names;
  for (const RunArgs::Arg& arg : args->TakeRest()) {
    if (!arg.value.empty()) return InvalidArgument("unknown argument " + Quoted(arg.name));
    for (const std::string& name : SplitAtCommas(arg.name)) names.push_back(name);
  }
  std::vector<const RuleEntry*> rules;
  for (const RuleEntry& entry : RuleCatalog()) {
    const auto is_it = [&](const std::string& name) { return name == entry.name || name == "all"; };
    for (const std::string& name : names) {
      if (is_it(name)) rules.push_back(&entry);
    }
  }
  if (rules.size() < names.size() || names.empty()) {
    return InvalidArgument("expected names of rules or `all`");
  }
  return rules;
}

}  // namespace

Result<Lines> RuleCommand(const Graph& graph, RunArgs* args, TextState*) {
  TFLMS_ASSIGN_OR_RETURN(const SwapRequest request, ReadRequest(graph, args));
  TFLMS_ASSIGN_OR_RETURN(const std::vector<const RuleEntry*> rules, ReadRules(args));
  TFLMS_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph));
  const Contexts contexts = FindContexts(graph, order);
  Graph after = graph;
  IncrementalOrder kept_order(after, order);
  RewriteState state = {&after, &kept_order, Levels(graph, order), &contexts};
  Lines lines;
  for (const RuleEntry* rule : rules) {
    const Graph before_rule = after;
    TFLMS_ASSIGN_OR_RETURN(const RuleEffect effect, rule->apply(request, &state));
    lines.push_back(std::string(rule->name) + " changes=" + std::to_string(effect.changes) +
                    " refused=" + std::to_string(effect.refused));
    TFLMS_RETURN_IF_ERROR(VerifyRewrite(graph, after));
    if ((effect.changes == 0) != (before_rule.nodes == after.nodes)) {
      return InternalError(std::string(rule->name) + " does not say what it did");
    }
  }
  for (std::string& line : GraphLinesAfter(graph, after)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace tflms
