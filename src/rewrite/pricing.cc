// SPDX-License-Identifier: Apache-2.0
//
// Options -> costs. See pricing.h.

#include "src/rewrite/pricing.h"

#include <algorithm>
#include <cmath>
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

// Sets `factor` to 1 where the rate is not one to be corrected.
double Rate(int64_t option_bytes_per_s, double measured, double machine, double* factor) {
  const double known = measured > 0 ? measured : machine;
  if (option_bytes_per_s > 0 || known <= 0) *factor = 1;
  return option_bytes_per_s > 0 ? static_cast<double>(option_bytes_per_s) / kUsPerSecond
                                : known * *factor;
}

bool IsPriced(const Graph& graph, NodeId id) {
  return graph.kind_of(id) == DeviceKind::kAccelerator &&
         graph.node(id).role == NodeRole::kOriginal;
}

void Correct(double factor, Graph* graph) {
  if (factor == 1) return;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!IsPriced(*graph, id)) continue;
    int64_t& time_us = graph->node(id).time_us;
    time_us = static_cast<int64_t>(std::llround(static_cast<double>(time_us) * factor));
  }
}

}  // namespace

Result<Pricing> PriceGraph(const Options& options, Graph* graph, const Corrections& corrections) {
  Pricing pricing;
  pricing.corrections = corrections;
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
  pricing.link.out_bytes_per_us = Rate(options.link_out_bytes_per_s, measured.out_bytes_per_us,
                                       known.out_bytes_per_us, &pricing.corrections.link_out);
  pricing.link.in_bytes_per_us = Rate(options.link_in_bytes_per_s, measured.in_bytes_per_us,
                                      known.in_bytes_per_us, &pricing.corrections.link_in);
  if (!machine) {
    pricing.corrections.compute = 1;
    return pricing;
  }
  for (const Node& node : graph->nodes) {
    pricing.original.emplace_back(node.time_us, node.workspace_bytes);
  }
  pricing.machine = machine->name;
  pricing.counts = CountsOf(
      ApplyCosts(*machine, profile ? &*profile : nullptr, options.conv_workspace_bytes, graph));
  Correct(corrections.compute, graph);
  return pricing;
}

Expected ExpectedOf(const Options& options, const Pricing& pricing, const Graph& graph) {
  Expected expected;
  if (options.link_out_bytes_per_s == 0) {
    expected.out_bytes_per_us = pricing.link.out_bytes_per_us;
  }
  if (options.link_in_bytes_per_s == 0) expected.in_bytes_per_us = pricing.link.in_bytes_per_us;
  if (pricing.machine.empty()) return expected;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (IsPriced(graph, id) && node.time_us > 0) expected.op_us.emplace(node.name, node.time_us);
  }
  return expected;
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
  report->corrections = pricing.corrections;
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
    if (!IsPriced(graph, id)) continue;
    // push_back on the underlying list: names are unique, and a look-up for each would be O(V^2).
    table.get_ref<nlohmann::ordered_json::object_t&>().Container::emplace_back(
        node.name, nlohmann::ordered_json{
                       {"op", node.op}, {"key", ShapesKey(graph, id)}, {"time_us", node.time_us}});
  }
  return table.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tflms
