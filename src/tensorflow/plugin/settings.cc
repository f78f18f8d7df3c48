// SPDX-License-Identifier: Apache-2.0
//
// Settings from environment and JSON. A fault leaves nothing half set: the caller gets an error
// and keeps what it had.

#include "src/tensorflow/plugin/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace tflms {
namespace {

constexpr std::string_view kSwitch = "TFLMS";
constexpr std::array<std::string_view, 4> kOnWords = {"1", "true", "yes", "on"};
constexpr std::array<std::string_view, 5> kOffWords = {"0", "false", "no", "off", ""};

template <size_t N>
bool Contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Result<bool> ParseSwitch(const std::string& value) {
  if (Contains(kOnWords, value)) return true;
  if (Contains(kOffWords, value)) return false;
  return InvalidArgument("environment variable TFLMS=" + value +
                         ": expected 1, true, yes, on or 0, false, no, off");
}

// An option's value as SetOption reads it.
Result<std::string> ValueText(const std::string& name, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return InvalidArgument("option " + name + ": expected a number or a string, found " +
                         value.dump());
}

}  // namespace

Environment ReadEnvironment() {
  Environment variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (!text.starts_with(kSwitch) || equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

Result<Settings> SettingsFromEnvironment(const Environment& environment) {
  Settings settings;
  for (const auto& [name, value] : environment) {
    if (name != kSwitch) continue;
    TFLMS_ASSIGN_OR_RETURN(settings.on, ParseSwitch(value));
  }
  TFLMS_RETURN_IF_ERROR(SetOptionsFromEnvironment(environment, &settings.options));
  TFLMS_RETURN_IF_ERROR(CheckOptions(settings.options));
  return settings;
}

Result<Settings> SettingsFromJson(bool on, std::string_view json, const Environment& environment) {
  Settings settings;
  settings.on = on;
  TFLMS_RETURN_IF_ERROR(SetOptionsFromEnvironment(environment, &settings.options));
  const nlohmann::json object =
      nlohmann::json::parse(json.empty() ? "{}" : json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return InvalidArgument("options: expected a JSON object, found `" + std::string(json) + "`");
  }
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    TFLMS_ASSIGN_OR_RETURN(const std::string text, ValueText(name, value));
    TFLMS_RETURN_IF_ERROR(SetOption(name, text, &settings.options));
  }
  TFLMS_RETURN_IF_ERROR(CheckOptions(settings.options));
  return settings;
}

}  // namespace tflms
