// SPDX-License-Identifier: Apache-2.0
//
// A machine as a JSON file:
//
//   {"base": "a100-pcie4", "name": "ours", "out_bytes_per_us": 11000, "in_bytes_per_us": 11000}

#include <algorithm>

#include "src/cost/json_fields.h"
#include "src/cost/machine.h"

namespace tflms {
namespace {

constexpr double kMaxRate = 1e12;  // per microsecond: a million times today's cards
constexpr double kMaxLaunchUs = 1e6;
constexpr double kMaxMemoryBytes = 1e18;

Status ReadRates(const nlohmann::json& object, MachineProfile* machine) {
  struct Field {
    const char* key;
    double MachineProfile::*member;
    double low, high;
  };
  const Field kFields[] = {
      {"flops_per_us", &MachineProfile::flops_per_us, 1, kMaxRate},
      {"half_flops_per_us", &MachineProfile::half_flops_per_us, 1, kMaxRate},
      {"memory_bytes_per_us", &MachineProfile::memory_bytes_per_us, 1, kMaxRate},
      {"launch_us", &MachineProfile::launch_us, 0, kMaxLaunchUs},
      {"out_bytes_per_us", &MachineProfile::out_bytes_per_us, 0, kMaxRate},
      {"in_bytes_per_us", &MachineProfile::in_bytes_per_us, 0, kMaxRate},
  };
  for (const Field& field : kFields) {
    TFLMS_RETURN_IF_ERROR(
        ReadNumber(object, field.key, field.key, field.low, field.high, &(machine->*field.member)));
  }
  double memory_bytes = static_cast<double>(machine->memory_bytes);
  TFLMS_RETURN_IF_ERROR(
      ReadNumber(object, "memory_bytes", "memory_bytes", 0, kMaxMemoryBytes, &memory_bytes));
  machine->memory_bytes = static_cast<int64_t>(memory_bytes);
  return Status();
}

Result<MachineProfile> BaseOf(const nlohmann::json& object) {
  MachineProfile machine;
  machine.name = "file";
  machine.launch_us = 5;
  const auto base = object.find("base");
  if (base == object.end()) return machine;
  std::string names;
  for (const MachineProfile& known : MachineCatalog()) {
    if (*base == known.name) return known;
    names += (names.empty() ? "one of " : ", ") + known.name;
  }
  return BadField("base", names, *base);
}

}  // namespace

Result<MachineProfile> ParseMachine(std::string_view json) {
  TFLMS_ASSIGN_OR_RETURN(const nlohmann::json object, ParseObject(json));
  TFLMS_RETURN_IF_ERROR(CheckKeys(
      object, "",
      {"base", "name", "summary", "flops_per_us", "half_flops_per_us", "memory_bytes_per_us",
       "launch_us", "out_bytes_per_us", "in_bytes_per_us", "memory_bytes"}));
  TFLMS_ASSIGN_OR_RETURN(MachineProfile machine, BaseOf(object));
  TFLMS_RETURN_IF_ERROR(ReadText(object, "name", "name", &machine.name));
  TFLMS_RETURN_IF_ERROR(ReadText(object, "summary", "summary", &machine.summary));
  TFLMS_RETURN_IF_ERROR(ReadRates(object, &machine));
  for (const char* key : {"flops_per_us", "memory_bytes_per_us"}) {
    if (!object.contains("base") && !object.contains(key)) {
      return InvalidArgument("key `" + std::string(key) +
                             "` is missing; without `base` it is needed");
    }
  }
  if (machine.half_flops_per_us == 0) machine.half_flops_per_us = machine.flops_per_us;
  return machine;
}

}  // namespace tflms
