// SPDX-License-Identifier: Apache-2.0
//
// The shared objects this process has loaded, and functions in them.

#ifndef TFLMS_TENSORFLOW_PLUGIN_LOADED_OBJECTS_H_
#define TFLMS_TENSORFLOW_PLUGIN_LOADED_OBJECTS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tflms {

// A loaded object, held open while this lives.
class LoadedObject {
 public:
  LoadedObject(std::string path, void* handle);

  const std::string& path() const { return path_; }
  // The address of an exported function, or null.
  void* Find(const char* name) const;

 private:
  struct Closer {
    void operator()(void* handle) const;
  };
  std::string path_;
  std::unique_ptr<void, Closer> handle_;
};

// The loaded objects whose file name (without folders) `wanted` accepts, in load order.
std::vector<LoadedObject> FindLoadedObjects(bool (*wanted)(std::string_view file_name));

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_LOADED_OBJECTS_H_
