// SPDX-License-Identifier: Apache-2.0
//
// Which tensors the user lets leave the device, by the operation that makes them and by those that
// read them:
//
//   may leave(v)      no exclude list of outputs names v, and some include list does, if there is
//   any may come back(v)  the same with the lists of inputs
//
// A scope names the node of that name and all below it ("block1" names block1/conv but not
// block10); a type names an operation; a pattern is matched with the whole name, `*` for any
// characters and `?` for one. As excl_/incl_output_by_scopes and their kin in TFLMS v2. Cost:
// O(lists) for each node.

#ifndef TFLMS_REWRITE_FILTERS_H_
#define TFLMS_REWRITE_FILTERS_H_

#include <string>
#include <vector>

#include "src/graph/graph.h"
#include "tflms/options.h"

namespace tflms {

struct FilterList {
  std::string option;  // the option it came from
  std::vector<std::string> scopes, types, patterns;
  bool empty() const { return scopes.empty() && types.empty() && patterns.empty(); }
};

struct Filters {
  FilterList include_outputs, exclude_outputs, include_inputs, exclude_inputs;
};

Filters FiltersFrom(const Options& options);

// Whether tensors that `node` makes may leave the device.
bool MayLeave(const Filters& filters, const Node& node);

// Whether `node` may read a tensor that has been away. If not, the tensor stays until it has run.
bool MayComeBack(const Filters& filters, const Node& node);

// One sentence for each word of a list that names no node of the graph.
std::vector<std::string> WordsWithoutNode(const Filters& filters, const Graph& graph);

}  // namespace tflms

#endif  // TFLMS_REWRITE_FILTERS_H_
