// SPDX-License-Identifier: Apache-2.0
//
// Walks the dynamic linker's list of objects. The walk itself must open nothing (the linker's lock
// is held), so paths are gathered first.

#include "src/tensorflow/plugin/loaded_objects.h"

#include <dlfcn.h>
#include <link.h>

#include <utility>

namespace tflms {
namespace {

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

int CollectPath(dl_phdr_info* info, size_t /*size*/, void* paths) {
  if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
    static_cast<std::vector<std::string>*>(paths)->emplace_back(info->dlpi_name);
  }
  return 0;
}

}  // namespace

void LoadedObject::Closer::operator()(void* handle) const { dlclose(handle); }

LoadedObject::LoadedObject(std::string path, void* handle)
    : path_(std::move(path)), handle_(handle) {}

void* LoadedObject::Find(const char* name) const { return dlsym(handle_.get(), name); }

std::vector<LoadedObject> FindLoadedObjects(bool (*wanted)(std::string_view file_name)) {
  std::vector<std::string> paths;
  dl_iterate_phdr(&CollectPath, &paths);
  std::vector<LoadedObject> objects;
  for (std::string& path : paths) {
    if (!wanted(FileName(path))) continue;
    void* handle = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (handle != nullptr) objects.emplace_back(std::move(path), handle);
  }
  return objects;
}

}  // namespace tflms
