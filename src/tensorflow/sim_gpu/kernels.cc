// SPDX-License-Identifier: Apache-2.0
//
// See kernels.h. For each CPU kernel definition k of operation o, with A the type attributes of o:
//
//   skip k            when o stays on the CPU, or has a string argument
//   narrow k          by string, and by each DEFAULT kernel d of o that overlaps it in one type
//                     attribute and admits it in all others
//   skip k            when nothing is left, or some d admits all of it
//   host arguments    those of k; integer inputs an accelerator reads on the host; all arguments
//                     when k is the int32 form of an operation kept on the host
//
// Cost: once, some 10,000 definitions, under a second.
#include "kernels.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernel_rules.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/node_properties.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace tflms::sim_gpu {
namespace {

using tensorflow::DataType;
using tensorflow::KernelDef;
using tensorflow::OpDef;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using TypeSet = std::set<int>;

// A CPU kernel with other memory types than the CPU's registration gives it.
class PlacedKernel : public OpKernel {
 public:
  PlacedKernel(OpKernelConstruction* construction, std::unique_ptr<OpKernel> inner)
      : OpKernel(construction), inner_(std::move(inner)) {}
  void Compute(OpKernelContext* context) override { inner_->Compute(context); }
  bool IsExpensive() override { return inner_->IsExpensive(); }
  const tensorflow::Tensor* const_tensor() const override { return inner_->const_tensor(); }

 private:
  std::unique_ptr<OpKernel> inner_;
};

class CpuKernelFactory : public tensorflow::kernel_factory::OpKernelFactory {
 public:
  explicit CpuKernelFactory(bool changes_memory_types)
      : changes_memory_types_(changes_memory_types) {}

  // TensorFlow takes the kernel as a plain pointer and owns it.
  OpKernel* Create(OpKernelConstruction* construction) override {
    std::unique_ptr<OpKernel> kernel = MakeCpuKernel(construction, construction->def());
    if (kernel != nullptr && changes_memory_types_ && kernel->AsAsync() == nullptr) {
      return std::make_unique<PlacedKernel>(construction, std::move(kernel)).release();
    }
    return kernel.release();
  }

 private:
  const bool changes_memory_types_;
};

// Types that a type attribute of an operation may take.
TypeSet TypesOf(const OpDef::AttrDef& attr) {
  TypeSet types;
  for (int type : attr.allowed_values().list().type()) types.insert(type);
  if (!types.empty()) return types;
  for (int type = 1; type <= tensorflow::DataType_MAX; ++type) {
    if (tensorflow::DataType_IsValid(type) && !tensorflow::IsRefType(static_cast<DataType>(type))) {
      types.insert(type);
    }
  }
  return types;
}

// A kernel's definition as sets of types by attribute; what is absent is not constrained.
using Constraints = std::map<std::string, TypeSet>;

Constraints ConstraintsOf(const KernelDef& def) {
  Constraints constraints;
  for (const auto& constraint : def.constraint()) {
    TypeSet& types = constraints[constraint.name()];
    for (int type : constraint.allowed_values().list().type()) types.insert(type);
  }
  return constraints;
}

TypeSet Minus(const TypeSet& a, const TypeSet& b) {
  TypeSet rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(rest, rest.begin()));
  return rest;
}

// Takes from `mine` what `other` already covers. True when nothing is left.
bool TakeAway(const Constraints& other, Constraints* mine) {
  std::string narrowed;
  TypeSet rest;
  for (const auto& [attr, types] : other) {
    const auto found = mine->find(attr);
    if (found == mine->end()) return false;
    TypeSet outside = Minus(found->second, types);
    if (outside.empty()) continue;
    if (!narrowed.empty() || outside.size() == found->second.size()) return false;
    narrowed = attr;
    rest = std::move(outside);
  }
  if (narrowed.empty()) return true;
  (*mine)[narrowed] = std::move(rest);
  return false;
}

// Names the types where the operation leaves them open, so that they can be narrowed.
void CompleteConstraints(const OpDef& op, Constraints* constraints) {
  for (const OpDef::AttrDef& attr : op.attr()) {
    if (attr.type() != "type" && attr.type() != "list(type)") continue;
    TypeSet& types = constraints->try_emplace(attr.name(), TypesOf(attr)).first->second;
    types.erase(tensorflow::DT_STRING);
  }
}

bool HasStringArgument(const OpDef& op) {
  const auto is_string = [](const OpDef::ArgDef& arg) {
    return arg.type() == tensorflow::DT_STRING;
  };
  return std::any_of(op.input_arg().begin(), op.input_arg().end(), is_string) ||
         std::any_of(op.output_arg().begin(), op.output_arg().end(), is_string);
}

bool IsInteger(const OpDef::ArgDef& arg, const Constraints& constraints) {
  const auto integer = [](int type) {
    return type == tensorflow::DT_INT32 || type == tensorflow::DT_INT64 ||
           type == tensorflow::DT_INT16 || type == tensorflow::DT_UINT64;
  };
  if (arg.type_attr().empty()) return integer(arg.type());
  const auto found = constraints.find(arg.type_attr());
  return found != constraints.end() && !found->second.empty() &&
         std::all_of(found->second.begin(), found->second.end(), integer);
}

bool IsInt32Form(const Constraints& constraints) {
  const auto found = constraints.find("T");
  return found != constraints.end() && found->second == TypeSet{tensorflow::DT_INT32};
}

// Adds host arguments to `def`; true when any was added.
bool AddHostArguments(const OpDef& op, const Constraints& constraints, KernelDef* def) {
  std::set<std::string> host(def->host_memory_arg().begin(), def->host_memory_arg().end());
  const size_t before = host.size();
  const bool all = IsHostWhenInt32(op.name()) && IsInt32Form(constraints);
  for (const auto& arg : op.input_arg()) {
    if (all || (IsHostInput(arg.name()) && IsInteger(arg, constraints))) host.insert(arg.name());
  }
  for (const auto& arg : op.output_arg()) {
    if (all) host.insert(arg.name());
  }
  def->clear_host_memory_arg();
  for (const std::string& name : host) def->add_host_memory_arg(name);
  return host.size() > before;
}

void Register(std::unique_ptr<KernelDef> def, bool changes_memory_types) {
  // The registrar takes the definition as a plain pointer and owns it.
  const tensorflow::kernel_factory::OpKernelRegistrar registrar(
      def.release(), "TflmsSimulatedGpuKernel",
      std::make_unique<CpuKernelFactory>(changes_memory_types));
}

void SetConstraints(const Constraints& constraints, KernelDef* def) {
  def->clear_constraint();
  for (const auto& [attr, types] : constraints) {
    auto* constraint = def->add_constraint();
    constraint->set_name(attr);
    for (int type : types) {
      constraint->mutable_allowed_values()->mutable_list()->add_type(static_cast<DataType>(type));
    }
  }
}

// The definition for our device that stands for CPU kernel `cpu`; null when none should.
std::unique_ptr<KernelDef> Derive(const std::string& device_type, const OpDef& op,
                                  const KernelDef& cpu, const std::vector<KernelDef>& others,
                                  bool* changes_memory_types) {
  Constraints constraints = ConstraintsOf(cpu);
  CompleteConstraints(op, &constraints);
  for (const KernelDef& other : others) {
    if (other.label() == cpu.label() && TakeAway(ConstraintsOf(other), &constraints))
      return nullptr;
  }
  for (const auto& [attr, types] : constraints) {
    if (types.empty()) return nullptr;
  }
  auto def = std::make_unique<KernelDef>(cpu);
  def->set_device_type(device_type);
  def->set_priority(cpu.priority() + 10);
  SetConstraints(constraints, def.get());
  *changes_memory_types = AddHostArguments(op, constraints, def.get());
  return def;
}

// Takes the place of XLA's kernels for real GPUs, which end the process on a device without a
// stream. Only automatic clustering comes here; see uncompiled_calls.h for calls marked for XLA.
class RefusingFactory : public tensorflow::kernel_factory::OpKernelFactory {
 public:
  OpKernel* Create(OpKernelConstruction* construction) override {
    construction->SetStatus(absl::UnimplementedError(
        absl::StrCat("XLA cannot compile for the simulated GPU (node ", construction->def().name(),
                     "). Switch automatic clustering off: tf.config.optimizer.set_jit(False), and "
                     "no --tf_xla_auto_jit in TF_XLA_FLAGS.")));
    return nullptr;
  }
};

void RefuseXla(const std::string& device_type, const std::vector<KernelDef>& kernels) {
  for (const KernelDef& kernel : kernels) {
    if (kernel.device_type() != device_type) continue;
    auto def = std::make_unique<KernelDef>(kernel);
    def->set_priority(kernel.priority() + 10);
    const tensorflow::kernel_factory::OpKernelRegistrar registrar(
        def.release(), "TflmsSimulatedGpuNoXla", std::make_unique<RefusingFactory>());
  }
}

// RemoteCall runs a function on a named device. Its kernel is the same for all devices; only its
// string argument, read on the host, keeps it out of the rule above.
void RegisterRemoteCall(const std::string& device_type) {
  auto def = std::make_unique<KernelDef>();
  def->set_op("RemoteCall");
  def->set_device_type(device_type);
  def->add_host_memory_arg("target");
  Register(std::move(def), /*changes_memory_types=*/false);
}

}  // namespace

std::unique_ptr<OpKernel> MakeCpuKernel(OpKernelConstruction* construction,
                                        const tensorflow::NodeDef& node) {
  const tensorflow::OpRegistryInterface* registry = tensorflow::OpRegistry::Global();
  if (construction->function_library() != nullptr) {
    registry = construction->function_library()->GetFunctionLibraryDefinition();
  }
  std::shared_ptr<const tensorflow::NodeProperties> properties;
  absl::Status status = tensorflow::NodeProperties::CreateFromNodeDef(node, registry, &properties);
  OpKernel* kernel = nullptr;
  if (status.ok()) {
    status = tensorflow::CreateOpKernel(
        tensorflow::DeviceType(tensorflow::DEVICE_CPU), construction->device(),
        construction->device()->GetAllocator({}), construction->function_library(),
        construction->resource_manager(), properties, construction->graph_def_version(), &kernel);
  }
  if (!status.ok()) construction->SetStatus(status);
  return std::unique_ptr<OpKernel>(kernel);
}

KernelCounts RegisterKernels(const std::string& device_type) {
  const tensorflow::KernelList all = tensorflow::GetAllRegisteredKernels();
  std::map<std::string, std::vector<KernelDef>> others;
  for (const KernelDef& def : all.kernel()) {
    if (def.device_type() == tensorflow::DEVICE_DEFAULT || def.device_type() == device_type) {
      others[def.op()].push_back(def);
    }
  }
  const std::vector<KernelDef> none;
  KernelCounts counts;
  for (const KernelDef& cpu : all.kernel()) {
    const OpDef* op = nullptr;
    if (cpu.device_type() != tensorflow::DEVICE_CPU || StaysOnCpu(cpu.op()) ||
        cpu.op() == "_FusedBatchNormEx" ||
        !tensorflow::OpRegistry::Global()->LookUpOpDef(cpu.op(), &op).ok() ||
        HasStringArgument(*op)) {
      continue;
    }
    bool changes_memory_types = false;
    const auto found = others.find(cpu.op());
    std::unique_ptr<KernelDef> def = Derive(
        device_type, *op, cpu, found == others.end() ? none : found->second, &changes_memory_types);
    if (def == nullptr) {
      ++counts.left_to_default;
      continue;
    }
    Register(std::move(def), changes_memory_types);
    ++counts.registered;
  }
  for (const auto& [op, kernels] : others) {
    if (absl::StartsWith(op, "Xla") || absl::StartsWith(op, "_Xla"))
      RefuseXla(device_type, kernels);
  }
  RegisterRemoteCall(device_type);
  RegisterFusedBatchNorm(device_type);
  return counts;
}

}  // namespace tflms::sim_gpu
