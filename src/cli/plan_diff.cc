// SPDX-License-Identifier: Apache-2.0
//
// Plans compared by name. O(swaps log swaps).

#include "src/cli/plan_diff.h"

#include <algorithm>
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
      if (left == right || (!a.empty() && !a.contains(key)) || (!b.empty() && !b.contains(key))) {
        continue;  // dumped plans and reports do not have all figures
      }
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

// The name of the operation at a place of a dumped plan's timeline; "" for none.
std::string NameAt(const Json& timeline, const Json& swap, const char* key) {
  const int64_t place = swap.contains(key) ? Number(swap, key) : -1;
  if (place < 0 || place >= static_cast<int64_t>(timeline.size())) return "";
  return Text(timeline[static_cast<size_t>(place)], "node");
}

// A plan as dump_dir has it (PlanToJson of report.h), as a device of `tflms plan`.
Json DeviceFromDump(const Json& plan) {
  const Json& timeline = List(plan, "timeline");
  int64_t after = 0, host = 0, bytes_in = 0;
  for (const Json& point : timeline) {
    after = std::max({after, Number(point, "running_bytes"), Number(point, "waiting_bytes")});
    host = std::max(host, Number(point, "host_bytes"));
  }
  Json swaps = Json::array();
  for (const Json& swap : List(plan, "swaps")) {
    std::string tensor = Text(swap, "tensor");
    if (tensor.ends_with(":0")) tensor.resize(tensor.size() - 2);  // as TensorName writes it
    bytes_in += Number(swap, "size_bytes");
    swaps.push_back({{"tensor", tensor},
                     {"bytes", Number(swap, "size_bytes")},
                     {"leave_after", NameAt(timeline, swap, "leave_after")},
                     {"sync", NameAt(timeline, swap, "sync")},
                     {"trigger", NameAt(timeline, swap, "trigger")},
                     {"back_for", NameAt(timeline, swap, "back_for")}});
  }
  return {{"device", Text(plan, "device")}, {"budget_bytes", Number(plan, "budget_bytes")},
          {"peak_bytes_after", after},      {"host_peak_bytes", host},
          {"swap_in_bytes", bytes_in},      {"swaps", std::move(swaps)}};
}

}  // namespace

Json PlanFromJson(const std::string& content) {
  Json json = Json::parse(content, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("graphs")) return json;
  if (!json.is_array() || json.empty()) return Json();
  Json plan = {{"graphs", Json::array()}};
  for (const Json& report : json) {
    if (!report.is_object()) return Json();
    const bool is_plan = report.contains("timeline") && report.contains("swaps");
    if (!is_plan && !report.contains("outcome")) return Json();
    plan["graphs"].push_back(
        {{"graph", Text(report, "graph")},
         {"devices", Json::array({is_plan ? DeviceFromDump(report) : report})}});
  }
  return plan;
}

Answer ComparePlans(const Json& a, const Json& b) { return Comparison().Run(a, b); }

}  // namespace tflms::cli
