// SPDX-License-Identifier: Apache-2.0
//
// The fakes' bodies. Compiled into the tests only.

#ifdef TFLMS_HAS_PLUGIN

#include "tests/core/plugin_fakes.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <protozero/pbf_writer.hpp>  // after wire.h, which sets how it passes text
#include <stdexcept>

#include "src/tensorflow/wire.h"

namespace tflms::fake {
namespace {

std::atomic<int> g_live = 0;

const Item* ItemOf(const abi::GrapplerItem* item) { return reinterpret_cast<const Item*>(item); }

TfStatus* StatusOf(abi::Status* status) { return reinterpret_cast<TfStatus*>(status); }

const char* Version() { return "2.99.0"; }

abi::Status* NewStatus() {
  ++g_live;
  return (new TfStatus)->get();
}

void DeleteStatus(abi::Status* status) {
  --g_live;
  delete StatusOf(status);
}

void SetStatus(abi::Status* status, int code, const char* message) {
  StatusOf(status)->code = code;
  StatusOf(status)->message = message;
}

int GetCode(const abi::Status* status) { return reinterpret_cast<const TfStatus*>(status)->code; }

const char* Message(const abi::Status* status) {
  return reinterpret_cast<const TfStatus*>(status)->message.c_str();
}

abi::Buffer* NewBuffer() {
  ++g_live;
  return new abi::Buffer{};
}

void DeleteBuffer(abi::Buffer* buffer) {
  --g_live;
  if (buffer->data_deallocator != nullptr) {
    buffer->data_deallocator(const_cast<void*>(buffer->data), buffer->length);
  }
  delete buffer;
}

void ListSize(const std::vector<std::string>& names, int* num_values, size_t* storage_size,
              abi::Status* status) {
  *num_values = static_cast<int>(names.size());
  *storage_size = 0;
  for (const std::string& name : names) *storage_size += name.size();
  SetStatus(status, abi::kOk, "");
}

void List(const std::vector<std::string>& names, char** values, size_t* lengths, void* storage,
          abi::Status* status) {
  char* place = static_cast<char*>(storage);
  for (size_t i = 0; i < names.size(); ++i) {
    values[i] = place;
    lengths[i] = names[i].size();
    std::memcpy(place, names[i].data(), names[i].size());
    place += names[i].size();
  }
  SetStatus(status, abi::kOk, "");
}

void PreserveSize(const abi::GrapplerItem* item, int* count, size_t* bytes, abi::Status* status) {
  if (ItemOf(item)->throws) throw std::runtime_error("the fake was asked to throw");
  ListSize(ItemOf(item)->preserve, count, bytes, status);
}

void Preserve(const abi::GrapplerItem* item, char** values, size_t* lengths, int /*count*/,
              void* storage, size_t /*bytes*/, abi::Status* status) {
  List(ItemOf(item)->preserve, values, lengths, storage, status);
}

void FetchSize(const abi::GrapplerItem* item, int* count, size_t* bytes, abi::Status* status) {
  ListSize(ItemOf(item)->fetch, count, bytes, status);
}

void Fetch(const abi::GrapplerItem* item, char** values, size_t* lengths, int /*count*/,
           void* storage, size_t /*bytes*/, abi::Status* status) {
  List(ItemOf(item)->fetch, values, lengths, storage, status);
}

// Properties are the item itself.
const Item* ItemOf(abi::GraphProperties* properties) {
  return reinterpret_cast<const Item*>(properties);
}

abi::GraphProperties* NewProperties(const abi::GrapplerItem* item) {
  ++g_live;
  return reinterpret_cast<abi::GraphProperties*>(const_cast<abi::GrapplerItem*>(item));
}

void DeleteProperties(abi::GraphProperties* /*properties*/) { --g_live; }

void Infer(abi::GraphProperties* properties, abi::Bool /*assume_valid_feeds*/,
           abi::Bool /*aggressive*/, abi::Bool /*input_values*/, abi::Bool /*output_values*/,
           abi::Status* status) {
  SetStatus(status, ItemOf(properties)->infer_code, "no shapes today");
}

void OutputsSize(abi::GraphProperties* properties, const char* name, int* count,
                 abi::Status* status) {
  const auto& outputs = ItemOf(properties)->outputs;
  const auto found = outputs.find(name);
  *count = found == outputs.end() ? 0 : static_cast<int>(found->second.size());
  SetStatus(status, abi::kOk, "");
}

void Outputs(abi::GraphProperties* properties, const char* name, abi::Buffer** buffers, int count,
             abi::Status* status) {
  const std::vector<std::string>& messages = ItemOf(properties)->outputs.at(name);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    void* copy = std::malloc(messages[i].size() + 1);
    std::memcpy(copy, messages[i].data(), messages[i].size());
    *buffers[i] = {copy, messages[i].size(), [](void* data, size_t) { std::free(data); }};
  }
  SetStatus(status, abi::kOk, "");
}

constexpr int32_t kDtFloat = 1;

}  // namespace

TfApi Api() {
  return {.version = &Version,
          .new_status = &NewStatus,
          .delete_status = &DeleteStatus,
          .set_status = &SetStatus,
          .get_code = &GetCode,
          .message = &Message,
          .new_buffer = &NewBuffer,
          .delete_buffer = &DeleteBuffer,
          .get_nodes_to_preserve_list_size = &PreserveSize,
          .get_nodes_to_preserve_list = &Preserve,
          .get_fetch_nodes_list_size = &FetchSize,
          .get_fetch_nodes_list = &Fetch,
          .new_graph_properties = &NewProperties,
          .delete_graph_properties = &DeleteProperties,
          .infer_statically = &Infer,
          .get_output_properties_list_size = &OutputsSize,
          .get_output_properties_list = &Outputs};
}

int live_objects() { return g_live; }

std::string FloatProperties(const std::vector<int64_t>& extents) {
  std::string shape;
  protozero::pbf_writer shape_writer(shape);
  for (const int64_t extent : extents) {
    std::string dim;
    protozero::pbf_writer(dim).add_int64(1, extent);
    shape_writer.add_message(2, dim);
  }
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_enum(1, kDtFloat);
  writer.add_message(2, shape);
  return message;
}

std::string GraphDef(const std::vector<NodeText>& nodes) {
  std::string graph;
  protozero::pbf_writer graph_writer(graph);
  for (const NodeText& node : nodes) {
    std::string type;
    protozero::pbf_writer(type).add_enum(6, kDtFloat);
    std::string attr;
    protozero::pbf_writer attr_writer(attr);
    attr_writer.add_string(1, "T");
    attr_writer.add_message(2, type);
    std::string message;
    protozero::pbf_writer writer(message);
    writer.add_string(1, node.name);
    writer.add_string(2, node.op);
    for (const std::string& input : node.inputs) writer.add_string(3, input);
    writer.add_string(4, node.device);
    writer.add_message(5, attr);
    graph_writer.add_message(1, message);
  }
  return graph;
}

std::string Step(int depth, int64_t floats, Item* item) {
  const auto forward = [](int layer) { return "forward_" + std::to_string(layer); };
  std::vector<NodeText> nodes = {{"input", "Placeholder", kGpu, {}},
                                 {forward(0), "Relu", kGpu, {"input"}}};
  for (int layer = 1; layer < depth; ++layer) {
    nodes.push_back({forward(layer), "Tanh", kGpu, {forward(layer - 1)}});
  }
  std::string gradient = forward(depth - 1);
  for (int layer = depth - 1; layer >= 0; --layer) {
    const std::string name = "backward_" + std::to_string(layer);
    nodes.push_back({name, "TanhGrad", kGpu, {forward(layer), gradient}});
    gradient = name;
  }
  nodes.push_back({"loss", "Neg", kGpu, {gradient}});
  for (const NodeText& node : nodes) item->outputs[node.name] = {FloatProperties({floats})};
  item->fetch = {"loss:0"};
  item->preserve = {"loss"};
  return GraphDef(nodes);
}

}  // namespace tflms::fake

#endif  // TFLMS_HAS_PLUGIN
