// SPDX-License-Identifier: Apache-2.0
//
// See device.h. Around every synchronous kernel:
//
//   before   hold the workspace that the settings give its type; note what runs on this thread
//   after    every output in device memory lies inside the device's region: one that the kernel
//            built in scratch is moved there
//
// Cost per kernel: a few comparisons per input and output; no lock.
#include "device.h"

#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernel_rules.h"
#include "simulator.h"
#include "tensorflow/core/common_runtime/device_factory.h"
#include "tensorflow/core/common_runtime/dma_helper.h"
#include "tensorflow/core/common_runtime/local_device.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/public/session_options.h"
#include "thread_state.h"

namespace tflms::sim_gpu {
namespace {

using tensorflow::DataType;
using tensorflow::Device;
using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

// The alignment TensorFlow itself asks for.
constexpr size_t kAlignmentBytes = 64;

// Above the CPU's, as a GPU's.
constexpr int kDevicePriority = 210;

std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

// State reaches past the kernel's own run through these types, so its temporaries may be what it
// stores there (a variable's new buffer, a list's element).
bool HoldsState(DataType type) {
  return tensorflow::IsRefType(type) || type == tensorflow::DT_RESOURCE ||
         type == tensorflow::DT_VARIANT;
}

bool TemporariesAreScratch(const OpKernel& kernel) {
  for (int i = 0; i < kernel.num_inputs(); ++i) {
    if (HoldsState(kernel.input_type(i))) return false;
  }
  for (int i = 0; i < kernel.num_outputs(); ++i) {
    if (HoldsState(kernel.output_type(i))) return false;
  }
  return kernel.num_outputs() > 0 && !BuildsOutputsAsTemporaries(View(kernel.type_string_view()));
}

class SimulatedDevice : public tensorflow::LocalDevice {
 public:
  SimulatedDevice(const tensorflow::SessionOptions& options,
                  const tensorflow::DeviceAttributes& attributes, Simulator* simulator,
                  DeviceState* state)
      : LocalDevice(options, attributes), settings_(simulator->settings), state_(state) {}

  tensorflow::Allocator* GetAllocator(tensorflow::AllocatorAttributes attributes) override {
    if (attributes.on_host()) return tensorflow::cpu_allocator();
    return state_->memory.get();
  }

  absl::Status MakeTensorFromProto(const tensorflow::TensorProto& proto,
                                   const tensorflow::AllocatorAttributes attributes,
                                   Tensor* tensor) override;

  absl::Status TryGetDeviceContext(tensorflow::DeviceContext** context) override {
    state_->link->Ref();
    *context = state_->link;
    return absl::OkStatus();
  }

  absl::Status Sync() override { return absl::OkStatus(); }
  bool IsRemoteCallAllowed() const override { return true; }

  void Compute(OpKernel* kernel, OpKernelContext* context) override;
  void ComputeAsync(tensorflow::AsyncOpKernel* kernel, OpKernelContext* context,
                    tensorflow::AsyncOpKernel::DoneCallback done) override;

 private:
  // Takes the workspace of the kernel's type; null when it has none or on failure, with the
  // context's status set.
  void* TakeWorkspace(const OpKernel& kernel, OpKernelContext* context);
  void MoveOutputsToDevice(const OpKernel& kernel, OpKernelContext* context);
  void MoveToDevice(const OpKernel& kernel, Tensor* tensor, OpKernelContext* context);

  const Settings& settings_;
  DeviceState* const state_;
};

absl::Status SimulatedDevice::MakeTensorFromProto(const tensorflow::TensorProto& proto,
                                                  const tensorflow::AllocatorAttributes attributes,
                                                  Tensor* tensor) {
  if (proto.dtype() > 0 && proto.dtype() <= tensorflow::DataType_MAX) {
    Tensor parsed(proto.dtype());
    if (parsed.FromProto(GetAllocator(attributes), proto)) {
      *tensor = std::move(parsed);
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Cannot make a tensor of type ", tensorflow::DataTypeString(proto.dtype()), " on ", name(),
      ": its value is malformed, or the device is out of memory."));
}

void SimulatedDevice::Compute(OpKernel* kernel, OpKernelContext* context) {
  void* workspace = nullptr;
  if (!settings_.workspace_bytes.empty()) {
    workspace = TakeWorkspace(*kernel, context);
    if (!context->status().ok()) return;
  }
  {
    const ScopedKernel scope({View(kernel->name_view()), TemporariesAreScratch(*kernel)});
    kernel->Compute(context);
  }
  if (workspace != nullptr) state_->memory->DeallocateRaw(workspace);
  MoveOutputsToDevice(*kernel, context);
}

void SimulatedDevice::ComputeAsync(tensorflow::AsyncOpKernel* kernel, OpKernelContext* context,
                                   tensorflow::AsyncOpKernel::DoneCallback done) {
  const ScopedKernel scope({View(kernel->name_view()), false});
  kernel->ComputeAsync(context, std::move(done));
}

void* SimulatedDevice::TakeWorkspace(const OpKernel& kernel, OpKernelContext* context) {
  const auto found = settings_.workspace_bytes.find(View(kernel.type_string_view()));
  if (found == settings_.workspace_bytes.end() || found->second == 0) return nullptr;
  const ScopedKernel scope({View(kernel.name_view()), false});
  void* workspace =
      state_->memory->AllocateRaw(kAlignmentBytes, static_cast<size_t>(found->second));
  if (workspace == nullptr) {
    context->SetStatus(absl::ResourceExhaustedError(
        absl::StrCat("OOM when allocating ", found->second, " bytes of workspace for ",
                     kernel.type_string(), " node ", kernel.name(), " on ", name(),
                     " by allocator ", state_->memory->Name())));
  }
  return workspace;
}

void SimulatedDevice::MoveOutputsToDevice(const OpKernel& kernel, OpKernelContext* context) {
  if (!context->status().ok()) return;
  for (int i = 0; i < kernel.num_outputs(); ++i) {
    if (kernel.output_memory_types()[static_cast<size_t>(i)] == tensorflow::HOST_MEMORY) continue;
    const DataType type = kernel.output_type(i);
    if (!tensorflow::DataTypeCanUseMemcpy(type)) continue;
    if (context->output_alloc_attr(i).on_host()) continue;
    Tensor* tensor = context->mutable_output(i);
    if (tensor == nullptr || !tensor->IsInitialized() || tensor->TotalBytes() == 0) continue;
    if (!state_->memory->Owns(tensorflow::DMAHelper::base(tensor))) {
      MoveToDevice(kernel, tensor, context);
    }
  }
}

void SimulatedDevice::MoveToDevice(const OpKernel& kernel, Tensor* tensor,
                                   OpKernelContext* context) {
  const ScopedKernel scope({View(kernel.name_view()), false});
  Tensor moved(state_->memory.get(), tensor->dtype(), tensor->shape());
  if (!moved.IsInitialized()) {
    context->SetStatus(absl::ResourceExhaustedError(absl::StrCat(
        "OOM when allocating tensor with shape", tensor->shape().DebugString(), " and type ",
        tensorflow::DataTypeString(tensor->dtype()), " on ", name(), " by allocator ",
        state_->memory->Name(), " for the output of node ", kernel.name())));
    return;
  }
  const size_t size_bytes = tensor->TotalBytes();
  std::memcpy(tensorflow::DMAHelper::base(&moved), tensorflow::DMAHelper::base(tensor), size_bytes);
  *tensor = std::move(moved);
  state_->moved_outputs.fetch_add(1, std::memory_order_relaxed);
  state_->moved_output_bytes.fetch_add(static_cast<int64_t>(size_bytes),
                                       std::memory_order_relaxed);
}

class SimulatedDeviceFactory : public tensorflow::DeviceFactory {
 public:
  explicit SimulatedDeviceFactory(Simulator* simulator) : simulator_(simulator) {}

  absl::Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    for (int32_t i = 0; i < simulator_->settings.count; ++i) {
      devices->push_back(absl::StrCat("/physical_device:", simulator_->settings.device_type, ":", i));
    }
    return absl::OkStatus();
  }

  absl::Status GetDeviceDetails(int /*device_index*/,
                                std::unordered_map<std::string, std::string>* details) override {
    (*details)["device_name"] = "tflms simulated GPU";
    return absl::OkStatus();
  }

  absl::Status CreateDevices(const tensorflow::SessionOptions& options,
                             const std::string& name_prefix,
                             std::vector<std::unique_ptr<Device>>* devices) override {
    const Settings& settings = simulator_->settings;
    const auto asked = options.config.device_count().find(settings.device_type);
    int32_t count = settings.count;
    if (asked != options.config.device_count().end()) count = std::min(count, asked->second);
    for (int32_t i = 0; i < count; ++i) {
      DeviceState* state = simulator_->devices[static_cast<size_t>(i)].get();
      const auto attributes = Device::BuildDeviceAttributes(
          absl::StrCat(name_prefix, "/device:", settings.device_type, ":", i),
          tensorflow::DeviceType(settings.device_type),
          tensorflow::Bytes(state->memory->limit_bytes()), tensorflow::DeviceLocality(),
          absl::StrCat("device: ", i, ", name: tflms simulated GPU"));
      devices->push_back(
          std::make_unique<SimulatedDevice>(options, attributes, simulator_, state));
    }
    return absl::OkStatus();
  }

 private:
  Simulator* const simulator_;
};

}  // namespace

absl::Status RegisterDeviceFactory() {
  Simulator* simulator = GetSimulator();
  if (simulator == nullptr) return absl::FailedPreconditionError("The simulator is not started.");
  const std::string& type = simulator->settings.device_type;
  if (tensorflow::DeviceFactory::GetFactory(type) != nullptr) {
    return absl::AlreadyExistsError(
        absl::StrCat("This TensorFlow already has devices of type ", type, "."));
  }
  tensorflow::DeviceFactory::Register(type, std::make_unique<SimulatedDeviceFactory>(simulator),
                                      kDevicePriority, /*is_pluggable_device=*/false);
  return absl::OkStatus();
}

}  // namespace tflms::sim_gpu
