// SPDX-License-Identifier: Apache-2.0
//
// See profile.h. Reading is O(size of the file), a look-up O(1).

#include "src/cost/profile.h"

#include <utility>

#include "src/base/text.h"
#include "src/cost/input_file.h"
#include "src/cost/json_fields.h"

namespace tflms {
namespace {

constexpr double kMaxTimeUs = 1e12;
constexpr double kMaxRuns = 1e15;
constexpr double kMaxRate = 1e12;
constexpr const char* kTimeExpected = "a number from 0 to 1e+12";

Status CheckFormat(const nlohmann::json& object) {
  const auto format = object.find("format");
  if (format == object.end()) {
    return InvalidArgument("key `format` is missing: this is no profile of tflms");
  }
  if (*format == 1) return Status();
  return BadField("format", "1, the only version there is", *format);
}

// The object at object[key], an empty one when there is none.
Result<nlohmann::json> Part(nlohmann::json* object, const char* key) {
  const auto found = object->find(key);
  if (found == object->end()) return nlohmann::json::object();
  if (!found->is_object()) return BadField(key, "an object", *found);
  return std::move(*found);
}

// A key's or an operation's name may be longer than other texts: it lists all types.
Status ReadKey(const nlohmann::json& row, const std::string& path, std::string* value) {
  const auto found = row.find("key");
  if (found == row.end()) return Status();
  if (!found->is_string()) return BadField(path, "a text", *found);
  *value = found->get<std::string>();
  return Status();
}

Result<MeasuredOp> ReadOp(const std::string& name, const nlohmann::json& row) {
  const std::string where = "ops." + name;
  if (!row.is_object()) return BadField(where, "an object", row);
  TFLMS_RETURN_IF_ERROR(CheckKeys(row, where + ".", {"op", "time_us", "n", "key"}));
  MeasuredOp op;
  double runs = 1;
  op.time_us = -1;
  TFLMS_RETURN_IF_ERROR(ReadText(row, "op", where + ".op", &op.op));
  TFLMS_RETURN_IF_ERROR(ReadNumber(row, "time_us", where + ".time_us", 0, kMaxTimeUs, &op.time_us));
  TFLMS_RETURN_IF_ERROR(ReadNumber(row, "n", where + ".n", 1, kMaxRuns, &runs));
  TFLMS_RETURN_IF_ERROR(ReadKey(row, where + ".key", &op.key));
  if (op.op.empty()) return InvalidArgument("key `" + where + ".op` is missing or empty");
  if (op.time_us < 0) return InvalidArgument("key `" + where + ".time_us` is missing");
  op.n = static_cast<int64_t>(runs);
  return op;
}

Result<Machine> ReadLink(const nlohmann::json& link) {
  TFLMS_RETURN_IF_ERROR(CheckKeys(link, "link.", {"out_bytes_per_us", "in_bytes_per_us"}));
  Machine rates;
  TFLMS_RETURN_IF_ERROR(ReadNumber(link, "out_bytes_per_us", "link.out_bytes_per_us", 0, kMaxRate,
                                   &rates.out_bytes_per_us));
  TFLMS_RETURN_IF_ERROR(ReadNumber(link, "in_bytes_per_us", "link.in_bytes_per_us", 0, kMaxRate,
                                   &rates.in_bytes_per_us));
  return rates;
}

}  // namespace

Result<CostProfile> ParseProfile(std::string_view json) {
  TFLMS_ASSIGN_OR_RETURN(nlohmann::json object, ParseObject(json));
  TFLMS_RETURN_IF_ERROR(CheckFormat(object));
  TFLMS_RETURN_IF_ERROR(CheckKeys(object, "", {"format", "device", "ops", "shapes", "link"}));
  CostProfile profile;
  TFLMS_RETURN_IF_ERROR(ReadText(object, "device", "device", &profile.device));
  TFLMS_ASSIGN_OR_RETURN(const nlohmann::json ops, Part(&object, "ops"));
  for (const auto& [name, row] : ops.items()) {
    TFLMS_ASSIGN_OR_RETURN(profile.ops[name], ReadOp(name, row));
  }
  TFLMS_ASSIGN_OR_RETURN(const nlohmann::json shapes, Part(&object, "shapes"));
  for (const auto& [key, time] : shapes.items()) {
    const double time_us = time.is_number() ? time.get<double>() : -1;
    if (!(time_us >= 0 && time_us <= kMaxTimeUs)) {
      return BadField("shapes." + key, kTimeExpected, time);
    }
    profile.shapes.emplace(key, time_us);
  }
  TFLMS_ASSIGN_OR_RETURN(const nlohmann::json link, Part(&object, "link"));
  TFLMS_ASSIGN_OR_RETURN(profile.link, ReadLink(link));
  return profile;
}

Result<CostProfile> ReadProfile(const std::string& path) {
  TFLMS_ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path, kMaxProfileBytes));
  Result<CostProfile> profile = ParseProfile(text);
  if (!profile.ok()) return InvalidArgument(path + ": " + profile.status().message());
  return profile;
}

std::optional<MeasuredTime> FindTime(const CostProfile& profile, const Node& node,
                                     const std::string& key) {
  const auto op = profile.ops.find(node.name);
  if (op != profile.ops.end() && op->second.op == node.op &&
      (op->second.key.empty() || key.empty() || op->second.key == key)) {
    return MeasuredTime{op->second.time_us, true};
  }
  if (key.empty()) return std::nullopt;
  const auto shape = profile.shapes.find(key);
  if (shape == profile.shapes.end()) return std::nullopt;
  return MeasuredTime{shape->second, false};
}

}  // namespace tflms
