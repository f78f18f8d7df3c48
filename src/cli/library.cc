// SPDX-License-Identifier: Apache-2.0
//
// Who calls which function, and how.

#include "src/cli/library.h"

#include <algorithm>
#include <exception>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>

#include "src/tensorflow/wire.h"

namespace tflms::cli {
namespace {

constexpr uint32_t kFunctionNode = 3, kListFunction = 9;

// What the nodes of one graph or body name.
struct Mentions {
  std::vector<std::string_view> called;  // by a call
  std::vector<std::string_view> other;   // by any other operation
};

bool IsCall(std::string_view op) {
  return op == "PartitionedCall" || op == "StatefulPartitionedCall";
}

std::string_view FunctionName(std::string_view name_attr_list) {
  std::string_view name;
  FieldReader fields(name_attr_list);
  while (fields.Next()) {
    if (fields.tag() == field::kSignatureName) name = fields.Bytes();
  }
  return name;
}

// Functions that one attribute's value names: one, or a list of them.
void AddFunctions(std::string_view value, std::vector<std::string_view>* names) {
  FieldReader fields(value);
  while (fields.Next()) {
    if (!fields.is_bytes()) continue;
    if (fields.tag() == field::kAttrFunc) names->push_back(FunctionName(fields.Bytes()));
    if (fields.tag() != field::kAttrList) continue;
    FieldReader list(fields.Bytes());
    while (list.Next()) {
      if (list.tag() == kListFunction) names->push_back(FunctionName(list.Bytes()));
    }
  }
}

void AddMentions(std::string_view message, uint32_t node_field, Mentions* mentions) {
  FieldReader fields(message);
  while (fields.Next()) {
    if (fields.tag() != node_field) continue;
    std::string_view op;
    std::vector<std::string_view> names;
    bool compiled = false;
    FieldReader node(fields.Bytes());
    while (node.Next()) {
      if (node.tag() == field::kNodeOp) op = node.Bytes();
      if (node.tag() != field::kNodeAttr) continue;
      FieldReader entry(node.Bytes());
      while (entry.Next()) {
        if (entry.tag() == field::kMapKey) compiled |= entry.Bytes() == "_XlaMustCompile";
        if (entry.tag() == field::kMapValue) AddFunctions(entry.Bytes(), &names);
      }
    }
    std::vector<std::string_view>& to =
        IsCall(op) && !compiled ? mentions->called : mentions->other;
    to.insert(to.end(), names.begin(), names.end());
  }
}

class Closure {
 public:
  explicit Closure(const std::vector<LibraryFunction>& functions)
      : left_alone_(functions.size(), false), mentions_(functions.size()) {
    for (size_t i = 0; i < functions.size(); ++i) {
      by_name_.emplace(functions[i].name, i);
      try {
        AddMentions(functions[i].bytes, kFunctionNode, &mentions_[i]);
      } catch (const std::exception&) {
        left_alone_[i] = true;
      }
    }
  }

  void LeaveAlone(const std::vector<std::string_view>& names) {
    std::vector<size_t> todo;
    const auto add = [&](std::string_view name) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end() || left_alone_[found->second]) return;
      left_alone_[found->second] = true;
      todo.push_back(found->second);
    };
    std::for_each(names.begin(), names.end(), add);
    while (!todo.empty()) {
      const Mentions& next = mentions_[todo.back()];
      todo.pop_back();
      std::for_each(next.called.begin(), next.called.end(), add);
      std::for_each(next.other.begin(), next.other.end(), add);
    }
  }

  const Mentions& mentions(size_t function) const { return mentions_[function]; }
  bool left_alone(size_t function) const { return left_alone_[function]; }

 private:
  std::vector<bool> left_alone_;
  std::vector<Mentions> mentions_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

}  // namespace

std::vector<bool> RewritableFunctions(std::string_view graph_def,
                                      const std::vector<LibraryFunction>& functions) {
  Closure closure(functions);
  Mentions top;
  try {
    AddMentions(graph_def, field::kGraphNode, &top);
  } catch (const std::exception&) {
    return std::vector<bool>(functions.size(), false);
  }
  closure.LeaveAlone(top.other);
  for (size_t i = 0; i < functions.size(); ++i) {
    closure.LeaveAlone(closure.mentions(i).other);
    if (functions[i].must_compile) closure.LeaveAlone({functions[i].name});
  }
  std::vector<bool> rewritable;
  for (size_t i = 0; i < functions.size(); ++i) rewritable.push_back(!closure.left_alone(i));
  return rewritable;
}

std::string ReplaceFunctions(std::string_view graph_def,
                             const std::vector<std::optional<std::string>>& functions) {
  std::string out;
  size_t next = 0;
  FieldReader fields(graph_def);
  while (fields.Next()) {
    if (fields.tag() != field::kGraphLibrary) {
      out.append(fields.raw());
      continue;
    }
    std::string library;
    FieldReader entries(fields.Bytes());
    while (entries.Next()) {
      const std::optional<std::string>* function =
          entries.tag() == field::kLibraryFunction ? &functions[next++] : nullptr;
      if (function == nullptr || !function->has_value()) {
        library.append(entries.raw());
      } else {
        protozero::pbf_writer(library).add_message(field::kLibraryFunction, **function);
      }
    }
    protozero::pbf_writer(out).add_message(field::kGraphLibrary, library);
  }
  return out;
}

}  // namespace tflms::cli
