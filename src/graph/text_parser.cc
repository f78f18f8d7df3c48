// SPDX-License-Identifier: Apache-2.0
//
// The parser of the text form. See text.h for the grammar. Lines are read one by one; the names of
// devices and inputs are looked up at the end, since a line may name a later one.

#include <limits>
#include <unordered_map>
#include <utility>

#include "src/base/text.h"
#include "src/graph/text.h"
#include "src/graph/text_words.h"

namespace tflms {
namespace {

// The name of an input, to be looked up when all nodes are known.
struct PendingInput {
  std::string name;
  int32_t port = 0;
  EdgeAction action = EdgeAction::kRead;
  bool control = false;
};

struct PendingNode {
  int32_t line = 0;
  std::vector<PendingInput> inputs;
  std::string clone_of;  // "" = of none
  std::string device;    // "" = the default one
};

struct PendingDevice {
  int32_t line = 0;
  std::string host;  // "" = none
};

// `value` as an integer within the range of T.
template <typename T>
std::optional<T> Narrow(std::optional<int64_t> value) {
  if (!value || *value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max()) {
    return std::nullopt;
  }
  return static_cast<T>(*value);
}

// Reads "=" and an integer of type T that belong to `word`.
template <typename T>
Result<T> ReadNumber(LineCursor* in, std::string_view word, std::string_view stops) {
  if (!in->Take('=')) return in->Expected("`=` and a number after `" + std::string(word) + "`");
  const std::string_view token = in->Token(stops);
  const std::optional<T> value = Narrow<T>(ParseInt64(token));
  if (!value) {
    return InvalidArgument("expected a whole number of at most " + std::to_string(sizeof(T) * 8) +
                           " bits after `" + std::string(word) + "=`, found " + Quoted(token));
  }
  return *value;
}

// Reads a slot number or, where `any` is allowed, "any".
Result<int16_t> ReadSlot(LineCursor* in, std::string_view word, bool any) {
  constexpr std::string_view kStops = ",}#";
  LineCursor ahead = *in;
  if (any && ahead.Take('=') && ahead.Token(kStops) == "any") {
    *in = ahead;
    return kReuseAny;
  }
  return ReadNumber<int16_t>(in, word, kStops);
}

Status ReadExtents(LineCursor* in, Shape* shape) {
  if (!in->Take('[')) return in->Expected("`[` and the extents");
  if (in->Take('*')) {
    return in->Take(']') ? Status() : in->Expected("`]` after `*`");
  }
  shape->rank_known = true;
  if (in->Take(']')) return Status();
  do {
    const std::string_view token = in->Token(",]#");
    const std::optional<int64_t> extent =
        token == "?" ? std::optional<int64_t>(kUnknownExtent) : ParseInt64(token);
    if (!extent) {
      return InvalidArgument(
          "expected an extent (a whole number of at most 64 bits, or `?`), found " + Quoted(token));
    }
    shape->extents.push_back(*extent);
  } while (in->Take(','));
  return in->Take(']') ? Status() : in->Expected("`,` or `]` after an extent");
}

Status ReadModifiers(LineCursor* in, OutputInfo* output) {
  constexpr std::string_view kExpected = "`host`, `persistent`, `alias=` or `reuse=`";
  do {
    TFLMS_ASSIGN_OR_RETURN(const std::string word, in->Word(kExpected));
    if (word == "host") {
      output->host_memory = true;
    } else if (word == "persistent") {
      output->persistent = true;
    } else if (word == "alias") {
      TFLMS_ASSIGN_OR_RETURN(output->alias_of, ReadSlot(in, word, false));
    } else if (word == "reuse") {
      TFLMS_ASSIGN_OR_RETURN(output->may_reuse, ReadSlot(in, word, true));
    } else {
      return InvalidArgument("expected " + std::string(kExpected) + ", found " + Quoted(word));
    }
  } while (in->Take(','));
  return in->Take('}') ? Status() : in->Expected("`,` or `}`");
}

Status ReadOutput(LineCursor* in, OutputInfo* output) {
  TFLMS_ASSIGN_OR_RETURN(const std::string type, in->Word("a type such as f32"));
  output->type.dtype = DataTypeFromName(type);
  if (output->type.dtype == DataType::kInvalid && type != DataTypeName(DataType::kInvalid)) {
    return InvalidArgument("expected a type such as f32, found " + Quoted(type));
  }
  output->type.is_ref = in->Take('&');
  TFLMS_RETURN_IF_ERROR(ReadExtents(in, &output->type.shape));
  return in->Take('{') ? ReadModifiers(in, output) : Status();
}

// Reads one input. Order: data inputs, controls, controls that rules added.
Status ReadInput(LineCursor* in, Node* node, std::vector<PendingInput>* inputs) {
  PendingInput input;
  const bool added = in->Take('+');
  input.control = in->Take('^');
  if (added && !input.control) return in->Expected("`^` after `+`");
  if (!input.control && in->Take('&')) input.action = EdgeAction::kUpdate;
  TFLMS_ASSIGN_OR_RETURN(input.name, in->Word("the name of an input"));
  if (!input.control) {
    if (!inputs->empty() && inputs->back().control) {
      return InvalidArgument("data input " + Quoted(input.name) +
                             " after a control input: data inputs come first");
    }
    if (in->Take(':')) {
      const std::string_view token = in->Token(",)#");
      const auto port = Narrow<int32_t>(ParseInt64(token));
      if (!port) return InvalidArgument("expected a port number, found " + Quoted(token));
      input.port = *port;
    }
  } else if (added) {
    ++node->added_controls;
  } else if (node->added_controls > 0) {
    return InvalidArgument("control input " + Quoted(input.name) +
                           " after one with `+`: added ones come last");
  }
  inputs->push_back(std::move(input));
  return Status();
}

Status ReadInputs(LineCursor* in, Node* node, std::vector<PendingInput>* inputs) {
  if (in->Take(')')) return Status();
  do {
    TFLMS_RETURN_IF_ERROR(ReadInput(in, node, inputs));
  } while (in->Take(','));
  return in->Take(')') ? Status() : in->Expected("`,` or `)` after an input");
}

Status ReadRole(LineCursor* in, Node* node) {
  if (!in->Take('=')) return in->Expected("`=` after `role`");
  TFLMS_ASSIGN_OR_RETURN(const std::string role, in->Word("a role"));
  for (const RoleWord& row : kRoleWords) {
    if (row.word != role) continue;
    node->role = row.role;
    return Status();
  }
  return InvalidArgument("expected a role (" + ListOfWords(kRoleWords) + "), found " +
                         Quoted(role));
}

// Reads one word behind the outputs: a flag, or name=value.
Status ReadWord(LineCursor* in, Node* node, PendingNode* pending) {
  TFLMS_ASSIGN_OR_RETURN(
      const std::string word,
      in->Word(node->outputs.empty() ? "`(`, `:`, `@` or a word"
                                     : "`,`, `@`, a word or the end of the line"));
  for (const FlagWord& row : kFlagWords) {
    if (row.word != word) continue;
    node->flags |= row.flag;
    return Status();
  }
  for (const NumberWord& row : kNumberWords) {
    if (row.word != word) continue;
    TFLMS_ASSIGN_OR_RETURN(node->*row.field, ReadNumber<int64_t>(in, word, "#"));
    return Status();
  }
  if (word == "sync") {
    TFLMS_ASSIGN_OR_RETURN(node->sync_group, ReadNumber<int32_t>(in, word, "#"));
    return Status();
  }
  if (word == "frame") {
    if (!in->Take('=')) return in->Expected("`=` after `frame`");
    TFLMS_ASSIGN_OR_RETURN(node->frame_name, in->Word("the name of a frame"));
    return Status();
  }
  if (word == "role") return ReadRole(in, node);
  if (word == "of") {
    if (!in->Take('=')) return in->Expected("`=` after `of`");
    TFLMS_ASSIGN_OR_RETURN(pending->clone_of, in->Word("the name of a node"));
    return Status();
  }
  return InvalidArgument("unknown word " + Quoted(word) + "; flags: " + ListOfWords(kFlagWords) +
                         "; others: frame=, sync=, state=, ws=, t=, pieces=, role=, of=");
}

class GraphParser {
 public:
  explicit GraphParser(int32_t first_line) : line_(first_line) {}

  Result<Graph> Run(std::string_view text) {
    for (std::string_view line : SplitLines(text)) {
      LineCursor in(line);
      node_ = nullptr;
      if (!in.AtEnd()) {
        const Status status = ReadLine(&in);
        if (!status.ok()) return At(status.message());
      }
      ++line_;
    }
    TFLMS_RETURN_IF_ERROR(FindDevices());
    TFLMS_RETURN_IF_ERROR(FindInputs());
    return std::move(graph_);
  }

 private:
  // An error with its place.
  Status At(const std::string& message) const {
    std::string place = "line " + std::to_string(line_);
    if (node_ != nullptr) place += ", node " + Quoted(node_->name);
    return InvalidArgument(place + ": " + message);
  }

  Status ReadLine(LineCursor* in) {
    const bool quoted = in->Peek() == '"';
    TFLMS_ASSIGN_OR_RETURN(std::string name, in->Word("a node or `device`"));
    if (in->Take('=')) return ReadNode(in, std::move(name));
    if (name == "device" && !quoted) return ReadDevice(in);
    return in->Expected("`=` after " + Quoted(name));
  }

  Status ReadDevice(LineCursor* in) {
    TFLMS_ASSIGN_OR_RETURN(const std::string name, in->Word("a device's name"));
    if (name == "none") {
      if (!graph_.devices.empty()) return InvalidArgument("`device none` after another device");
      no_devices_ = true;
      return in->AtEnd() ? Status() : in->Expected("the end of the line");
    }
    if (no_devices_) return InvalidArgument("a device after `device none`");
    if (graph_.devices.size() >= std::numeric_limits<DeviceId>::max()) {
      return InvalidArgument("more devices than a graph can have");
    }
    const auto id = static_cast<DeviceId>(graph_.devices.size());
    if (!device_ids_.emplace(name, id).second) {
      return InvalidArgument("there is a device " + Quoted(name) + " already");
    }
    Device device;
    device.name = name;
    PendingDevice pending = {line_, ""};
    TFLMS_RETURN_IF_ERROR(ReadKind(in, &device));
    if (in->Peek() == '"') {
      TFLMS_ASSIGN_OR_RETURN(device.name, in->Word("the full name"));
    }
    if (!in->AtEnd()) {
      TFLMS_ASSIGN_OR_RETURN(const std::string word, in->Word("a full name in quotes or `host=`"));
      if (word != "host" || !in->Take('=')) return InvalidArgument("expected `host=`");
      TFLMS_ASSIGN_OR_RETURN(pending.host, in->Word("a device's name"));
    }
    graph_.devices.push_back(std::move(device));
    pending_devices_.push_back(std::move(pending));
    return in->AtEnd() ? Status() : in->Expected("the end of the line");
  }

  static Status ReadKind(LineCursor* in, Device* device) {
    TFLMS_ASSIGN_OR_RETURN(const std::string kind, in->Word("a kind of device"));
    for (const KindWord& row : kKindWords) {
      if (row.word != kind) continue;
      device->kind = row.kind;
      return Status();
    }
    return InvalidArgument("expected a kind of device (" + ListOfWords(kKindWords) + "), found " +
                           Quoted(kind));
  }

  Status ReadNode(LineCursor* in, std::string name) {
    Node& node = graph_.nodes.emplace_back();
    PendingNode& pending = pending_nodes_.emplace_back();
    node_ = &node;
    node.name = std::move(name);
    pending.line = line_;
    TFLMS_ASSIGN_OR_RETURN(node.op, in->Word("an operation"));
    if (in->Take('(')) TFLMS_RETURN_IF_ERROR(ReadInputs(in, &node, &pending.inputs));
    if (in->Take(':')) {
      do {
        TFLMS_RETURN_IF_ERROR(ReadOutput(in, &node.outputs.emplace_back()));
      } while (in->Take(','));
    }
    while (!in->AtEnd()) {
      if (in->Take('@')) {
        TFLMS_ASSIGN_OR_RETURN(pending.device, in->Word("a device's name"));
      } else {
        TFLMS_RETURN_IF_ERROR(ReadWord(in, &node, &pending));
      }
    }
    return Status();
  }

  // The device called `name`; "none" is no device.
  Result<DeviceId> DeviceNamed(const std::string& name) const {
    if (name == "none") return kNoDevice;
    const auto it = device_ids_.find(name);
    if (it == device_ids_.end()) return At("there is no device " + Quoted(name));
    return it->second;
  }

  Status FindDevices() {
    node_ = nullptr;
    if (graph_.devices.empty() && !no_devices_) {
      graph_.devices = DefaultDevices();
      for (const Device& device : graph_.devices) {
        device_ids_.emplace(device.name, static_cast<DeviceId>(device_ids_.size()));
      }
    }
    for (size_t i = 0; i < pending_devices_.size(); ++i) {
      line_ = pending_devices_[i].line;
      if (pending_devices_[i].host.empty()) continue;
      TFLMS_ASSIGN_OR_RETURN(graph_.devices[i].host, DeviceNamed(pending_devices_[i].host));
    }
    const DeviceId standard = DefaultDevice(graph_.devices);
    for (size_t i = 0; i < pending_nodes_.size(); ++i) {
      node_ = &graph_.nodes[i];
      line_ = pending_nodes_[i].line;
      graph_.nodes[i].device = standard;
      if (pending_nodes_[i].device.empty()) continue;
      TFLMS_ASSIGN_OR_RETURN(graph_.nodes[i].device, DeviceNamed(pending_nodes_[i].device));
    }
    return Status();
  }

  Status FindInputs() {
    std::unordered_map<std::string_view, NodeId> ids;
    ids.reserve(graph_.nodes.size());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      Enter(id);
      const auto [it, added] = ids.emplace(node_->name, id);
      if (added) continue;
      const int32_t other = pending_nodes_[static_cast<size_t>(it->second)].line;
      return At("the name is taken by the node of line " + std::to_string(other));
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      Enter(id);
      Node& node = graph_.node(id);
      const PendingNode& pending = pending_nodes_[static_cast<size_t>(id)];
      if (!pending.clone_of.empty()) {
        const auto source = ids.find(pending.clone_of);
        if (source == ids.end()) return At("of= " + Quoted(pending.clone_of) + " names no node");
        node.clone_of = source->second;
      }
      for (const PendingInput& input : pending.inputs) {
        const auto it = ids.find(input.name);
        if (it == ids.end()) return At("input " + Quoted(input.name) + " names no node");
        if (input.control) {
          node.control_inputs.push_back(it->second);
        } else {
          node.inputs.push_back({it->second, input.port, input.action});
        }
      }
    }
    return Status();
  }

  // Makes `id` the node that errors speak of.
  void Enter(NodeId id) {
    node_ = &graph_.node(id);
    line_ = pending_nodes_[static_cast<size_t>(id)].line;
  }

  Graph graph_;
  std::vector<PendingNode> pending_nodes_;      // by node
  std::vector<PendingDevice> pending_devices_;  // by device
  std::unordered_map<std::string, DeviceId> device_ids_;
  bool no_devices_ = false;
  int32_t line_;
  const Node* node_ = nullptr;  // the node that is being read
};

}  // namespace

Result<Graph> ParseGraph(std::string_view text, int32_t first_line) {
  return GraphParser(first_line).Run(text);
}

}  // namespace tflms
