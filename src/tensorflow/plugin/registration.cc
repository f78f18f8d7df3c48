// SPDX-License-Identifier: Apache-2.0
//
// Registration and the three functions TensorFlow gets.

#include "src/tensorflow/plugin/registration.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "src/tensorflow/plugin/instance.h"
#include "src/tensorflow/plugin/loaded_objects.h"
#include "src/tensorflow/plugin/log.h"
#include "src/tensorflow/plugin/pass_switches.h"
#include "tflms/c_api.h"

namespace tflms {
namespace {

// TensorFlow holds the object as a void*: ownership goes out here and comes back in Destroy.
void* Create() {
  try {
    return std::make_unique<GraphOptimizer>(&GetState()).release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void Optimize(void* instance, const abi::Buffer* graph, const abi::GrapplerItem* item,
              abi::Buffer* optimized_graph, abi::Status* status) {
  if (instance == nullptr) {
    GetState().GetTfApi().set_status(status, abi::kAborted, "tflms: out of memory");
    return;
  }
  static_cast<GraphOptimizer*>(instance)->Optimize(graph, item, optimized_graph, status);
}

void Destroy(void* instance) {
  const std::unique_ptr<GraphOptimizer> optimizer(static_cast<GraphOptimizer*>(instance));
  if (optimizer != nullptr) optimizer->Finish();
}

bool IsTflmsLibrary(std::string_view file_name) { return file_name.starts_with("libtflms.so"); }

// True when another copy of this library in the process has registered `device_type`.
bool TakenByAnotherCopy(const std::string& device_type) {
  for (const LoadedObject& library : FindLoadedObjects(&IsTflmsLibrary)) {
    const auto get_api = reinterpret_cast<decltype(&TflmsGetApi)>(library.Find("TflmsGetApi"));
    if (get_api == nullptr || get_api == &TflmsGetApi) continue;
    const TflmsApi* other = get_api();
    const std::unique_ptr<char, void (*)(char*)> text(other->settings(), other->free_string);
    const auto settings = nlohmann::json::parse(text.get(), nullptr, /*allow_exceptions=*/false);
    const auto types =
        settings.is_object() ? settings.find("registered_device_types") : settings.end();
    if (!settings.is_object() || types == settings.end() || !types->is_array()) continue;
    if (std::find(types->begin(), types->end(), device_type) != types->end()) return true;
  }
  return false;
}

// The settings when this process is to have the optimizer; an error says why it is not.
Result<Settings> WantedSettings(const Status& api_status, PluginState* state) {
  TFLMS_ASSIGN_OR_RETURN(Settings settings, state->GetSettings());
  if (!settings.on) return settings;
  TFLMS_RETURN_IF_ERROR(api_status);
  const std::string& type = settings.options.device_type;
  if (TakenByAnotherCopy(type)) {
    return Unsupported("another copy of libtflms.so is registered for device type " + type);
  }
  return settings;
}

void FillIn(const char* device_type, bool wanted, abi::RegistrationParams* params) {
  params->struct_size = std::min(params->struct_size, sizeof(abi::RegistrationParams));
  params->device_type = device_type;
  abi::Optimizer* optimizer = params->optimizer;
  optimizer->struct_size = std::min(optimizer->struct_size, sizeof(abi::Optimizer));
  optimizer->create_func = &Create;
  optimizer->optimize_func = &Optimize;
  optimizer->destroy_func = &Destroy;
  abi::OptimizerConfigs* configs = params->optimizer_configs;
  configs->struct_size = std::min(configs->struct_size, sizeof(abi::OptimizerConfigs));
  if (wanted) SwitchPassesOff(configs);
}

// Used only when memory runs out in the middle of registering.
constexpr const char* kFaultType = "TFLMS_FAULT";

void TryRegister(const Status& api_status, PluginState* state, abi::RegistrationParams* params) {
  const Result<Settings> settings = WantedSettings(api_status, state);
  const bool wanted = settings.ok() && settings->on;
  if (!settings.ok()) {
    Log(LogLevel::kWarning, LogLevel::kWarning, "off: " + settings.status().message());
  }
  const std::string type = wanted ? settings->options.device_type : "";
  FillIn(state->TakeDeviceType(wanted, type), wanted, params);
}

}  // namespace

void Register(const TfApi& api, const Status& api_status, PluginState* state,
              abi::RegistrationParams* params, abi::Status* status) noexcept {
  try {
    TryRegister(api_status, state, params);
  } catch (const std::exception& fault) {
    Log(LogLevel::kWarning, LogLevel::kWarning, fault.what());
    FillIn(kFaultType, false, params);
  }
  if (api.set_status != nullptr) api.set_status(status, abi::kOk, "");
}

}  // namespace tflms
