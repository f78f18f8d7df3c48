// SPDX-License-Identifier: Apache-2.0
//
// TflmsGetApi: the plugin's surface for the Python package. JSON out, JSON in.

#include "tflms/c_api.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "src/planners/planner.h"
#include "src/rules/rule.h"
#include "src/tensorflow/plugin/state.h"
#include "tflms/options.h"

namespace tflms {
namespace {

// Ordered: keys come out as they are written here.
using Json = nlohmann::ordered_json;

// A copy for the caller, to be given back with free_string; null when memory is out.
char* CopyText(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

// Runs `function`, which gives a text; an exception gives null.
template <typename Function>
char* Guarded(Function function) {
  try {
    return CopyText(function());
  } catch (const std::exception&) {
    return nullptr;
  }
}

// An option's value as JSON of its type.
Json OptionValue(const std::string& type, const std::string& text) {
  if (type == "string") return text;
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_number() ? value : Json(text);
}

const char* Version() { return TFLMS_VERSION; }

char* OptionTableJson() {
  return Guarded([] {
    Json table = Json::array();
    for (const OptionInfo& option : OptionTable()) {
      table.push_back({{"name", option.name},
                       {"type", option.type},
                       {"unit", option.unit},
                       {"default", OptionValue(option.type, option.default_value)},
                       {"range", option.range},
                       {"help", option.help}});
    }
    return table.dump();
  });
}

char* RuleTableJson() {
  return Guarded([] {
    Json table = Json::array();
    for (const RuleEntry& rule : RuleCatalog()) {
      table.push_back({{"name", rule.name}, {"summary", rule.summary}, {"formula", rule.formula}});
    }
    return table.dump();
  });
}

char* PlannerTableJson() {
  return Guarded([] {
    Json table = Json::array();
    for (const PlannerEntry& planner : PlannerCatalog()) {
      table.push_back({{"name", planner.name}, {"summary", planner.summary}, {"formula", ""}});
    }
    return table.dump();
  });
}

char* Configure(int on, const char* json) {
  try {
    const Result<Settings> settings =
        SettingsFromJson(on != 0, json == nullptr ? "" : json, ReadEnvironment());
    if (!settings.ok()) return CopyText(settings.status().message());
    GetState().SetSettings(*settings);
    return nullptr;
  } catch (const std::exception& fault) {
    return CopyText(fault.what());
  }
}

char* SettingsJson() {
  return Guarded([] {
    const Result<Settings> settings = GetState().GetSettings();
    const std::vector<std::string> types = GetState().RegisteredDeviceTypes();
    const TfApi api = GetState().GetTfApi();
    Json options = Json::object();
    if (settings.ok()) {
      for (const OptionInfo& option : OptionTable()) {
        options[option.name] = OptionValue(option.type, GetOption(settings->options, option.name));
      }
    }
    return Json{{"on", settings.ok() && settings->on},
                {"error", settings.ok() ? "" : settings.status().message()},
                {"registered_device_type", types.empty() ? "" : types.back()},
                {"registered_device_types", types},
                {"tensorflow_version", api.version == nullptr ? "" : api.version()},
                {"options", options}}
        .dump();
  });
}

char* ReportsJson() {
  return Guarded([] { return GetState().ReportsJson(); });
}

char* PlansJson() {
  return Guarded([] { return GetState().PlansJson(); });
}

char* CostTablesJson() {
  return Guarded([] { return GetState().CostTablesJson(); });
}

void WatchCosts(int on) { GetState().WatchCosts(on != 0); }

char* PlanFilesJson() {
  return Guarded([] { return GetState().PlanFilesJson(); });
}

void SetCounters(TflmsReadCopies read_copies, TflmsTakeRuns take_runs) {
  GetState().SetCounters({read_copies, take_runs});
}

void ClearReports() { GetState().ClearReports(); }

void FreeString(char* text) { std::free(text); }

}  // namespace
}  // namespace tflms

extern "C" __attribute__((visibility("default"))) const TflmsApi* TflmsGetApi(void) {
  static constexpr TflmsApi kApi = {
      .struct_size = sizeof(TflmsApi),
      .version = &tflms::Version,
      .option_table = &tflms::OptionTableJson,
      .rule_table = &tflms::RuleTableJson,
      .planner_table = &tflms::PlannerTableJson,
      .configure = &tflms::Configure,
      .settings = &tflms::SettingsJson,
      .reports = &tflms::ReportsJson,
      .clear_reports = &tflms::ClearReports,
      .free_string = &tflms::FreeString,
      .plans = &tflms::PlansJson,
      .cost_table = &tflms::CostTablesJson,
      .watch_costs = &tflms::WatchCosts,
      .plan_files = &tflms::PlanFilesJson,
      .set_counters = &tflms::SetCounters,
  };
  return &kApi;
}
