// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows how TensorFlow versions differ in what the simulated GPU uses.
#ifndef TFLMS_SIM_GPU_TENSORFLOW_COMPAT_H_
#define TFLMS_SIM_GPU_TENSORFLOW_COMPAT_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/profiler/lib/scoped_memory_debug_annotation.h"

namespace tflms::sim_gpu {

// The thread's memory annotation holds C strings (null when unset) up to 2.18 and views later.
inline std::string_view TextOf(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}
inline std::string_view TextOf(absl::string_view text) { return {text.data(), text.size()}; }

inline std::string_view PendingRegionType() {
  return TextOf(
      tsl::profiler::ScopedMemoryDebugAnnotation::CurrentAnnotation().pending_region_type);
}

inline std::string_view PendingOpName() {
  return TextOf(tsl::profiler::ScopedMemoryDebugAnnotation::CurrentAnnotation().pending_op_name);
}

// Gives an execution another device context; false where its parameters cannot be reached (2.13).
template <typename Context, typename DeviceContext>
auto SetDeviceContext(Context* context, DeviceContext* device_context, int /*preferred*/)
    -> decltype(context->params()->op_device_context, bool()) {
  context->params()->op_device_context = device_context;
  return true;
}
template <typename Context, typename DeviceContext>
bool SetDeviceContext(Context* /*context*/, DeviceContext* /*device_context*/, long /*else*/) {
  return false;
}

}  // namespace tflms::sim_gpu

#endif  // TFLMS_SIM_GPU_TENSORFLOW_COMPAT_H_
