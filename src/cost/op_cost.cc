// SPDX-License-Identifier: Apache-2.0
//
// Formulas from shapes. See op_cost.h.

#include "src/cost/op_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "src/cost/op_kinds.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// The type of an input slot or, for kFirstOutput, of the first output; null when there is none.
const TensorType* TypeAt(const Graph& graph, const Node& node, int8_t slot) {
  if (slot == kFirstOutput) return node.outputs.empty() ? nullptr : &node.outputs[0].type;
  if (Index(slot) >= node.inputs.size()) return nullptr;
  return &graph.output(node.inputs[Index(slot)]).type;
}

std::optional<double> Elements(const TensorType* type) {
  if (type == nullptr) return std::nullopt;
  const std::optional<int64_t> count = ElementCount(type->shape);
  if (!count) return std::nullopt;
  return static_cast<double>(*count);
}

// Bytes of a tensor in device memory: 0 for handles and what lives on the host.
std::optional<double> DeviceBytes(const OutputInfo& output) {
  if (output.host_memory || ElementBytes(output.type.dtype) == 0) return 0.0;
  const std::optional<int64_t> bytes = SizeBytes(output.type);
  if (!bytes) return std::nullopt;
  return static_cast<double>(*bytes);
}

std::optional<double> BytesMoved(const Graph& graph, const Node& node, const OpKind& kind) {
  if (kind.kind == PriceKind::kTraffic) {
    const TensorType* type = TypeAt(graph, node, kind.result);
    const std::optional<double> elements = Elements(type);
    if (!elements) return std::nullopt;
    return kind.passes * *elements * static_cast<double>(ElementBytes(type->dtype));
  }
  double sum = 0;
  for (const Input& in : node.inputs) {
    const std::optional<double> bytes = DeviceBytes(graph.output(in));
    if (!bytes) return std::nullopt;
    sum += *bytes;
  }
  for (const OutputInfo& output : node.outputs) {
    const std::optional<double> bytes = DeviceBytes(output);
    if (!bytes) return std::nullopt;
    sum += *bytes;
  }
  return sum;
}

std::optional<double> ConvFlops(const Graph& graph, const Node& node, const OpKind& kind) {
  const TensorType* filter = TypeAt(graph, node, kind.filter);
  const std::optional<double> y = Elements(TypeAt(graph, node, kind.result));
  const std::optional<double> w = Elements(filter);
  if (!y || !w) return std::nullopt;
  const std::vector<int64_t>& extents = filter->shape.extents;
  const size_t last = kind.kind == PriceKind::kDepthwise ? 2 : 1;
  if (extents.size() < last) return std::nullopt;
  double channels = 1;
  for (size_t i = extents.size() - last; i < extents.size(); ++i) {
    channels *= static_cast<double>(extents[i]);
  }
  return channels == 0 ? 0 : 2 * *y * *w / channels;
}

// The three operands of a product; nothing when a shape is unknown.
struct Product {
  std::array<const std::vector<int64_t>*, 3> extents = {};  // of A, B and C
  double elements = 1;                                      // |A| |B| |C|
};

std::optional<Product> ProductOf(const Graph& graph, const Node& node) {
  Product product;
  constexpr std::array<int8_t, 3> kSlots = {0, 1, kFirstOutput};
  for (size_t i = 0; i < kSlots.size(); ++i) {
    const TensorType* type = TypeAt(graph, node, kSlots[i]);
    const std::optional<double> elements = Elements(type);
    if (!elements) return std::nullopt;
    product.extents[i] = &type->shape.extents;
    product.elements *= *elements;
  }
  return product;
}

// Of a matrix product over leading extents that B or A may lack (broadcast): each operand's own
// batch is taken out, the result's counts.
std::optional<double> MatMulFlops(const Graph& graph, const Node& node) {
  const std::optional<Product> product = ProductOf(graph, node);
  if (!product) return std::nullopt;
  double batches = 1, result_batch = 1;
  for (const std::vector<int64_t>* extents : product->extents) {
    result_batch = 1;
    for (size_t i = 0; i + 2 < extents->size(); ++i) {
      result_batch *= static_cast<double>((*extents)[i]);
    }
    batches *= result_batch;
  }
  return batches == 0 ? 0 : 2 * result_batch * std::sqrt(product->elements / batches);
}

// The product of the extents that belong to all three operands of an einsum. The equation is not
// at hand, but extents tell: of those of one value, let a, b and c stand in A, B and C, x of them
// in all three and the others in two each. Then a + b - c - x, a + c - b - x and b + c - a - x are
// even and >= 0. Where more than one x is left, `most` takes the largest.
double SharedExtents(const Product& product, bool most) {
  std::map<int64_t, std::array<int, 3>> counts;
  for (size_t i = 0; i < product.extents.size(); ++i) {
    for (int64_t extent : *product.extents[i]) ++counts[extent][i];
  }
  double shared = 1;
  for (const auto& [extent, n] : counts) {
    const auto fits = [&n = n](int x) {
      const int rest[] = {n[0] + n[1] - n[2] - x, n[0] + n[2] - n[1] - x, n[1] + n[2] - n[0] - x};
      return std::all_of(std::begin(rest), std::end(rest),
                         [](int r) { return r >= 0 && r % 2 == 0; });
    };
    const int limit = std::min({n[0], n[1], n[2]});
    int found = 0;
    for (int x = 0; x <= limit; ++x) {
      if (!fits(x)) continue;
      found = x;
      if (!most) break;
    }
    shared *= std::pow(static_cast<double>(extent), found);
  }
  return shared;
}

std::optional<double> EinsumFlops(const Graph& graph, const Node& node) {
  if (node.inputs.size() == 1) return 0;  // a sum or a transpose
  const std::optional<Product> product = ProductOf(graph, node);
  if (!product) return std::nullopt;
  if (product->elements == 0) return 0;
  double shared = SharedExtents(*product, /*most=*/true);
  // All of it shared would be a product element by element: more likely a contraction of equals.
  if (shared * shared * shared >= product->elements) shared = SharedExtents(*product, false);
  return 2 * std::sqrt(product->elements / shared);
}

std::optional<double> Flops(const Graph& graph, const Node& node, const OpKind& kind) {
  switch (kind.kind) {
    case PriceKind::kConv:
    case PriceKind::kDepthwise:
      return ConvFlops(graph, node, kind);
    case PriceKind::kMatMul:
      return MatMulFlops(graph, node);
    case PriceKind::kEinsum:
      return EinsumFlops(graph, node);
    default:
      return 0;
  }
}

bool IsFree(const Node& node, const OpKind& kind) {
  if (kind.kind == PriceKind::kFree || node.Has(kSource | kControlFlowFlags)) return true;
  return !node.outputs.empty() &&
         std::all_of(node.outputs.begin(), node.outputs.end(), [](const OutputInfo& output) {
           return output.alias_of >= 0 || output.host_memory;
         });
}

bool IsElementWise(const Node& node) {
  return !node.outputs.empty() && node.outputs[0].may_reuse != -1;
}

bool IsHalf(const Node& node) {
  if (node.outputs.empty()) return false;
  const DataType dtype = node.outputs[0].type.dtype;
  return dtype == DataType::kFloat16 || dtype == DataType::kBFloat16;
}

}  // namespace

OpCost PriceOperation(const Graph& graph, NodeId id, const MachineProfile& machine) {
  const Node& node = graph.node(id);
  const OpKind kind = FindOpKind(node.op);
  OpCost cost;
  if (IsFree(node, kind)) return cost;
  const std::optional<double> flops = Flops(graph, node, kind);
  const std::optional<double> bytes = BytesMoved(graph, node, kind);
  const bool known = kind.kind != PriceKind::kUnknown || IsElementWise(node);
  if (!flops || !bytes) {
    cost.by = PricedBy::kUnknownShape;
    cost.time_us = kUnknownShapeLaunches * machine.launch_us;
    return cost;
  }
  cost.by = known ? PricedBy::kFormula : PricedBy::kUnknownOperation;
  cost.flops = *flops;
  cost.bytes = *bytes;
  const double rate = IsHalf(node) ? machine.half_flops_per_us : machine.flops_per_us;
  cost.time_us =
      machine.launch_us + std::max(cost.flops / rate, cost.bytes / machine.memory_bytes_per_us);
  return cost;
}

bool IsConvolution(const Node& node) {
  const PriceKind kind = FindOpKind(node.op).kind;
  return kind == PriceKind::kConv || kind == PriceKind::kDepthwise;
}

namespace {

// Appends "f32[2,3]"; false when the shape is not known. Types without a fixed size have no shape
// that matters.
bool AppendType(const TensorType& type, std::string* text) {
  *text += DataTypeName(type.dtype);
  if (ElementBytes(type.dtype) == 0) return true;
  if (!type.shape.rank_known) return false;
  *text += '[';
  for (size_t i = 0; i < type.shape.extents.size(); ++i) {
    if (type.shape.extents[i] == kUnknownExtent) return false;
    if (i > 0) *text += ',';
    *text += std::to_string(type.shape.extents[i]);
  }
  *text += ']';
  return true;
}

}  // namespace

std::string ShapesKey(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string key = node.op + "|";
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i > 0) key += ',';
    if (!AppendType(graph.output(node.inputs[i]).type, &key)) return "";
  }
  key += "->";
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i > 0) key += ',';
    if (!AppendType(node.outputs[i].type, &key)) return "";
  }
  return key;
}

}  // namespace tflms
