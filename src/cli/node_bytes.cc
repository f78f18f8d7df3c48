// SPDX-License-Identifier: Apache-2.0
//
// Fields of nodes, compared. See node_bytes.h.

#include "src/cli/node_bytes.h"

#include <string>
#include <string_view>

#include "src/base/text.h"
#include "src/tensorflow/wire.h"

namespace tflms::cli {
namespace {

std::string_view AttrKey(const FieldReader& fields) {
  std::string_view key;
  FieldReader entry(fields.Bytes());
  while (entry.Next()) {
    if (entry.tag() == field::kMapKey) key = entry.Bytes();
  }
  return key;
}

// A NodeDef without its inputs and the list of added ones; `of_clone`: also without what sets a
// clone apart from its source.
std::string OtherFields(std::string_view node_def, bool of_clone) {
  std::string out;
  FieldReader fields(node_def);
  while (fields.Next()) {
    if (fields.tag() == field::kNodeInput) continue;
    if (of_clone && fields.tag() == field::kNodeName) continue;
    if (fields.tag() == field::kNodeAttr) {
      const std::string_view key = AttrKey(fields);
      const bool clones_own = key == kRoleAttr || key == kCloneOfAttr || key == kDoNotRemoveAttr;
      if (key == kAddedControlsAttr || (of_clone && clones_own)) continue;
    }
    out.append(fields.raw());
  }
  return out;
}

Status Changed(const Node& node) {
  return LawBroken("L3 node " + Quoted(node.name) +
                   ": its attributes or other fields were changed");
}

}  // namespace

Status CompareNodeBytes(const GraphDefImport& before, const GraphDefImport& after) {
  const auto bytes = [](const GraphDefImport& import, const Node& node, bool of_clone) {
    return OtherFields(import.node_defs[static_cast<size_t>(node.cookie)], of_clone);
  };
  const auto by_name = IndexByName(after.graph);
  for (const Node& node : before.graph.nodes) {
    const auto found = by_name.find(node.name);
    if (found == by_name.end()) {
      return LawBroken("L3 node " + Quoted(node.name) + ": the node is gone");
    }
    const Node& now = after.graph.node(found->second);
    if (bytes(before, node, false) != bytes(after, now, false)) return Changed(node);
  }
  for (const Node& node : after.graph.nodes) {
    if (node.role != NodeRole::kRecompute) continue;
    const Node& source = after.graph.node(node.clone_of);
    if (bytes(after, node, true) != bytes(after, source, true)) return Changed(node);
  }
  return Status();
}

}  // namespace tflms::cli
