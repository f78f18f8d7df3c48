// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's side of the plugin, played by the test: C functions over plain structs, and
// GraphDefs made field by field.

#ifndef TFLMS_TESTS_CORE_PLUGIN_FAKES_H_
#define TFLMS_TESTS_CORE_PLUGIN_FAKES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/tensorflow/plugin/grappler_abi.h"
#include "src/tensorflow/plugin/tf_api.h"

namespace tflms::fake {

// Behind abi::Status.
struct TfStatus {
  int code = -1;
  std::string message;
  abi::Status* get() { return reinterpret_cast<abi::Status*>(this); }
};

// Behind abi::GrapplerItem.
struct Item {
  std::vector<std::string> preserve;
  std::vector<std::string> fetch;
  // Serialized TensorProperties of a node's outputs.
  std::map<std::string, std::vector<std::string>> outputs;
  int infer_code = abi::kOk;  // what shape inference ends with
  bool throws = false;        // the list of kept nodes throws
  const abi::GrapplerItem* get() const { return reinterpret_cast<const abi::GrapplerItem*>(this); }
};

// The functions, working on the structs above. live_objects() counts what they made and was not
// deleted: 0 when nothing leaks.
TfApi Api();
int live_objects();

// A TensorProperties message: DT_FLOAT with these extents.
std::string FloatProperties(const std::vector<int64_t>& extents);

// A node of a GraphDef on the given device, with attribute T = DT_FLOAT.
struct NodeText {
  std::string name;
  std::string op;
  std::string device;
  std::vector<std::string> inputs;
};
std::string GraphDef(const std::vector<NodeText>& nodes);

inline constexpr const char* kGpu = "/job:localhost/replica:0/task:0/device:GPU:0";

// A training step in small: `depth` layers forward, then backward, each backward operation reading
// its forward one; every tensor has `floats` floats. `item` gets shapes, and "loss" as fetch.
std::string Step(int depth, int64_t floats, Item* item);

}  // namespace tflms::fake

#endif  // TFLMS_TESTS_CORE_PLUGIN_FAKES_H_
