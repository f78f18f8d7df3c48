// SPDX-License-Identifier: Apache-2.0
//
// JSON -> NamedPlan, every field checked. See plan_file.h.

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/rewrite/plan_file.h"

namespace tflms {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 16;  // a plan file has 6
constexpr int64_t kMaxClones = 1000000;

// True when brackets are nested deeper than any plan file's: such a text is not even parsed.
bool IsDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

std::string Shown(const Json& json) {
  constexpr size_t kLongest = 60;
  if (json.is_structured()) return json.is_array() ? "a list" : "an object";
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

// Takes fields out of objects. The first fault stays, whatever is asked for after it.
class Reader {
 public:
  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }

  void Fault(const std::string& place, const std::string& expected, const Json& found) {
    if (ok())
      status_ = InvalidArgument(place + ": expected " + expected + ", found " + Shown(found));
  }

  // The field, or a null value, which is a fault.
  const Json& Field(const Json& object, const char* key, const std::string& place) {
    static const Json null;
    const auto found = object.find(key);
    if (found != object.end()) return *found;
    if (ok()) status_ = InvalidArgument(place + ": `" + key + "` is missing");
    return null;
  }

  std::string Text(const Json& json, const std::string& place) {
    if (json.is_string()) return json.get<std::string>();
    Fault(place, "a text", json);
    return "";
  }

  int64_t Whole(const Json& json, int64_t high, const std::string& place) {
    if (json.is_number_integer() &&
        !(json.is_number_unsigned() &&
          json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))) {
      const auto value = json.get<int64_t>();
      if (value >= 0 && value <= high) return value;
    }
    Fault(place, "a whole number from 0 to " + std::to_string(high), json);
    return 0;
  }

  bool Bool(const Json& json, const std::string& place) {
    if (json.is_boolean()) return json.get<bool>();
    Fault(place, "true or false", json);
    return false;
  }

  bool IsObject(const Json& json, const std::string& place) {
    if (json.is_object()) return true;
    Fault(place, "an object", json);
    return false;
  }

  // Calls `read(entry, place)` for each entry of the list `key` of the object.
  template <typename Read>
  void List(const Json& object, const char* key, const std::string& place, Read read) {
    const Json& list = Field(object, key, place);
    if (ok() && !list.is_array()) Fault(place + "." + key, "a list", list);
    if (!ok()) return;
    for (size_t i = 0; i < list.size() && ok(); ++i) {
      read(list[i], place + "." + key + "[" + std::to_string(i) + "]");
    }
  }

 private:
  Status status_;
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

class PlanReader {
 public:
  Result<NamedPlan> Read(const Json& json, const std::string& place) {
    if (!reader_.IsObject(json, place)) return reader_.status();
    plan_.fingerprint = ReadText(json, "fingerprint", place);
    plan_.graph = ReadText(json, "graph", place);
    plan_.device = ReadText(json, "device", place);
    plan_.budget_bytes = ReadWhole(json, "budget_bytes", kAny, place);
    ReadOptions(json, place);
    ReadPredicted(json, place);
    plan_.pin_order = reader_.Bool(reader_.Field(json, "pin_order", place), place + ".pin_order");
    reader_.List(json, "clones", place, [&](const Json& entry, const std::string& at) {
      plan_.clones.push_back(reader_.Text(entry, at));
    });
    if (plan_.clones.size() > kMaxClones && reader_.ok()) {
      return InvalidArgument(place + ".clones: more than " + std::to_string(kMaxClones));
    }
    reader_.List(json, "order", place, [&](const Json& entry, const std::string& at) {
      plan_.order.push_back(ReadOp(entry, true, at));
    });
    reader_.List(json, "tensors", place,
                 [&](const Json& entry, const std::string& at) { ReadTensor(entry, at); });
    reader_.List(json, "swaps", place,
                 [&](const Json& entry, const std::string& at) { ReadGap(entry, at); });
    reader_.List(json, "clone_reads", place,
                 [&](const Json& entry, const std::string& at) { ReadCloneRead(entry, at); });
    if (!reader_.ok()) return reader_.status();
    return std::move(plan_);
  }

 private:
  std::string ReadText(const Json& json, const char* key, const std::string& place) {
    return reader_.Text(reader_.Field(json, key, place), place + "." + key);
  }

  int64_t ReadWhole(const Json& json, const char* key, int64_t high, const std::string& place) {
    return reader_.Whole(reader_.Field(json, key, place), high, place + "." + key);
  }

  int32_t ReadClone(const Json& json, const std::string& place) {
    if (plan_.clones.empty()) {
      reader_.Fault(place, "no clone, since `clones` is empty", json);
      return -1;
    }
    const auto last = static_cast<int64_t>(plan_.clones.size()) - 1;
    return static_cast<int32_t>(reader_.Whole(json, last, place));
  }

  void ReadOptions(const Json& json, const std::string& place) {
    const Json& options = reader_.Field(json, "options", place);
    if (!reader_.ok() || !reader_.IsObject(options, place + ".options")) return;
    for (const auto& [name, value] : options.items()) {
      plan_.options.emplace_back(name, reader_.Text(value, place + ".options." + name));
    }
  }

  void ReadPredicted(const Json& json, const std::string& place) {
    const Json& predicted = reader_.Field(json, "predicted", place);
    const std::string at = place + ".predicted";
    if (!reader_.ok() || !reader_.IsObject(predicted, at)) return;
    plan_.predicted_peak_bytes = ReadWhole(predicted, "peak_bytes", kAny, at);
    plan_.predicted_time_us = ReadWhole(predicted, "time_us", kAny, at);
    plan_.predicted_stall_us = ReadWhole(predicted, "stall_us", kAny, at);
  }

  NamedOp ReadOp(const Json& json, bool in_order, const std::string& place) {
    if (json.is_string()) return {json.get<std::string>(), -1, false};
    if (json.is_object() && json.size() == 1) {
      const auto clone = json.find("clone");
      if (clone != json.end()) return {"", ReadClone(*clone, place + ".clone"), false};
      const auto host = json.find("host");
      if (in_order && host != json.end()) {
        return {reader_.Text(*host, place + ".host"), -1, true};
      }
    }
    reader_.Fault(place,
                  in_order ? "a node's name, {\"host\": name} or {\"clone\": number}"
                           : "a node's name or {\"clone\": number}",
                  json);
    return {};
  }

  NamedOp ReadOp(const Json& json, const char* key, const std::string& place) {
    const Json& field = reader_.Field(json, key, place);
    return reader_.ok() ? ReadOp(field, false, place + "." + key) : NamedOp();
  }

  void ReadTensor(const Json& json, const std::string& place) {
    if (!json.is_array() || json.size() != 2) {
      reader_.Fault(place, "[\"node:port\", bytes]", json);
      return;
    }
    std::string name = reader_.Text(json[0], place + "[0]");
    plan_.tensors.emplace_back(std::move(name), reader_.Whole(json[1], kAny, place + "[1]"));
  }

  void ReadGap(const Json& json, const std::string& place) {
    if (!reader_.IsObject(json, place)) return;
    NamedGap gap;
    gap.tensor = ReadText(json, "tensor", place);
    const auto clone = json.find("clone");
    if (clone != json.end()) gap.clone = ReadClone(*clone, place + ".clone");
    gap.leave_after = ReadOp(json, "leave_after", place);
    const Json& sync = reader_.Field(json, "sync", place);
    if (reader_.ok() && !sync.is_null()) gap.sync = ReadOp(sync, false, place + ".sync");
    gap.trigger = ReadOp(json, "trigger", place);
    gap.back_for = ReadOp(json, "back_for", place);
    plan_.swaps.push_back(std::move(gap));
  }

  void ReadCloneRead(const Json& json, const std::string& place) {
    if (!reader_.IsObject(json, place)) return;
    NamedRead read;
    read.tensor = ReadText(json, "tensor", place);
    read.reader = ReadOp(json, "reader", place);
    const Json& clone = reader_.Field(json, "clone", place);
    if (reader_.ok()) read.clone = ReadClone(clone, place + ".clone");
    plan_.clone_reads.push_back(std::move(read));
  }

  Reader reader_;
  NamedPlan plan_;
};

Status NotAPlanFile(const std::string& found) {
  return InvalidArgument(
      "expected a plan file, as `tflms plan -o` and tflms.save_plan() write it, found " + found);
}

}  // namespace

Result<std::vector<NamedPlan>> ParsePlanFile(std::string_view text) {
  if (text.size() > kMaxPlanFileBytes) {
    return InvalidArgument("expected at most " + std::to_string(kMaxPlanFileBytes) +
                           " bytes, found " + std::to_string(text.size()));
  }
  if (IsDeep(text)) return NotAPlanFile("brackets nested more than 16 deep");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return NotAPlanFile("what is no JSON");
  if (!json.is_object()) return NotAPlanFile(Shown(json));
  const auto format = json.find("format");
  if (format == json.end()) return NotAPlanFile("no `format`");
  if (!format->is_number_integer() || *format != kPlanFileFormat) {
    return InvalidArgument("format: expected " + std::to_string(kPlanFileFormat) + ", found " +
                           Shown(*format) + "; the file is of another version of tflms");
  }
  const auto list = json.find("plans");
  if (list == json.end() || !list->is_array()) return NotAPlanFile("no list `plans`");
  std::vector<NamedPlan> plans;
  for (size_t i = 0; i < list->size(); ++i) {
    TFLMS_ASSIGN_OR_RETURN(NamedPlan plan,
                           PlanReader().Read((*list)[i], "plans[" + std::to_string(i) + "]"));
    plans.push_back(std::move(plan));
  }
  return plans;
}

Result<std::vector<NamedPlan>> ReadPlanFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  while (file && text.size() <= kMaxPlanFileBytes) {
    char part[65536];
    file.read(part, sizeof part);
    text.append(part, static_cast<size_t>(file.gcount()));
  }
  // A folder opens, and then gives an error.
  if (!file.eof() && text.size() <= kMaxPlanFileBytes) {
    return InvalidArgument(path + ": cannot be read");
  }
  Result<std::vector<NamedPlan>> plans = ParsePlanFile(text);
  if (plans.ok()) return plans;
  return Status(plans.status().code(), path + ": " + plans.status().message());
}

}  // namespace tflms
