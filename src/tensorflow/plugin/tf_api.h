// SPDX-License-Identifier: Apache-2.0
//
// The functions of TensorFlow's C interface that the plugin calls, found when TensorFlow loads it.
//
// The plugin links against nothing of TensorFlow, so that one build serves all versions and the
// shared object also loads where there is no TensorFlow (option tables for the command line and
// the docs). Tests fill the struct with functions of their own.

#ifndef TFLMS_TENSORFLOW_PLUGIN_TF_API_H_
#define TFLMS_TENSORFLOW_PLUGIN_TF_API_H_

#include <cstddef>

#include "src/tensorflow/plugin/grappler_abi.h"
#include "tflms/status.h"

namespace tflms {

// Each member is the function TF_<Name> of TensorFlow's C interface.
struct TfApi {
  const char* (*version)();

  abi::Status* (*new_status)();
  void (*delete_status)(abi::Status*);
  void (*set_status)(abi::Status*, int code, const char* message);
  int (*get_code)(const abi::Status*);
  const char* (*message)(const abi::Status*);

  abi::Buffer* (*new_buffer)();
  void (*delete_buffer)(abi::Buffer*);

  void (*get_nodes_to_preserve_list_size)(const abi::GrapplerItem*, int* num_values,
                                          size_t* storage_size, abi::Status*);
  void (*get_nodes_to_preserve_list)(const abi::GrapplerItem*, char** values, size_t* lengths,
                                     int num_values, void* storage, size_t storage_size,
                                     abi::Status*);
  void (*get_fetch_nodes_list_size)(const abi::GrapplerItem*, int* num_values, size_t* storage_size,
                                    abi::Status*);
  void (*get_fetch_nodes_list)(const abi::GrapplerItem*, char** values, size_t* lengths,
                               int num_values, void* storage, size_t storage_size, abi::Status*);

  abi::GraphProperties* (*new_graph_properties)(const abi::GrapplerItem*);
  void (*delete_graph_properties)(abi::GraphProperties*);
  void (*infer_statically)(abi::GraphProperties*, abi::Bool assume_valid_feeds,
                           abi::Bool aggressive_shape_inference,
                           abi::Bool include_input_tensor_values,
                           abi::Bool include_output_tensor_values, abi::Status*);
  void (*get_output_properties_list_size)(abi::GraphProperties*, const char* name, int* num_values,
                                          abi::Status*);
  void (*get_output_properties_list)(abi::GraphProperties*, const char* name,
                                     abi::Buffer** properties, int num_values, abi::Status*);
};

// Looks the functions up in the TensorFlow that this process has loaded. The error names the first
// function that is missing. `set_status` is filled in whenever it was found, error or not.
Status FindTfApi(TfApi* api);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_TF_API_H_
