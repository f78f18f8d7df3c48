// SPDX-License-Identifier: Apache-2.0
//
// Include and exclude lists. See filters.h.

#include "src/rewrite/filters.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>

namespace tflms {
namespace {

std::vector<std::string> Words(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view word = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

bool InScope(const std::string& scope, const std::string& name) {
  const std::string_view bare =
      std::string_view(scope).substr(0, scope.size() - (scope.ends_with('/') ? 1 : 0));
  return name.starts_with(bare) && (name.size() == bare.size() || name[bare.size()] == '/');
}

bool IsType(const std::string& type, const std::string& op) { return type == op; }

bool Fits(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool Names(const FilterList& list, const Node& node) {
  const auto any = [](const std::vector<std::string>& words, auto matches,
                      const std::string& text) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return matches(word, text); });
  };
  return any(list.scopes, InScope, node.name) || any(list.types, IsType, node.op) ||
         any(list.patterns, Fits, node.name);
}

bool Passes(const FilterList& include, const FilterList& exclude, const Node& node) {
  return !Names(exclude, node) && (include.empty() || Names(include, node));
}

void CheckWords(const FilterList& list, const Graph& graph, std::vector<std::string>* sentences) {
  const auto check = [&](const std::vector<std::string>& words, const char* kind, auto matches) {
    for (const std::string& word : words) {
      if (std::any_of(graph.nodes.begin(), graph.nodes.end(),
                      [&](const Node& node) { return matches(word, node); })) {
        continue;
      }
      sentences->push_back(list.option + "_" + kind + ": `" + word +
                           "` names no node of this graph");
    }
  };
  check(list.scopes, "scopes",
        [](const std::string& word, const Node& node) { return InScope(word, node.name); });
  check(list.types, "types",
        [](const std::string& word, const Node& node) { return IsType(word, node.op); });
  check(list.patterns, "names",
        [](const std::string& word, const Node& node) { return Fits(word, node.name); });
}

}  // namespace

Filters FiltersFrom(const Options& options) {
  return {{"include_output", Words(options.include_output_scopes),
           Words(options.include_output_types), Words(options.include_output_names)},
          {"exclude_output", Words(options.exclude_output_scopes),
           Words(options.exclude_output_types), Words(options.exclude_output_names)},
          {"include_input", Words(options.include_input_scopes), Words(options.include_input_types),
           Words(options.include_input_names)},
          {"exclude_input", Words(options.exclude_input_scopes), Words(options.exclude_input_types),
           Words(options.exclude_input_names)}};
}

bool MayLeave(const Filters& filters, const Node& node) {
  return Passes(filters.include_outputs, filters.exclude_outputs, node);
}

bool MayComeBack(const Filters& filters, const Node& node) {
  return Passes(filters.include_inputs, filters.exclude_inputs, node);
}

std::vector<std::string> WordsWithoutNode(const Filters& filters, const Graph& graph) {
  std::vector<std::string> sentences;
  for (const FilterList* list : {&filters.include_outputs, &filters.exclude_outputs,
                                 &filters.include_inputs, &filters.exclude_inputs}) {
    CheckWords(*list, graph, &sentences);
  }
  return sentences;
}

}  // namespace tflms
