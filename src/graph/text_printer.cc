// SPDX-License-Identifier: Apache-2.0
//
// The printer of the text form. See text.h for the grammar; O(size of the graph).

#include <algorithm>
#include <unordered_set>

#include "src/base/text.h"
#include "src/graph/text.h"
#include "src/graph/text_words.h"

namespace tflms {
namespace {

// A short name for a device: its own name when that is a plain word without '/', else the letters
// and digits after the last ':' but one, in lower case ("/job:x/device:GPU:0" gives "gpu0").
std::string ShortName(const std::string& full) {
  if (!full.empty() && full != "none" && full.find('/') == std::string::npos &&
      std::all_of(full.begin(), full.end(), IsPlain)) {
    return full;
  }
  const size_t from = full.rfind("device:");
  std::string out;
  for (char c : full.substr(from == std::string::npos ? 0 : from + 7)) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out.empty() || out == "none" ? "device" : out;
}

// Short names of all devices, made unique by a number.
std::vector<std::string> ShortNames(const std::vector<Device>& devices) {
  std::unordered_set<std::string> taken;
  std::vector<std::string> names;
  for (const Device& device : devices) {
    const std::string base = ShortName(device.name);
    std::string name = base;
    for (int n = 2; !taken.insert(name).second; ++n) name = base + "-" + std::to_string(n);
    names.push_back(name);
  }
  return names;
}

class Printer {
 public:
  explicit Printer(const Graph& graph)
      : graph_(graph),
        short_names_(ShortNames(graph.devices)),
        default_device_(DefaultDevice(graph.devices)) {}

  std::string Run() {
    if (graph_.devices != DefaultDevices()) PrintDevices();
    for (const Node& node : graph_.nodes) PrintNode(node);
    return std::move(out_);
  }

 private:
  void PrintDevices() {
    if (graph_.devices.empty()) out_ += "device none\n";
    for (size_t i = 0; i < graph_.devices.size(); ++i) {
      const Device& device = graph_.devices[i];
      out_ += "device " + short_names_[i];
      for (const KindWord& row : kKindWords) {
        if (row.kind == device.kind) out_ += " " + std::string(row.word);
      }
      if (device.name != short_names_[i]) out_ += " " + QuotedName(device.name);
      if (device.host != kNoDevice) out_ += " host=" + DeviceName(device.host);
      out_ += "\n";
    }
  }

  // A full device name is quoted even where it is a plain word, so that it is not read as another.
  static std::string QuotedName(const std::string& name) {
    const std::string word = WordText(name);
    return word.front() == '"' ? word : '"' + word + '"';
  }

  std::string DeviceName(DeviceId device) const {
    if (device == kNoDevice) return "none";
    const auto index = static_cast<size_t>(device);
    if (device >= 0 && index < short_names_.size()) return short_names_[index];
    return "<bad device " + std::to_string(device) + ">";
  }

  std::string NodeName(NodeId id) const {
    if (id >= 0 && id < graph_.size()) return WordText(graph_.node(id).name);
    return "<bad node " + std::to_string(id) + ">";
  }

  void PrintNode(const Node& node) {
    out_ += WordText(node.name) + " = " + WordText(node.op);
    PrintInputs(node);
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      out_ += port == 0 ? " : " : ", ";
      PrintOutput(node.outputs[port]);
    }
    PrintWords(node);
    out_ += "\n";
  }

  void PrintInputs(const Node& node) {
    const auto controls = static_cast<int64_t>(node.control_inputs.size());
    std::string list;
    const auto next = [&list] { list += list.empty() ? "(" : ", "; };
    for (const Input& in : node.inputs) {
      next();
      if (in.action == EdgeAction::kUpdate) list += "&";
      list += NodeName(in.node);
      if (in.port != 0) list += ":" + std::to_string(in.port);
    }
    for (int64_t i = 0; i < controls; ++i) {
      next();
      list += i >= controls - node.added_controls ? "+^" : "^";
      list += NodeName(node.control_inputs[static_cast<size_t>(i)]);
    }
    if (!list.empty()) out_ += list + ")";
  }

  void PrintOutput(const OutputInfo& output) {
    out_ += std::string(DataTypeName(output.type.dtype)) + (output.type.is_ref ? "&[" : "[");
    if (!output.type.shape.rank_known) out_ += "*";
    bool first = true;
    for (int64_t extent : output.type.shape.extents) {
      if (!first) out_ += ",";
      first = false;
      out_ += extent == kUnknownExtent ? "?" : std::to_string(extent);
    }
    out_ += "]";
    std::string mods;
    const auto add = [&mods](const std::string& mod) { mods += (mods.empty() ? "" : ",") + mod; };
    if (output.host_memory) add("host");
    if (output.persistent) add("persistent");
    if (output.alias_of != -1) add("alias=" + std::to_string(output.alias_of));
    if (output.may_reuse == kReuseAny) {
      add("reuse=any");
    } else if (output.may_reuse != -1) {
      add("reuse=" + std::to_string(output.may_reuse));
    }
    if (!mods.empty()) out_ += "{" + mods + "}";
  }

  void PrintWords(const Node& node) {
    if (node.device != default_device_) out_ += " @" + DeviceName(node.device);
    for (const FlagWord& row : kFlagWords) {
      if (node.Has(row.flag)) out_ += " " + std::string(row.word);
    }
    if (!node.frame_name.empty()) out_ += " frame=" + WordText(node.frame_name);
    if (node.sync_group != 0) out_ += " sync=" + std::to_string(node.sync_group);
    for (const NumberWord& row : kNumberWords) {
      const int64_t value = node.*row.field;
      if (value != row.left_out) out_ += " " + std::string(row.word) + "=" + std::to_string(value);
    }
    for (const RoleWord& row : kRoleWords) {
      if (row.role == node.role) out_ += " role=" + std::string(row.word);
    }
    if (node.clone_of != kNoNode) out_ += " of=" + NodeName(node.clone_of);
  }

  const Graph& graph_;
  const std::vector<std::string> short_names_;
  const DeviceId default_device_;
  std::string out_;
};

}  // namespace

std::vector<Device> DefaultDevices() {
  return {{"gpu", DeviceKind::kAccelerator, 1}, {"cpu", DeviceKind::kHost, kNoDevice}};
}

DeviceId DefaultDevice(const std::vector<Device>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind == DeviceKind::kAccelerator) return static_cast<DeviceId>(i);
  }
  return devices.empty() ? kNoDevice : 0;
}

std::string PrintGraph(const Graph& graph) { return Printer(graph).Run(); }

}  // namespace tflms
