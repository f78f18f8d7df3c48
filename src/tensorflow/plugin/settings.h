// SPDX-License-Identifier: Apache-2.0
//
// The plugin's settings and where they come from: TflmsApi::configure (Python) before the
// environment before the defaults.
//
//   TFLMS=1                    on ("true", "yes", "on" too; "0", "false", "no", "off", "": off)
//   TFLMS_<OPTION>=value       one option of tflms/options.h

#ifndef TFLMS_TENSORFLOW_PLUGIN_SETTINGS_H_
#define TFLMS_TENSORFLOW_PLUGIN_SETTINGS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tflms/options.h"
#include "tflms/status.h"

namespace tflms {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Settings {
  bool on = false;
  Options options;
};

// The variables of this process's environment that begin with "TFLMS".
Environment ReadEnvironment();

// Settings when nobody has called configure.
Result<Settings> SettingsFromEnvironment(const Environment& environment);

// Settings from configure(on, json): `json` is an object {"option": value, ...} or empty; a null
// value means "not given". Options that are not given keep environment value or default.
Result<Settings> SettingsFromJson(bool on, std::string_view json, const Environment& environment);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_SETTINGS_H_
