// SPDX-License-Identifier: Apache-2.0
//
// See device.h. Around every synchronous kernel:
//
//   before   hold the workspace that the settings give its type; note what runs on this thread
//   after    every output in device memory lies inside the device's region: one that the kernel
//            built in scratch is moved there; log and run times learn how long all of it took
//
// Asynchronous kernels are not timed: they wait for others (receives, collectives) or run functions
// whose own kernels are timed.
//
// Cost per kernel: a few comparisons per input and output; no lock unless the log or the run
// times are on.
#include "device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernel_rules.h"
#include "simulator.h"
#include "tensorflow/core/common_runtime/copy_tensor.h"
#include "tensorflow/core/common_runtime/device_factory.h"
#include "tensorflow/core/common_runtime/dma_helper.h"
#include "tensorflow/core/common_runtime/local_device.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/public/session_options.h"
#include "tensorflow_compat.h"
#include "thread_state.h"

namespace tflms::sim_gpu {
namespace {

using tensorflow::DataType;
using tensorflow::Device;
using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using Clock = std::chrono::steady_clock;

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
                  DeviceState* state, int32_t ordinal)
      : LocalDevice(options, attributes),
        settings_(simulator->settings),
        log_(&simulator->log),
        run_times_(&simulator->run_times),
        state_(state) {
    // What tells TensorFlow that values here are not simply at hand on the host.
    info_.default_context = state->link;
    info_.gpu_id = ordinal;
    set_tensorflow_accelerator_device_info(&info_);
  }

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
  void RunKernel(OpKernel* kernel, OpKernelContext* context);
  void NoteRun(const OpKernel& kernel, Clock::duration took, int64_t waited_us);
  void MoveOutputsToDevice(const OpKernel& kernel, OpKernelContext* context);
  void MoveToDevice(const OpKernel& kernel, Tensor* tensor, OpKernelContext* context);

  const Settings& settings_;
  EventLog* const log_;
  RunTimes* const run_times_;
  DeviceState* const state_;
  AcceleratorDeviceInfo info_;
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
  return absl::InvalidArgumentError(
      absl::StrCat("Cannot make a tensor of type ", tensorflow::DataTypeString(proto.dtype()),
                   " on ", name(), ": its value is malformed, or the device is out of memory."));
}

void SimulatedDevice::Compute(OpKernel* kernel, OpKernelContext* context) {
  if (!log_->on() && !run_times_->on()) {
    RunKernel(kernel, context);
    return;
  }
  const Clock::time_point begin = Clock::now();
  const int64_t waited_before_us = ThreadWaitUs();
  RunKernel(kernel, context);
  NoteRun(*kernel, Clock::now() - begin, ThreadWaitUs() - waited_before_us);
}

void SimulatedDevice::NoteRun(const OpKernel& kernel, Clock::duration took, int64_t waited_us) {
  const auto took_us = std::chrono::round<std::chrono::microseconds>(took).count();
  const int64_t run_us = std::max<int64_t>(took_us - waited_us, 0);
  if (run_times_->on()) run_times_->Add(View(kernel.name_view()), run_us);
  if (!log_->on()) return;
  Event event{};
  event.time_us = log_->NowUs() - took_us;
  event.duration_us = run_us;
  event.offset = -1;
  event.kind = static_cast<int32_t>(EventKind::kCompute);
  event.device = state_->memory->ordinal();
  log_->Append(event, View(kernel.name_view()), View(kernel.type_string_view()));
}

void SimulatedDevice::RunKernel(OpKernel* kernel, OpKernelContext* context) {
  void* workspace = nullptr;
  if (!settings_.workspace_bytes.empty()) {
    workspace = TakeWorkspace(*kernel, context);
    if (!context->status().ok()) return;
  }
  {
    const bool scratch_to_host = !settings_.scratch_on_device && TemporariesAreScratch(*kernel);
    const ScopedKernel scope({View(kernel->name_view()), scratch_to_host});
    kernel->Compute(context);
  }
  if (workspace != nullptr) state_->memory->DeallocateRaw(workspace);
  MoveOutputsToDevice(*kernel, context);
}

void SimulatedDevice::ComputeAsync(tensorflow::AsyncOpKernel* kernel, OpKernelContext* context,
                                   tensorflow::AsyncOpKernel::DoneCallback done) {
  const ScopedKernel scope({View(kernel->name_view()), false});
  if (!log_->on() || context->op_device_context() != state_->link ||
      !absl::EndsWith(kernel->type_string_view(), "Recv")) {
    kernel->ComputeAsync(context, std::move(done));
    return;
  }
  // For the log only. The context's parameters are this execution's own; whoever keeps the device
  // context beyond this call takes a reference.
  auto* named =
      std::make_unique<NamedLinkContext>(state_->link, View(kernel->name_view())).release();
  SetDeviceContext(context, named, 0);
  kernel->ComputeAsync(context, [done = std::move(done), named] {
    done();
    named->Unref();
  });
}

void* SimulatedDevice::TakeWorkspace(const OpKernel& kernel, OpKernelContext* context) {
  const auto found = settings_.workspace_bytes.find(View(kernel.type_string_view()));
  if (found == settings_.workspace_bytes.end() || found->second == 0) return nullptr;
  const ScopedKernel scope({View(kernel.name_view()), false});
  void* workspace =
      state_->memory->AllocateRaw(kAlignmentBytes, static_cast<size_t>(found->second));
  if (workspace == nullptr) {
    context->SetStatus(absl::ResourceExhaustedError(absl::StrCat(
        "OOM when allocating ", found->second, " bytes of workspace for ", kernel.type_string(),
        " node ", kernel.name(), " on ", name(), " by allocator ", state_->memory->Name())));
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
  if (log_->on()) {
    Event event{};
    event.time_us = log_->NowUs();
    event.bytes = static_cast<int64_t>(size_bytes);
    event.offset = -1;
    event.kind = static_cast<int32_t>(EventKind::kMove);
    event.device = state_->memory->ordinal();
    log_->Append(event, View(kernel.name_view()));
  }
  state_->moved_outputs.fetch_add(1, std::memory_order_relaxed);
  state_->moved_output_bytes.fetch_add(static_cast<int64_t>(size_bytes), std::memory_order_relaxed);
}

// Between two simulated devices: out over the sender's link into a host buffer, then in over the
// receiver's, as PCIe without peer access does. Within one device: a plain copy.
void CopyBetweenDevices(tensorflow::DeviceContext* send_context,
                        tensorflow::DeviceContext* recv_context, Device* from, Device* to,
                        const tensorflow::AllocatorAttributes /*from_attributes*/,
                        const tensorflow::AllocatorAttributes /*to_attributes*/,
                        const Tensor* input, Tensor* output, int /*stream*/,
                        tensorflow::StatusCallback done) {
  if (from == to) {
    recv_context->CopyTensorInSameDevice(input, to, output, std::move(done));
    return;
  }
  auto host = std::make_shared<Tensor>(tensorflow::cpu_allocator(), input->dtype(), input->shape());
  send_context->CopyDeviceTensorToCPU(
      input, "between devices", from, host.get(),
      [host, recv_context, to, output, done = std::move(done)](const absl::Status& status) {
        if (!status.ok()) return done(status);
        recv_context->CopyCPUTensorToDevice(
            host.get(), to, output, [host, done](const absl::Status& s) { done(s); }, true);
      });
}

// The ordinals to make devices of, in order, as the session's configuration asks.
absl::Status VisibleDevices(const tensorflow::ConfigProto& config, const Settings& settings,
                            std::vector<int32_t>* visible) {
  const auto& options = config.gpu_options();
  if (options.experimental().virtual_devices_size() > 0) {
    return absl::InvalidArgumentError(
        "A simulated GPU cannot be split into logical devices. Set its memory and number with "
        "tflms.simulate_gpu(memory_limit_bytes=..., count=...).");
  }
  for (const absl::string_view text :
       absl::StrSplit(options.visible_device_list(), ',', absl::SkipWhitespace())) {
    int32_t ordinal = 0;
    if (!absl::SimpleAtoi(text, &ordinal) || ordinal < 0 || ordinal >= settings.count) {
      return absl::InvalidArgumentError(absl::StrCat("visible_device_list names device '", text,
                                                     "'; there are ", settings.count,
                                                     " simulated devices, from 0 on."));
    }
    visible->push_back(ordinal);
  }
  if (visible->empty()) {
    visible->resize(static_cast<size_t>(settings.count));
    std::iota(visible->begin(), visible->end(), 0);
  }
  const auto asked = config.device_count().find(settings.device_type);
  if (asked != config.device_count().end() &&
      asked->second < static_cast<int32_t>(visible->size())) {
    visible->resize(static_cast<size_t>(std::max(asked->second, 0)));
  }
  return absl::OkStatus();
}

class SimulatedDeviceFactory : public tensorflow::DeviceFactory {
 public:
  explicit SimulatedDeviceFactory(Simulator* simulator) : simulator_(simulator) {}

  absl::Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    for (int32_t i = 0; i < simulator_->settings.count; ++i) {
      devices->push_back(
          absl::StrCat("/physical_device:", simulator_->settings.device_type, ":", i));
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
    std::vector<int32_t> visible;
    if (absl::Status status = VisibleDevices(options.config, settings, &visible); !status.ok()) {
      return status;
    }
    for (int32_t i = 0; i < static_cast<int32_t>(visible.size()); ++i) {
      const auto ordinal = static_cast<size_t>(visible[static_cast<size_t>(i)]);
      DeviceState* state = simulator_->devices[ordinal].get();
      const auto attributes = Device::BuildDeviceAttributes(
          absl::StrCat(name_prefix, "/device:", settings.device_type, ":", i),
          tensorflow::DeviceType(settings.device_type),
          tensorflow::Bytes(state->memory->limit_bytes()), tensorflow::DeviceLocality(),
          absl::StrCat("device: ", ordinal, ", name: tflms simulated GPU"));
      devices->push_back(
          std::make_unique<SimulatedDevice>(options, attributes, simulator_, state, i));
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
  // Registered as a pluggable device: that is what makes TensorFlow prefer our copies between two
  // devices to those it has for real GPUs, which need a stream.
  tensorflow::DeviceFactory::Register(type, std::make_unique<SimulatedDeviceFactory>(simulator),
                                      kDevicePriority, /*is_pluggable_device=*/true);
  return tensorflow::CopyTensor::Register(tensorflow::DeviceType(type),
                                          tensorflow::DeviceType(type), CopyBetweenDevices,
                                          /*is_pluggable_device=*/true);
}

}  // namespace tflms::sim_gpu
