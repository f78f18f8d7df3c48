// SPDX-License-Identifier: Apache-2.0
//
// Finds TensorFlow's C functions by name among the loaded objects. TensorFlow's libraries are
// loaded RTLD_LOCAL (by Python), so a plain look-up does not see them: they are opened again by
// the path they were loaded from, with RTLD_NOLOAD, which loads nothing.

#include "src/tensorflow/plugin/tf_api.h"

#include <dlfcn.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/tensorflow/plugin/loaded_objects.h"

namespace tflms {
namespace {

// Which library holds the C interface differs from version to version and build to build.
bool MayHoldTensorFlow(std::string_view file_name) {
  return file_name.starts_with("libtensorflow_cc.so") ||
         file_name.starts_with("libtensorflow_framework.so") ||
         file_name.starts_with("libtensorflow.so") ||
         file_name.starts_with("_pywrap_tensorflow_internal");
}

void* FindFunction(const std::vector<LoadedObject>& libraries, const char* name) {
  for (const LoadedObject& library : libraries) {
    if (void* symbol = library.Find(name)) return symbol;
  }
  return nullptr;
}

// Looks functions up one after the other and remembers the first that is missing.
class Finder {
 public:
  explicit Finder(const std::vector<LoadedObject>& libraries) : libraries_(libraries) {}

  template <typename Function>
  void Find(const char* name, Function* function) {
    void* symbol = FindFunction(libraries_, name);
    *function = reinterpret_cast<Function>(symbol);
    if (symbol == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  const std::vector<LoadedObject>& libraries_;
  std::string missing_;
};

}  // namespace

Status FindTfApi(TfApi* api) {
  *api = TfApi{};
  const std::vector<LoadedObject> libraries = FindLoadedObjects(&MayHoldTensorFlow);
  Finder finder(libraries);
  finder.Find("TF_SetStatus", &api->set_status);
  finder.Find("TF_Version", &api->version);
  finder.Find("TF_NewStatus", &api->new_status);
  finder.Find("TF_DeleteStatus", &api->delete_status);
  finder.Find("TF_GetCode", &api->get_code);
  finder.Find("TF_Message", &api->message);
  finder.Find("TF_NewBuffer", &api->new_buffer);
  finder.Find("TF_DeleteBuffer", &api->delete_buffer);
  finder.Find("TF_GetNodesToPreserveListSize", &api->get_nodes_to_preserve_list_size);
  finder.Find("TF_GetNodesToPreserveList", &api->get_nodes_to_preserve_list);
  finder.Find("TF_GetFetchNodesListSize", &api->get_fetch_nodes_list_size);
  finder.Find("TF_GetFetchNodesList", &api->get_fetch_nodes_list);
  finder.Find("TF_NewGraphProperties", &api->new_graph_properties);
  finder.Find("TF_DeleteGraphProperties", &api->delete_graph_properties);
  finder.Find("TF_InferStatically", &api->infer_statically);
  finder.Find("TF_GetOutputPropertiesListSize", &api->get_output_properties_list_size);
  finder.Find("TF_GetOutputPropertiesList", &api->get_output_properties_list);
  if (finder.missing().empty()) return Status();
  if (libraries.empty()) {
    return Unsupported("no TensorFlow library is loaded in this process: import tensorflow first");
  }
  return Unsupported("this TensorFlow lacks the C function " + finder.missing() +
                     "; tflms needs TensorFlow 2.13 or later");
}

}  // namespace tflms
