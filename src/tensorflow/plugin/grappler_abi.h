// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's C interface for graph optimizers, as far as tflms uses it, in declarations of our
// own: no header of TensorFlow is needed to build the plugin, and one build serves every version
// that keeps this interface (2.13 to 2.21 do). tests/python/test_plugin.py compiles this file next
// to the headers of an installed wheel and compares sizes, offsets and enumerators.
//
// The structs that TensorFlow hands in begin with their size in bytes. Newer versions may append
// members, older ones may lack some: write a member only where it lies within that size (Holds).

#ifndef TFLMS_TENSORFLOW_PLUGIN_GRAPPLER_ABI_H_
#define TFLMS_TENSORFLOW_PLUGIN_GRAPPLER_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tflms::abi {

// Opaque to us; TensorFlow makes and owns them.
struct Status;           // TF_Status
struct GrapplerItem;     // TF_GrapplerItem
struct GraphProperties;  // TF_GraphProperties

// TF_Code, the values used here.
inline constexpr int kOk = 0;
inline constexpr int kInvalidArgument = 3;
// From an optimizer: "did nothing", which is not an error; the graph stays as it was.
inline constexpr int kAborted = 10;

// TF_Bool.
using Bool = unsigned char;

// TF_Buffer.
struct Buffer {
  const void* data;
  size_t length;
  void (*data_deallocator)(void* data, size_t length);
};

// TF_TriState. TensorFlow reads kDefault as "on".
enum TriState : int { kDefault = 0, kOff = 1, kOn = 2 };

// TP_OptimizerConfigs: passes that are not to run on graphs with a node on the plugin's device.
struct OptimizerConfigs {
  size_t struct_size;
  void* ext;
  TriState disable_model_pruning;
  TriState implementation_selector;
  TriState function_optimization;
  TriState common_subgraph_elimination;
  TriState arithmetic_optimization;
  TriState debug_stripper;
  TriState constant_folding;
  TriState shape_optimization;
  TriState auto_mixed_precision;
  TriState auto_mixed_precision_onednn_bfloat16;
  TriState auto_mixed_precision_mkl;
  TriState pin_to_host_optimization;
  TriState layout_optimizer;
  TriState remapping;
  TriState loop_optimization;
  TriState dependency_optimization;
  TriState auto_parallel;
  TriState memory_optimization;
  TriState scoped_allocator_optimization;
};

// TP_Optimizer: the plugin's functions.
struct Optimizer {
  size_t struct_size;
  void* ext;
  void* (*create_func)();
  void (*optimize_func)(void* instance, const Buffer* graph, const GrapplerItem* item,
                        Buffer* optimized_graph, Status* status);
  void (*destroy_func)(void* instance);
};

// TP_OptimizerRegistrationParams: what TF_InitGraph fills in. TensorFlow keeps the pointer
// `device_type`: the text must stay.
struct RegistrationParams {
  size_t struct_size;
  void* ext;
  int32_t major_version;
  int32_t minor_version;
  int32_t patch_version;
  const char* device_type;
  OptimizerConfigs* optimizer_configs;
  Optimizer* optimizer;
};

// True when a struct of `struct_size` bytes holds the member that ends at `member_end`.
inline constexpr bool Holds(size_t struct_size, size_t member_end) {
  return struct_size >= member_end;
}

}  // namespace tflms::abi

#endif  // TFLMS_TENSORFLOW_PLUGIN_GRAPPLER_ABI_H_
