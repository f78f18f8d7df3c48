// SPDX-License-Identifier: Apache-2.0
//
// Options -> costs. See pricing.h.

#include "src/rewrite/pricing.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "src/base/checked_math.h"
#include "src/cost/apply.h"
#include "src/cost/machine.h"
#include "src/cost/op_cost.h"
#include "src/cost/profile.h"
#include "src/sim/clones.h"

namespace tflms {
namespace {

constexpr const char* kAutoMachine = "auto";
constexpr const char* kScaledMachine = "neutral";
constexpr double kUsPerSecond = 1e6;
constexpr size_t kMostTypesNamed = 8;

std::string DefaultedText(const CostSummary& summary) {
  std::string text;
  for (size_t i = 0; i < summary.by_default.size(); ++i) {
    if (i > 0) text += ", ";
    if (i == kMostTypesNamed) return text + std::to_string(summary.by_default.size() - i) + " more";
    const auto& [op, nodes] = summary.by_default[i];
    text += op + " (" + std::to_string(nodes) + ")";
  }
  return text;
}

CostCounts CountsOf(const CostSummary& summary) {
  CostCounts counts;
  counts.measured = summary.measured;
  counts.by_shape = summary.by_shape;
  counts.by_formula = summary.by_formula + summary.free;
  counts.by_default = summary.unknown_operations + summary.unknown_shapes;
  counts.scale = summary.scale;
  counts.defaulted = DefaultedText(summary);
  return counts;
}

double Rate(int64_t option_bytes_per_s, double measured, double machine) {
  if (option_bytes_per_s > 0) return static_cast<double>(option_bytes_per_s) / kUsPerSecond;
  return measured > 0 ? measured : machine;
}

}  // namespace

Result<Pricing> PriceGraph(const Options& options, Graph* graph) {
  Pricing pricing;
  std::optional<CostProfile> profile;
  std::optional<MachineProfile> machine;
  if (!options.profile.empty()) {
    TFLMS_ASSIGN_OR_RETURN(profile, ReadProfile(options.profile));
  }
  const bool is_auto = options.machine == kAutoMachine;
  if (!is_auto || profile) {
    TFLMS_ASSIGN_OR_RETURN(machine, FindMachine(is_auto ? kScaledMachine : options.machine));
  }
  const Machine measured = profile ? profile->link : Machine();
  const Machine known = machine ? LinkOf(*machine) : Machine();
  pricing.link.out_bytes_per_us =
      Rate(options.link_out_bytes_per_s, measured.out_bytes_per_us, known.out_bytes_per_us);
  pricing.link.in_bytes_per_us =
      Rate(options.link_in_bytes_per_s, measured.in_bytes_per_us, known.in_bytes_per_us);
  if (!machine) return pricing;
  for (const Node& node : graph->nodes) {
    pricing.original.emplace_back(node.time_us, node.workspace_bytes);
  }
  pricing.machine = machine->name;
  pricing.counts = CountsOf(
      ApplyCosts(*machine, profile ? &*profile : nullptr, options.conv_workspace_bytes, graph));
  return pricing;
}

void TakePricesBack(const Pricing& pricing, Graph* graph) {
  const size_t count = std::min(pricing.original.size(), graph->nodes.size());
  for (size_t id = 0; id < count; ++id) {
    graph->nodes[id].time_us = pricing.original[id].first;
    graph->nodes[id].workspace_bytes = pricing.original[id].second;
  }
}

void DescribeCosts(const Pricing& pricing, const Problem& problem, Report* report) {
  report->machine = pricing.machine;
  report->costs = pricing.counts;
  report->compute_us = 0;
  if (pricing.machine.empty()) return;
  for (const ProblemOp& op : problem.ops) {
    report->compute_us = SaturatingAdd(report->compute_us, op.time_us);
  }
}

std::string CostTableJson(const Graph& graph) {
  nlohmann::ordered_json table = nlohmann::ordered_json::object();
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (graph.kind_of(id) != DeviceKind::kAccelerator || node.role != NodeRole::kOriginal) continue;
    // push_back on the underlying list: names are unique, and a look-up for each would be O(V^2).
    table.get_ref<nlohmann::ordered_json::object_t&>().Container::emplace_back(
        node.name, nlohmann::ordered_json{
                       {"op", node.op}, {"key", ShapesKey(graph, id)}, {"time_us", node.time_us}});
  }
  return table.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tflms
