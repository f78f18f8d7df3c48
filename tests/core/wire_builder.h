// SPDX-License-Identifier: Apache-2.0
//
// GraphDefs for the wire tests, written field by field, and the files of tests/data.

#ifndef TFLMS_TESTS_CORE_WIRE_BUILDER_H_
#define TFLMS_TESTS_CORE_WIRE_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/graph.h"
#include "src/tensorflow/graphdef.h"

namespace tflms {

inline constexpr std::string_view kGpu0 = "/job:localhost/replica:0/task:0/device:GPU:0";
inline constexpr std::string_view kGpu1 = "/job:localhost/replica:0/task:0/device:GPU:1";
inline constexpr std::string_view kCpu0 = "/job:localhost/replica:0/task:0/device:CPU:0";

// One NodeDef under construction; fields come in the order of the calls.
class NodeBytes {
 public:
  NodeBytes(std::string_view name, std::string_view op);
  NodeBytes& Input(std::string_view text);
  NodeBytes& Device(std::string_view name);
  NodeBytes& Type(std::string_view key, int dtype);
  NodeBytes& TypeList(std::string_view key, const std::vector<int>& dtypes);
  NodeBytes& Int(std::string_view key, int64_t value);
  NodeBytes& Bool(std::string_view key, bool value);
  NodeBytes& String(std::string_view key, std::string_view value);
  NodeBytes& StringList(std::string_view key, const std::vector<std::string>& values);
  NodeBytes& Function(std::string_view key, std::string_view name);
  NodeBytes& ShapeOf(std::string_view key, const std::vector<int64_t>& extents);
  NodeBytes& Tensor(std::string_view key, int dtype, const std::vector<int64_t>& extents);
  NodeBytes& Int32Scalar(std::string_view key, int32_t value);
  // Any bytes, as they are.
  NodeBytes& Raw(std::string_view bytes);
  const std::string& bytes() const { return bytes_; }

 private:
  NodeBytes& Attr(std::string_view key, const std::string& value);
  std::string bytes_;
};

inline constexpr int kFloat = 1, kInt32 = 3, kString = 7, kInt64 = 9, kBool = 10, kResource = 20,
                     kFloatRef = 101;

// A GraphDef of these nodes, in this order.
std::string GraphBytes(const std::vector<NodeBytes>& nodes);
// A FunctionDef in a library, as a field of a GraphDef.
std::string LibraryBytes(std::string_view function_name, bool must_compile);

// Placeholder, Identity or MatMul on GPU:0 with float tensors of 1024 x 1024.
NodeBytes Big(std::string_view name, std::string_view op, const std::vector<std::string>& inputs);

// A file of tests/data; the test fails when it is not there.
std::string ReadData(std::string_view file);
std::vector<std::string> DataFiles();

// Import without shapes; the test fails when it does not succeed.
GraphDefImport MustImport(std::string_view bytes, const ImportContext& context = {});
std::string MustExport(const Graph& graph, const GraphDefImport& import);
const Node& Find(const Graph& graph, std::string_view name);
NodeId FindId(const Graph& graph, std::string_view name);

// Puts the tensor that `reader` reads at `slot` on the way over the host: producer ->
// tflms/<tag>/out
// -> tflms/<tag>/in -> reader, with the swap-in waiting for `trigger`.
void AddSwap(Graph* graph, std::string_view reader, int slot, std::string_view trigger,
             std::string_view tag);

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_WIRE_BUILDER_H_
