// SPDX-License-Identifier: Apache-2.0
//
// The wire tests' GraphDef builder and file reader.

#include "wire_builder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <protozero/pbf_writer.hpp>

#include "src/tensorflow/wire.h"

namespace tflms {
namespace {

void AddText(uint32_t tag, std::string_view text, std::string* out) {
  protozero::pbf_writer(*out).add_bytes(tag, text.data(), text.size());
}

std::string ShapeValue(const std::vector<int64_t>& extents) {
  std::string shape;
  for (const int64_t extent : extents) {
    protozero::pbf_writer writer(shape);
    protozero::pbf_writer dim(writer, field::kShapeDim);
    dim.add_int64(field::kDimSize, extent);
  }
  return shape;
}

std::string TensorValue(int dtype, const std::vector<int64_t>& extents) {
  std::string tensor;
  protozero::pbf_writer(tensor).add_enum(field::kTensorDtype, dtype);
  AddText(field::kTensorShape, ShapeValue(extents), &tensor);
  return tensor;
}

}  // namespace

NodeBytes::NodeBytes(std::string_view name, std::string_view op) {
  AddText(field::kNodeName, name, &bytes_);
  AddText(field::kNodeOp, op, &bytes_);
}

NodeBytes& NodeBytes::Input(std::string_view text) {
  AddText(field::kNodeInput, text, &bytes_);
  return *this;
}

NodeBytes& NodeBytes::Device(std::string_view name) {
  AddText(field::kNodeDevice, name, &bytes_);
  return *this;
}

NodeBytes& NodeBytes::Attr(std::string_view key, const std::string& value) {
  std::string entry;
  AddText(field::kMapKey, key, &entry);
  AddText(field::kMapValue, value, &entry);
  AddText(field::kNodeAttr, entry, &bytes_);
  return *this;
}

NodeBytes& NodeBytes::Type(std::string_view key, int dtype) {
  std::string value;
  protozero::pbf_writer(value).add_enum(field::kAttrType, dtype);
  return Attr(key, value);
}

NodeBytes& NodeBytes::TypeList(std::string_view key, const std::vector<int>& dtypes) {
  std::string list, value;
  protozero::pbf_writer(list).add_packed_enum(field::kListType, dtypes.begin(), dtypes.end());
  AddText(field::kAttrList, list, &value);
  return Attr(key, value);
}

NodeBytes& NodeBytes::Int(std::string_view key, int64_t number) {
  std::string value;
  protozero::pbf_writer(value).add_int64(field::kAttrInt, number);
  return Attr(key, value);
}

NodeBytes& NodeBytes::Bool(std::string_view key, bool flag) {
  std::string value;
  protozero::pbf_writer(value).add_bool(field::kAttrBool, flag);
  return Attr(key, value);
}

NodeBytes& NodeBytes::String(std::string_view key, std::string_view text) {
  std::string value;
  AddText(field::kAttrString, text, &value);
  return Attr(key, value);
}

NodeBytes& NodeBytes::StringList(std::string_view key, const std::vector<std::string>& values) {
  std::string list, value;
  for (const std::string& text : values) AddText(field::kListString, text, &list);
  AddText(field::kAttrList, list, &value);
  return Attr(key, value);
}

NodeBytes& NodeBytes::Function(std::string_view key, std::string_view name) {
  std::string function, value;
  AddText(1, name, &function);
  AddText(field::kAttrFunc, function, &value);
  return Attr(key, value);
}

NodeBytes& NodeBytes::ShapeOf(std::string_view key, const std::vector<int64_t>& extents) {
  std::string value;
  AddText(field::kAttrShape, ShapeValue(extents), &value);
  return Attr(key, value);
}

NodeBytes& NodeBytes::Tensor(std::string_view key, int dtype, const std::vector<int64_t>& extents) {
  std::string value;
  AddText(field::kAttrTensor, TensorValue(dtype, extents), &value);
  return Attr(key, value);
}

NodeBytes& NodeBytes::Int32Scalar(std::string_view key, int32_t number) {
  std::string tensor = TensorValue(kInt32, {});
  protozero::pbf_writer(tensor).add_packed_int32(field::kTensorInt, &number, &number + 1);
  std::string value;
  AddText(field::kAttrTensor, tensor, &value);
  return Attr(key, value);
}

NodeBytes& NodeBytes::Raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

std::string GraphBytes(const std::vector<NodeBytes>& nodes) {
  std::string out;
  for (const NodeBytes& node : nodes) AddText(field::kGraphNode, node.bytes(), &out);
  return out;
}

std::string LibraryBytes(std::string_view function_name, bool must_compile) {
  std::string signature, function, library, out;
  AddText(field::kSignatureName, function_name, &signature);
  AddText(field::kFunctionSignature, signature, &function);
  if (must_compile) {
    // FunctionDef.attr has the same number and form as NodeDef.attr.
    const std::string node = NodeBytes("", "").Bool("_XlaMustCompile", true).bytes();
    function += node.substr(4);
  }
  AddText(field::kLibraryFunction, function, &library);
  AddText(field::kGraphLibrary, library, &out);
  return out;
}

NodeBytes Big(std::string_view name, std::string_view op, const std::vector<std::string>& inputs) {
  NodeBytes node(name, op);
  for (const std::string& input : inputs) node.Input(input);
  node.Device(kGpu0).Type(op == "Placeholder" ? "dtype" : "T", kFloat);
  return node.ShapeOf("shape", {1024, 1024});
}

std::string ReadData(std::string_view file) {
  std::ifstream in(std::filesystem::path(TFLMS_TEXT_TESTS_DIR) / ".." / "data" / file,
                   std::ios::binary);
  EXPECT_TRUE(in.good()) << file;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> DataFiles() {
  return {"mlp_adam.pb", "conv_net.pb",         "while_v1.pb",
          "cond_v1.pb",  "function_library.pb", "mixed_precision.pb"};
}

GraphDefImport MustImport(std::string_view bytes, const ImportContext& context) {
  Result<GraphDefImport> import = ImportGraphDef(bytes, context);
  EXPECT_TRUE(import.ok()) << import.status().ToString();
  return import.ok() ? std::move(*import) : GraphDefImport();
}

std::string MustExport(const Graph& graph, const GraphDefImport& import) {
  std::string out;
  const Status status = ExportGraphDef(graph, import, &out);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return out;
}

NodeId FindId(const Graph& graph, std::string_view name) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).name == name) return id;
  }
  ADD_FAILURE() << "no node " << name;
  return 0;
}

const Node& Find(const Graph& graph, std::string_view name) {
  return graph.node(FindId(graph, name));
}

void AddSwap(Graph* graph, std::string_view reader, int slot, std::string_view trigger,
             std::string_view tag) {
  const NodeId reader_id = FindId(*graph, reader);
  const NodeId trigger_id = FindId(*graph, trigger);
  const auto at = static_cast<size_t>(slot);
  const Input read = graph->node(reader_id).inputs[at];
  const OutputInfo value = graph->output(read);
  const DeviceId gpu = graph->node(reader_id).device;
  const NodeId out_id = graph->size();
  Node out;
  out.name = "tflms/" + std::string(tag) + "/out";
  out.op = "Identity";
  out.role = NodeRole::kSwapOut;
  out.device = graph->devices[static_cast<size_t>(gpu)].host;
  out.inputs = {read};
  out.outputs = {{.type = value.type}};
  Node in = out;
  in.name = "tflms/" + std::string(tag) + "/in";
  in.role = NodeRole::kSwapIn;
  in.device = gpu;
  in.inputs = {{out_id, 0, EdgeAction::kRead}};
  in.control_inputs = {trigger_id};
  in.added_controls = 1;
  graph->nodes.push_back(out);
  graph->nodes.push_back(in);
  graph->node(reader_id).inputs[at] = {out_id + 1, 0, EdgeAction::kRead};
}

}  // namespace tflms
