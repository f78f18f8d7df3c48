// SPDX-License-Identifier: Apache-2.0
//
// What a graph from a file lacks for planning: places, batch extents, and, for a graph that carries
// what tflms added, the facts that its nodes had before. Each linear in the size of the graph.

#ifndef TFLMS_CLI_ADJUST_H_
#define TFLMS_CLI_ADJUST_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "src/graph/graph.h"

namespace tflms::cli {

// The GraphDef with `device` on every node that has none; `placed` counts them. Throws as the wire
// functions do.
std::string PlaceNodes(std::string_view graph_def, std::string_view device, int64_t* placed);

// Gives unknown first extents their values, given the batch size; 0 leaves them all.
//
//   fed, or an argument   the batch size
//   reshape               what keeps the number of elements
//   other operations      the one value that all inputs have whose own first extent was unknown
//
// Left unknown behind operations that may change it (slices, concatenations, transpositions, ...).
void FillBatch(int64_t batch_size, Graph* graph);

// A copy keeps all bytes, so a swap node's tensor has the type of the one it copies.
void TypeSwapNodes(Graph* graph);

// Whether the graph has nodes or edges that tflms added, and those it had before can be told.
bool CanErase(const Graph& graph);

// What is known of a node by the operations around it, as it was known before those of tflms came
// between. `erased` has the nodes of `graph` but for the added ones, in the same order. Of a clone is
// known what is known of its source.
void RestoreFacts(const Graph& erased, Graph* graph);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_ADJUST_H_
