// SPDX-License-Identifier: Apache-2.0
//
// Device names taken apart, sorted into kinds and put together again.

#include "src/tensorflow/graphdef_device.h"

#include <algorithm>
#include <limits>

namespace tflms {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == text.npos;
}

// "GPU:1", "GPU:*" or "GPU" into type and id.
bool ParseTypeAndId(std::string_view text, DeviceName* name) {
  const size_t colon = text.find(':');
  name->type = std::string(text.substr(0, colon));
  name->id.clear();
  if (colon != std::string_view::npos) {
    const std::string_view id = text.substr(colon + 1);
    if (id != "*" && !IsNumber(id)) return false;
    if (id != "*") name->id = std::string(id);
  }
  if (name->type == "*") name->type.clear();
  // The old form "/gpu:0".
  if (name->type == "cpu") name->type = "CPU";
  if (name->type == "gpu") name->type = "GPU";
  return true;
}

bool ParsePart(std::string_view part, DeviceName* name) {
  const size_t colon = part.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = part.substr(0, colon);
  const std::string_view value = part.substr(colon + 1);
  if (value.empty()) return false;
  if (key == "device") return ParseTypeAndId(value, name);
  if (key == "job" || key == "replica" || key == "task") {
    std::string* target = key == "job" ? &name->job : key == "task" ? &name->task : &name->replica;
    if (key != "job" && value != "*" && !IsNumber(value)) return false;
    *target = value == "*" ? "" : std::string(value);
    return true;
  }
  return ParseTypeAndId(part, name);
}

}  // namespace

bool ParseDeviceName(std::string_view text, DeviceName* name) {
  *name = {};
  if (text.empty() || text == "/") return true;
  if (text.front() == '/') text.remove_prefix(1);
  while (true) {
    const size_t slash = text.find('/');
    if (!ParsePart(text.substr(0, slash), name)) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

std::string FormatDeviceName(const DeviceName& name) {
  std::string out;
  if (!name.job.empty()) out += "/job:" + name.job;
  if (!name.replica.empty()) out += "/replica:" + name.replica;
  if (!name.task.empty()) out += "/task:" + name.task;
  if (!name.type.empty()) out += "/device:" + name.type + ":" + (name.id.empty() ? "*" : name.id);
  return out;
}

std::string HostDeviceFor(std::string_view accelerator, std::string_view host) {
  DeviceName name, host_part;
  if (accelerator.empty() || !ParseDeviceName(accelerator, &name)) return "";
  if (!ParseDeviceName(host, &host_part) || host_part.type.empty()) return "";
  name.type = host_part.type;
  name.id = host_part.id.empty() ? "0" : host_part.id;
  return FormatDeviceName(name);
}

DeviceKind DeviceTable::KindOf(const DeviceName& name) const {
  if (name.type.empty() || name.id.empty()) return DeviceKind::kOther;
  DeviceName host;
  if (ParseDeviceName(context_.host_device, &host) && host.type == name.type &&
      (host.id.empty() ? "0" : host.id) == name.id) {
    return DeviceKind::kHost;
  }
  if (name.type == context_.device_type) return DeviceKind::kAccelerator;
  return name.type == "CPU" ? DeviceKind::kHost : DeviceKind::kOther;
}

Result<DeviceId> DeviceTable::Intern(const std::string& canonical, DeviceKind kind) {
  const auto found = by_name_.find(canonical);
  if (found != by_name_.end()) return found->second;
  if (graph_->devices.size() >= static_cast<size_t>(std::numeric_limits<DeviceId>::max())) {
    return InvalidArgument("more than " + std::to_string(std::numeric_limits<DeviceId>::max()) +
                           " devices");
  }
  const auto id = static_cast<DeviceId>(graph_->devices.size());
  graph_->devices.push_back({canonical, kind, kNoDevice});
  by_name_.emplace(canonical, id);
  return id;
}

Result<DeviceId> DeviceTable::Find(std::string_view text) {
  if (text.empty()) return kNoDevice;
  const auto found = by_spelling_.find(text);
  if (found != by_spelling_.end()) return found->second;
  DeviceName name;
  const bool parsed = ParseDeviceName(text, &name);
  const DeviceKind kind = parsed ? KindOf(name) : DeviceKind::kOther;
  const std::string canonical =
      kind == DeviceKind::kOther ? std::string(text) : FormatDeviceName(name);
  TFLMS_ASSIGN_OR_RETURN(const DeviceId id, Intern(canonical, kind));
  if (kind == DeviceKind::kAccelerator &&
      graph_->devices[static_cast<size_t>(id)].host == kNoDevice) {
    TFLMS_ASSIGN_OR_RETURN(
        const DeviceId host,
        Intern(HostDeviceFor(canonical, context_.host_device), DeviceKind::kHost));
    graph_->devices[static_cast<size_t>(id)].host = host;
  }
  by_spelling_.emplace(text, id);
  return id;
}

}  // namespace tflms
