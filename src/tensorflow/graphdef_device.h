// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's device names: full ("/job:j/replica:0/task:0/device:GPU:1"), partial
// ("/device:GPU:1", "/gpu:1") or empty. Two spellings of one device become one Device.

#ifndef TFLMS_TENSORFLOW_GRAPHDEF_DEVICE_H_
#define TFLMS_TENSORFLOW_GRAPHDEF_DEVICE_H_

#include <string>
#include <string_view>
#include <unordered_map>

#include "src/graph/graph.h"
#include "src/tensorflow/graphdef.h"

namespace tflms {

// Parts of a device name as text; a part that is not named is empty.
struct DeviceName {
  std::string job, replica, task, type, id;
};

// Takes `text` apart; false when it is not a device name. "*" counts as not named.
bool ParseDeviceName(std::string_view text, DeviceName* name);

// The canonical spelling.
std::string FormatDeviceName(const DeviceName& name);

// Devices of a graph while it is read. Every accelerator brings its host device with it.
class DeviceTable {
 public:
  DeviceTable(const ImportContext& context, Graph* graph) : context_(context), graph_(graph) {}
  // The id for a NodeDef.device; kNoDevice for an empty one. Names that do not parse, wildcards
  // and devices of other types get kind kOther.
  Result<DeviceId> Find(std::string_view text);

 private:
  Result<DeviceId> Intern(const std::string& canonical, DeviceKind kind);
  DeviceKind KindOf(const DeviceName& name) const;

  const ImportContext& context_;
  Graph* graph_;
  std::unordered_map<std::string_view, DeviceId> by_spelling_;
  std::unordered_map<std::string, DeviceId> by_name_;
};

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_GRAPHDEF_DEVICE_H_
