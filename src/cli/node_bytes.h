// SPDX-License-Identifier: Apache-2.0
//
// L3 on what the graph does not model: attributes and all other fields of nodes, byte for byte.

#ifndef TFLMS_CLI_NODE_BYTES_H_
#define TFLMS_CLI_NODE_BYTES_H_

#include "src/tensorflow/graphdef.h"
#include "tflms/status.h"

namespace tflms::cli {

// Nodes of `before` have the same fields in `after`, inputs aside, and clones those of their
// source. O(size of both).
Status CompareNodeBytes(const GraphDefImport& before, const GraphDefImport& after);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_NODE_BYTES_H_
