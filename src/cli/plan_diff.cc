// SPDX-License-Identifier: Apache-2.0
//
// Plans compared by name. O(swaps log swaps).

#include "src/cli/plan_diff.h"

#include <array>
#include <map>
#include <utility>

#include "src/base/bytes_text.h"
#include "src/cli/table.h"

namespace tflms::cli {
namespace {

using Key = std::pair<std::string, std::string>;

constexpr std::array<std::pair<const char*, const char*>, 8> kFigures = {{
    {"budget_bytes", "budget"},
    {"peak_bytes_before", "peak before"},
    {"peak_bytes_after", "peak after"},
    {"floor_bytes", "floor"},
    {"swapped_tensors", "swapped tensors"},
    {"swap_out_bytes", "copied out"},
    {"swap_in_bytes", "copied in"},
    {"host_peak_bytes", "host peak"},
}};

std::string Text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& List(const Json& json, const char* key) {
  static const Json empty = Json::array();
  const auto found = json.find(key);
  return found != json.end() && found->is_array() ? *found : empty;
}

int64_t Number(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

// Devices by (graph, device).
std::map<Key, Json> Devices(const Json& plan) {
  std::map<Key, Json> devices;
  for (const Json& graph : List(plan, "graphs")) {
    for (const Json& device : List(graph, "devices")) {
      devices[{Text(graph, "graph"), Text(device, "device")}] = device;
    }
  }
  return devices;
}

std::map<Key, Json> Swaps(const Json& device) {
  std::map<Key, Json> swaps;
  for (const Json& swap : List(device, "swaps")) {
    swaps[{Text(swap, "tensor"), Text(swap, "back_for")}] = swap;
  }
  return swaps;
}

class Comparison {
 public:
  Answer Run(const Json& a, const Json& b) {
    answer_.json = {{"same", true}, {"devices", Json::array()}};
    std::map<Key, Json> left = Devices(a), right = Devices(b);
    if (left.size() == 1 && right.size() == 1) {
      CompareDevices(left.begin()->first, left.begin()->second, right.begin()->second);
    } else {
      for (const auto& [key, device] : left) {
        CompareDevices(key, device, right.contains(key) ? right[key] : Json::object());
      }
      for (const auto& [key, device] : right) {
        if (!left.contains(key)) CompareDevices(key, Json::object(), device);
      }
    }
    if (same_) answer_.text += "the plans are the same\n";
    answer_.json["same"] = same_;
    return std::move(answer_);
  }

 private:
  void CompareDevices(const Key& key, const Json& a, const Json& b) {
    std::string text;
    Json json = {{"graph", key.first}, {"device", key.second}};
    CompareFigures(a, b, &text, &json);
    CompareSwaps(Swaps(a), Swaps(b), &text, &json);
    if (text.empty()) return;
    same_ = false;
    answer_.text += key.first + (key.second.empty() ? "" : ", " + key.second) + "\n" + text;
    answer_.json["devices"].push_back(std::move(json));
  }

  static void CompareFigures(const Json& a, const Json& b, std::string* text, Json* json) {
    (*json)["figures"] = Json::object();
    for (const auto& [key, name] : kFigures) {
      const int64_t left = Number(a, key), right = Number(b, key);
      if (left == right) continue;
      const bool bytes = std::string_view(key) != "swapped_tensors";
      const auto show = [&](int64_t value) {
        return bytes ? FormatBytes(value) : std::to_string(value);
      };
      *text += FormatLine(name, show(left) + " -> " + show(right));
      (*json)["figures"][key] = {left, right};
    }
  }

  static void CompareSwaps(const std::map<Key, Json>& a, const std::map<Key, Json>& b,
                           std::string* text, Json* json) {
    (*json)["only_in_a"] = Json::array();
    (*json)["only_in_b"] = Json::array();
    (*json)["changed"] = Json::array();
    const auto line = [](const Json& swap) {
      return Text(swap, "tensor") + " for " + Text(swap, "back_for") + ", " +
             FormatBytes(Number(swap, "bytes"));
    };
    for (const auto& [key, swap] : a) {
      if (b.contains(key)) continue;
      *text += FormatLine("swapped only in A", line(swap));
      (*json)["only_in_a"].push_back(swap);
    }
    for (const auto& [key, swap] : b) {
      if (a.contains(key)) continue;
      *text += FormatLine("swapped only in B", line(swap));
      (*json)["only_in_b"].push_back(swap);
    }
    for (const auto& [key, swap] : a) {
      if (b.contains(key)) CompareSwap(swap, b.at(key), text, json);
    }
  }

  static void CompareSwap(const Json& a, const Json& b, std::string* text, Json* json) {
    for (const char* part : {"trigger", "sync", "leave_after"}) {
      const std::string left = Text(a, part), right = Text(b, part);
      if (left == right) continue;
      const auto show = [](const std::string& name) { return name.empty() ? "none" : name; };
      *text += FormatLine(std::string("other ") + part, Text(a, "tensor") + " for " +
                                                            Text(a, "back_for") + ": " +
                                                            show(left) + " -> " + show(right));
      (*json)["changed"].push_back({{"tensor", Text(a, "tensor")},
                                    {"back_for", Text(a, "back_for")},
                                    {"what", part},
                                    {"a", left},
                                    {"b", right}});
    }
  }

  Answer answer_;
  bool same_ = true;
};

}  // namespace

Json PlanFromJson(const std::string& content) {
  Json json = Json::parse(content, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("graphs")) return json;
  if (!json.is_array() || json.empty()) return Json();
  Json plan = {{"graphs", Json::array()}};
  for (const Json& report : json) {
    if (!report.is_object() || !report.contains("outcome")) return Json();
    plan["graphs"].push_back({{"graph", Text(report, "graph")}, {"devices", {report}}});
  }
  return plan;
}

Answer ComparePlans(const Json& a, const Json& b) { return Comparison().Run(a, b); }

}  // namespace tflms::cli
