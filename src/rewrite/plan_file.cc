// SPDX-License-Identifier: Apache-2.0
//
// NamedPlan -> JSON. See plan_file.h; plan_file_reader.cc is the way back.

#include "src/rewrite/plan_file.h"

#include <nlohmann/json.hpp>

namespace tflms {
namespace {

// Ordered: keys come out as they are written here. Objects stay small: lists hold what there may be
// many of.
using Json = nlohmann::ordered_json;

Json OpJson(const NamedOp& op) {
  if (op.clone >= 0) return {{"clone", op.clone}};
  if (op.host) return {{"host", op.node}};
  return op.node;
}

Json GapJson(const NamedGap& gap) {
  Json json = {{"tensor", gap.tensor}};
  if (gap.clone >= 0) json["clone"] = gap.clone;
  json["leave_after"] = OpJson(gap.leave_after);
  json["sync"] = gap.sync ? OpJson(*gap.sync) : Json();
  json["trigger"] = OpJson(gap.trigger);
  json["back_for"] = OpJson(gap.back_for);
  return json;
}

// A list with one entry a line, so that files can be read and compared.
template <typename Entries, typename ToJson>
std::string Lines(const Entries& entries, ToJson to_json) {
  std::string text = "[";
  for (const auto& entry : entries) {
    text += text.size() > 1 ? ",\n  " : "\n  ";
    text += to_json(entry).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text + "]";
}

std::string Word(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string PlanToFileJson(const NamedPlan& plan) {
  Json options = Json::object();
  for (const auto& [name, value] : plan.options) options[name] = value;
  const Json predicted = {{"peak_bytes", plan.predicted_peak_bytes},
                          {"time_us", plan.predicted_time_us},
                          {"stall_us", plan.predicted_stall_us}};
  std::string text = "{\"fingerprint\": " + Word(plan.fingerprint);
  text += ",\n \"graph\": " + Word(plan.graph);
  text += ",\n \"device\": " + Word(plan.device);
  text += ",\n \"budget_bytes\": " + std::to_string(plan.budget_bytes);
  text += ",\n \"options\": " + Word(options);
  text += ",\n \"predicted\": " + Word(predicted);
  text += std::string(",\n \"pin_order\": ") + (plan.pin_order ? "true" : "false");
  text += ",\n \"swaps\": " + Lines(plan.swaps, GapJson);
  text += ",\n \"clones\": " + Lines(plan.clones, [](const auto& node) { return Json(node); });
  text += ",\n \"clone_reads\": " + Lines(plan.clone_reads, [](const NamedRead& read) {
            return Json{
                {"tensor", read.tensor}, {"reader", OpJson(read.reader)}, {"clone", read.clone}};
          });
  text += ",\n \"order\": " + Lines(plan.order, OpJson);
  text += ",\n \"tensors\": " + Lines(plan.tensors, [](const auto& tensor) {
            return Json::array({tensor.first, tensor.second});
          });
  return text + "}";
}

std::string PlanFileOf(const std::vector<std::string>& plans) {
  std::string text = "{\"format\": " + std::to_string(kPlanFileFormat) + ", \"tflms\": \"" +
                     TFLMS_VERSION + "\", \"plans\": [";
  for (size_t i = 0; i < plans.size(); ++i) text += (i == 0 ? "\n" : ",\n") + plans[i];
  return text + "\n]}\n";
}

}  // namespace tflms
