// SPDX-License-Identifier: Apache-2.0
//
// What TensorFlow knows about a graph beyond the graph itself: nodes that must stay, and the types
// of all outputs by its shape inference.

#ifndef TFLMS_TENSORFLOW_PLUGIN_GRAPPLER_ITEM_H_
#define TFLMS_TENSORFLOW_PLUGIN_GRAPPLER_ITEM_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/graph/types.h"
#include "src/tensorflow/plugin/grappler_abi.h"
#include "src/tensorflow/plugin/tf_api.h"
#include "tflms/status.h"

namespace tflms {

// Names of the nodes of a serialized GraphDef, in order. Reads nothing but the names: O(nodes).
Result<std::vector<std::string>> NodeNames(std::string_view graph);

// Names of the nodes that are fetched or run for their effect.
Result<std::unordered_set<std::string>> FetchedNodes(const TfApi& api,
                                                     const abi::GrapplerItem* item);

// Names of the nodes that are fed, fetched, or kept for another reason.
Result<std::unordered_set<std::string>> PreservedNodes(const TfApi& api,
                                                       const abi::GrapplerItem* item);

// Output types of the nodes `names`, by node name and in port order. Nodes that TensorFlow knows
// nothing about are left out. Feeds count as having the shape they were declared with.
Result<std::unordered_map<std::string, std::vector<TensorType>>> InferOutputTypes(
    const TfApi& api, const abi::GrapplerItem* item, const std::vector<std::string>& names);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_GRAPPLER_ITEM_H_
