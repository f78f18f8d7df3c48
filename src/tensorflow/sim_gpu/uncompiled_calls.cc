// SPDX-License-Identifier: Apache-2.0
//
// See uncompiled_calls.h. Left alone, TensorFlow would ask a device of type GPU for its stream, and
// end the process where there is none. The function runtime falls back to running the function's
// own graph when its kernel creator declines a call; ours is TensorFlow's own, and declines for our
// device only.
#include "uncompiled_calls.h"

#include <memory>
#include <mutex>
#include <utility>

#include "tensorflow/compiler/jit/xla_kernel_creator.h"
#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/common_runtime/function.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/platform/logging.h"

namespace tflms::sim_gpu {
namespace {

class DecliningCreator : public tensorflow::XlaKernelCreator {
 public:
  explicit DecliningCreator(std::string device_type) : device_type_(std::move(device_type)) {}

  bool CanCreateKernel(
      const tensorflow::FunctionLibraryRuntime& runtime,
      const std::shared_ptr<const tensorflow::NodeProperties>& properties) const override {
    if (!XlaKernelCreator::CanCreateKernel(runtime, properties)) return false;
    const tensorflow::Device* device = runtime.device();
    if (device == nullptr || device->device_type() != device_type_) return true;
    std::call_once(warned_, [&] {
      LOG(WARNING) << "tflms: XLA cannot compile for the simulated GPU; "
                   << properties->node_def.name() << " and other calls marked jit_compile run "
                   << "uncompiled there. Set jit_compile=False to have such steps optimised.";
    });
    return false;
  }

 private:
  const std::string device_type_;
  mutable std::once_flag warned_;
};

}  // namespace

void RunCallsUncompiled(const std::string& device_type) {
  // A creator that is not TensorFlow's own is left alone: it may know what to do.
  const auto* present = tensorflow::GetDefaultCustomKernelCreator();
  if (dynamic_cast<const tensorflow::XlaKernelCreator*>(present) == nullptr) return;
  // TensorFlow takes a plain pointer and owns it, and deletes the one it had.
  tensorflow::RegisterDefaultCustomKernelCreator(
      std::make_unique<DecliningCreator>(device_type).release());
}

}  // namespace tflms::sim_gpu
