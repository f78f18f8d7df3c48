// SPDX-License-Identifier: Apache-2.0
//
// Reads a TF_GrapplerItem through TensorFlow's C functions.

#include "src/tensorflow/plugin/grappler_item.h"

#include <exception>
#include <memory>
#include <utility>

#include "src/tensorflow/graphdef.h"
#include "src/tensorflow/wire.h"

namespace tflms {
namespace {

using StatusPtr = std::unique_ptr<abi::Status, void (*)(abi::Status*)>;
using BufferPtr = std::unique_ptr<abi::Buffer, void (*)(abi::Buffer*)>;
using PropertiesPtr = std::unique_ptr<abi::GraphProperties, void (*)(abi::GraphProperties*)>;

Status FromTensorFlow(const TfApi& api, const StatusPtr& status, const char* function) {
  if (api.get_code(status.get()) == abi::kOk) return Status();
  return InternalError(std::string(function) + ": " + api.message(status.get()));
}

using ListSize = decltype(TfApi::get_fetch_nodes_list_size);
using List = decltype(TfApi::get_fetch_nodes_list);

// Adds the node names of one of the item's lists to `names`: "name:2" and "^name" count as "name".
Status AddNames(const TfApi& api, const abi::GrapplerItem* item, ListSize list_size, List list,
                std::unordered_set<std::string>* names) {
  const StatusPtr status(api.new_status(), api.delete_status);
  int count = 0;
  size_t storage_bytes = 0;
  list_size(item, &count, &storage_bytes, status.get());
  TFLMS_RETURN_IF_ERROR(FromTensorFlow(api, status, "list of kept nodes"));
  if (count <= 0) return Status();
  std::vector<char*> values(static_cast<size_t>(count), nullptr);
  std::vector<size_t> lengths(values.size(), 0);
  std::vector<char> storage(storage_bytes + 1);
  list(item, values.data(), lengths.data(), count, storage.data(), storage_bytes, status.get());
  TFLMS_RETURN_IF_ERROR(FromTensorFlow(api, status, "list of kept nodes"));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == nullptr) continue;
    std::string_view name(values[i], lengths[i]);
    if (name.starts_with('^')) name.remove_prefix(1);
    names->emplace(name.substr(0, name.find(':')));
  }
  return Status();
}

// Output types of one node; empty when TensorFlow knows none.
Result<std::vector<TensorType>> OutputTypes(const TfApi& api, abi::GraphProperties* properties,
                                            const std::string& name, const StatusPtr& status) {
  int count = 0;
  api.get_output_properties_list_size(properties, name.c_str(), &count, status.get());
  TFLMS_RETURN_IF_ERROR(FromTensorFlow(api, status, "TF_GetOutputPropertiesListSize"));
  std::vector<TensorType> types;
  if (count <= 0) return types;
  std::vector<BufferPtr> buffers;
  std::vector<abi::Buffer*> pointers;
  for (int port = 0; port < count; ++port) {
    buffers.emplace_back(api.new_buffer(), api.delete_buffer);
    pointers.push_back(buffers.back().get());
  }
  api.get_output_properties_list(properties, name.c_str(), pointers.data(), count, status.get());
  TFLMS_RETURN_IF_ERROR(FromTensorFlow(api, status, "TF_GetOutputPropertiesList"));
  for (const abi::Buffer* buffer : pointers) {
    const std::string_view bytes(static_cast<const char*>(buffer->data), buffer->length);
    TFLMS_ASSIGN_OR_RETURN(TensorType type, ParseTensorProperties(bytes));
    types.push_back(std::move(type));
  }
  return types;
}

std::string_view NodeName(std::string_view node_def) {
  std::string_view name;
  FieldReader reader(node_def);
  while (reader.Next()) {
    if (reader.tag() == field::kNodeName) name = reader.Bytes();
  }
  return name;
}

}  // namespace

Result<std::vector<std::string>> NodeNames(std::string_view graph) {
  std::vector<std::string> names;
  try {
    FieldReader reader(graph);
    while (reader.Next()) {
      if (reader.tag() == field::kGraphNode) names.emplace_back(NodeName(reader.Bytes()));
    }
  } catch (const std::exception& fault) {
    return InvalidArgument("GraphDef: malformed behind node " + std::to_string(names.size()) +
                           ": " + fault.what());
  }
  return names;
}

Result<std::unordered_set<std::string>> FetchedNodes(const TfApi& api,
                                                     const abi::GrapplerItem* item) {
  std::unordered_set<std::string> names;
  TFLMS_RETURN_IF_ERROR(
      AddNames(api, item, api.get_fetch_nodes_list_size, api.get_fetch_nodes_list, &names));
  return names;
}

Result<std::unordered_set<std::string>> PreservedNodes(const TfApi& api,
                                                       const abi::GrapplerItem* item) {
  std::unordered_set<std::string> names;
  TFLMS_RETURN_IF_ERROR(AddNames(api, item, api.get_nodes_to_preserve_list_size,
                                 api.get_nodes_to_preserve_list, &names));
  TFLMS_RETURN_IF_ERROR(
      AddNames(api, item, api.get_fetch_nodes_list_size, api.get_fetch_nodes_list, &names));
  return names;
}

Result<std::unordered_map<std::string, std::vector<TensorType>>> InferOutputTypes(
    const TfApi& api, const abi::GrapplerItem* item, const std::vector<std::string>& names) {
  const StatusPtr status(api.new_status(), api.delete_status);
  const PropertiesPtr properties(api.new_graph_properties(item), api.delete_graph_properties);
  api.infer_statically(properties.get(), /*assume_valid_feeds=*/1,
                       /*aggressive_shape_inference=*/0, /*include_input_tensor_values=*/0,
                       /*include_output_tensor_values=*/0, status.get());
  TFLMS_RETURN_IF_ERROR(FromTensorFlow(api, status, "TF_InferStatically"));
  std::unordered_map<std::string, std::vector<TensorType>> types;
  types.reserve(names.size());
  for (const std::string& name : names) {
    TFLMS_ASSIGN_OR_RETURN(std::vector<TensorType> outputs,
                           OutputTypes(api, properties.get(), name, status));
    if (!outputs.empty()) types.emplace(name, std::move(outputs));
  }
  return types;
}

}  // namespace tflms
