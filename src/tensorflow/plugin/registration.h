// SPDX-License-Identifier: Apache-2.0
//
// What TF_InitGraph does: registers the optimizer with TensorFlow.
//
// A library in site-packages/tensorflow-plugins/ is loaded by every `import tensorflow`, wanted or
// not, so "off" has to cost nothing: the optimizer is then registered for a device type that never
// exists. Turned on later, the library is loaded once more under another spelling of its path
// (TensorFlow remembers the paths it has loaded), which calls TF_InitGraph again.
//
// TensorFlow ends the process when a device type is registered twice, and when TF_InitGraph gives
// an error. So no type is used twice, also not by a second copy of the library (one installed as a
// plugin, one in the Python package), and faults are logged and registered as "off".

#ifndef TFLMS_TENSORFLOW_PLUGIN_REGISTRATION_H_
#define TFLMS_TENSORFLOW_PLUGIN_REGISTRATION_H_

#include "src/tensorflow/plugin/grappler_abi.h"
#include "src/tensorflow/plugin/state.h"

namespace tflms {

// Fills in `params` for one more registration by `state`. `api_status` says whether `api` is whole.
void Register(const TfApi& api, const Status& api_status, PluginState* state,
              abi::RegistrationParams* params, abi::Status* status) noexcept;

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_REGISTRATION_H_
