// SPDX-License-Identifier: Apache-2.0
//
// Two walks over the nodes: what is measured and the factor on formulas, then the times.

#include "src/cost/apply.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "src/cost/op_cost.h"

namespace tflms {
namespace {

constexpr int64_t kUnsetTimeUs = 1;  // Node::time_us of a node whose time nobody has set
constexpr double kMaxTimeUs = 1e15;

struct Price {
  NodeId node = kNoNode;
  OpCost formula;
  std::optional<MeasuredTime> measured;
};

std::vector<Price> Prices(const MachineProfile& machine, const CostProfile* profile,
                          const Graph& graph, CostSummary* summary) {
  std::vector<Price> prices;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (graph.kind_of(id) != DeviceKind::kAccelerator || node.role != NodeRole::kOriginal) continue;
    if (node.time_us != kUnsetTimeUs) {
      ++summary->given;
      continue;
    }
    Price& price = prices.emplace_back();
    price.node = id;
    price.formula = PriceOperation(graph, id, machine);
    if (profile) price.measured = FindTime(*profile, node, ShapesKey(graph, id));
  }
  return prices;
}

// The median of measured / formula; 1 when nothing is measured.
double Scale(const std::vector<Price>& prices) {
  std::vector<double> ratios;
  for (const Price& price : prices) {
    if (!price.measured || price.measured->time_us <= 0 || price.formula.time_us <= 0) continue;
    ratios.push_back(price.measured->time_us / price.formula.time_us);
  }
  if (ratios.empty()) return 1;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

void Count(const Price& price, CostSummary* summary) {
  if (price.measured) {
    ++(price.measured->by_name ? summary->measured : summary->by_shape);
    return;
  }
  switch (price.formula.by) {
    case PricedBy::kFree:
      ++summary->free;
      break;
    case PricedBy::kFormula:
      ++summary->by_formula;
      break;
    case PricedBy::kUnknownOperation:
      ++summary->unknown_operations;
      break;
    case PricedBy::kUnknownShape:
      ++summary->unknown_shapes;
      break;
  }
}

bool IsByDefault(const Price& price) {
  return !price.measured && (price.formula.by == PricedBy::kUnknownOperation ||
                             price.formula.by == PricedBy::kUnknownShape);
}

int64_t Rounded(double time_us) {
  return static_cast<int64_t>(std::llround(std::clamp(time_us, 0.0, kMaxTimeUs)));
}

}  // namespace

CostSummary ApplyCosts(const MachineProfile& machine, const CostProfile* profile,
                       int64_t conv_workspace_bytes, Graph* graph) {
  CostSummary summary;
  const std::vector<Price> prices = Prices(machine, profile, *graph, &summary);
  summary.scale = Scale(prices);
  std::map<std::string, int64_t> by_default;
  for (const Price& price : prices) {
    Node& node = graph->node(price.node);
    Count(price, &summary);
    if (IsByDefault(price)) ++by_default[node.op];
    node.time_us =
        Rounded(price.measured ? price.measured->time_us : price.formula.time_us * summary.scale);
    if (machine.library_workspace && node.workspace_bytes == 0 && IsConvolution(node)) {
      node.workspace_bytes = conv_workspace_bytes;
    }
  }
  summary.by_default.assign(by_default.begin(), by_default.end());
  std::stable_sort(summary.by_default.begin(), summary.by_default.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return summary;
}

}  // namespace tflms
