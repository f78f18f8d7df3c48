// SPDX-License-Identifier: Apache-2.0
//
// TF_InitGraph: the function by which TensorFlow knows a graph-optimizer plugin.

#include <exception>

#include "src/tensorflow/plugin/log.h"
#include "src/tensorflow/plugin/registration.h"
#include "src/tensorflow/plugin/state.h"
#include "src/tensorflow/plugin/tf_api.h"

extern "C" __attribute__((visibility("default"))) void TF_InitGraph(
    tflms::abi::RegistrationParams* params, tflms::abi::Status* status) {
  try {
    tflms::TfApi api{};
    const tflms::Status api_status = tflms::FindTfApi(&api);
    tflms::GetState().SetTfApi(api);
    tflms::Register(api, api_status, &tflms::GetState(), params, status);
  } catch (const std::exception& fault) {
    tflms::Log(tflms::LogLevel::kWarning, tflms::LogLevel::kWarning, fault.what());
  }
}
