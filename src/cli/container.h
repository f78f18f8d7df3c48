// SPDX-License-Identifier: Apache-2.0
//
// The kinds of file the command reads, told by their content, and the graphs inside them.
//
//   GraphDef     one graph                                        *.pb
//   MetaGraphDef one graph, with signatures and collections       *.meta
//   SavedModel   one MetaGraphDef for each set of tags            saved_model.pb
//   text         the text form of src/graph/text.h                *.txt
//
// What is no graph passes byte for byte when a file is put together again. Linear in its size.

#ifndef TFLMS_CLI_CONTAINER_H_
#define TFLMS_CLI_CONTAINER_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tflms/status.h"

namespace tflms::cli {

enum class FileKind { kGraphDef, kMetaGraph, kSavedModel, kText };

// "GraphDef", "MetaGraphDef", "SavedModel", "text form".
const char* FileKindName(FileKind kind);

// The kind of a file with this content, or why it is none of them. Damage of the outer layer is
// found here, damage further in when the graphs are read.
Result<FileKind> DetectKind(std::string_view content);

// One GraphDef in a file.
struct ContainedGraph {
  std::string name;  // the tags of its MetaGraphDef ("serve"), or "graph"
  std::string_view graph_def;
  // Nodes that signatures and collections name: fed, fetched or run from outside.
  std::unordered_set<std::string> preserve;
};

// The graphs of a file of a binary kind, in order.
Result<std::vector<ContainedGraph>> FindGraphs(FileKind kind, std::string_view content);

// The file with graphs[i] in the place of its i-th graph; nothing = as it came.
std::string ReplaceGraphs(FileKind kind, std::string_view content,
                          const std::vector<std::optional<std::string>>& graphs);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_CONTAINER_H_
