// SPDX-License-Identifier: Apache-2.0
//
// _FusedBatchNormEx, which the graph's remapper makes for accelerators (and for the CPU when oneDNN
// is on, where the CPU's kernel is an empty stand-in that a later pass replaces):
//
//   y = activation(FusedBatchNormV3(x, scale, offset, mean, variance) [+ side_input])
//
// The normalisation is the CPU's own kernel, so the numbers are those of the unfused graph.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/tensor.h"

namespace tflms::sim_gpu {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

// Index of the first side input, after x, scale, offset, mean and variance.
constexpr int kSideInput = 5;

template <typename T>
void AddAndActivate(const Tensor* side, bool relu, Tensor* y) {
  T* out = static_cast<T*>(y->data());
  const T* add = side == nullptr ? nullptr : static_cast<const T*>(side->data());
  const int64_t n = y->NumElements();
  for (int64_t i = 0; i < n; ++i) {
    T value = out[i];
    if (add != nullptr) value = static_cast<T>(value + add[i]);
    // Written so that NaN stays NaN.
    if (relu && value < static_cast<T>(0)) value = static_cast<T>(0);
    out[i] = value;
  }
}

class FusedBatchNorm : public OpKernel {
 public:
  explicit FusedBatchNorm(OpKernelConstruction* construction) : OpKernel(construction) {
    std::string activation;
    OP_REQUIRES_OK(construction, construction->GetAttr("activation_mode", &activation));
    OP_REQUIRES_OK(construction, construction->GetAttr("num_side_inputs", &num_side_inputs_));
    OP_REQUIRES(
        construction, activation == "Identity" || activation == "Relu",
        absl::UnimplementedError(absl::StrCat("_FusedBatchNormEx node ", name(), ": activation '",
                                              activation, "' is neither Identity nor Relu.")));
    relu_ = activation == "Relu";
    tensorflow::NodeDef node;
    node.set_name(name());
    node.set_op("FusedBatchNormV3");
    node.set_device(def().device());
    for (int i = 0; i < kSideInput; ++i) node.add_input(def().input(i));
    for (const char* attr :
         {"T", "U", "epsilon", "exponential_avg_factor", "data_format", "is_training"}) {
      const auto found = def().attr().find(attr);
      if (found != def().attr().end()) (*node.mutable_attr())[attr] = found->second;
    }
    normalise_ = MakeCpuKernel(construction, node);
  }

  void Compute(OpKernelContext* context) override {
    normalise_->Compute(context);
    if (!context->status().ok()) return;
    const Tensor* side = num_side_inputs_ > 0 ? &context->input(kSideInput) : nullptr;
    Tensor* y = context->mutable_output(0);
    OP_REQUIRES(context, side == nullptr || side->NumElements() == y->NumElements(),
                absl::InvalidArgumentError(
                    absl::StrCat("_FusedBatchNormEx node ", name(), ": the side input has ",
                                 side == nullptr ? 0 : side->NumElements(),
                                 " elements, the output ", y->NumElements(), ".")));
    switch (y->dtype()) {
      case tensorflow::DT_FLOAT:
        return AddAndActivate<float>(side, relu_, y);
      case tensorflow::DT_HALF:
        return AddAndActivate<Eigen::half>(side, relu_, y);
      case tensorflow::DT_BFLOAT16:
        return AddAndActivate<tensorflow::bfloat16>(side, relu_, y);
      default:
        context->SetStatus(absl::UnimplementedError(
            absl::StrCat("_FusedBatchNormEx node ", name(), ": type ",
                         tensorflow::DataTypeString(y->dtype()), " is not supported.")));
    }
  }

 private:
  bool relu_ = false;
  int num_side_inputs_ = 0;
  std::unique_ptr<OpKernel> normalise_;
};

class FusedBatchNormFactory : public tensorflow::kernel_factory::OpKernelFactory {
 public:
  // TensorFlow takes the kernel as a plain pointer and owns it.
  OpKernel* Create(OpKernelConstruction* construction) override {
    return std::make_unique<FusedBatchNorm>(construction).release();
  }
};

}  // namespace

void RegisterFusedBatchNorm(const std::string& device_type) {
  auto def = std::make_unique<tensorflow::KernelDef>();
  def->set_op("_FusedBatchNormEx");
  def->set_device_type(device_type);
  def->set_priority(10);
  // The registrar takes the definition as a plain pointer and owns it.
  const tensorflow::kernel_factory::OpKernelRegistrar registrar(
      def.release(), "TflmsSimulatedGpuFusedBatchNorm", std::make_unique<FusedBatchNormFactory>());
}

}  // namespace tflms::sim_gpu
