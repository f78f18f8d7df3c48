// SPDX-License-Identifier: Apache-2.0
//
// A file as the command sees it: the graphs and function bodies in it, each of them read into a
// graph, and the way back into a file of the same kind.
//
// Nodes without a device. TensorFlow places them when the file is run; planning needs to know now.
// They are taken to be on `place`; by default on accelerator 0 when no node of the file is on an
// accelerator. This is an assumption of planning only: nothing of it is written.

#ifndef TFLMS_CLI_GRAPH_FILE_H_
#define TFLMS_CLI_GRAPH_FILE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/container.h"
#include "src/graph/graph.h"
#include "src/tensorflow/graphdef.h"
#include "tflms/options.h"
#include "tflms/status.h"

namespace tflms::cli {

// One graph of a file: a top-level graph, or the body of a function.
struct Unit {
  std::string name;  // "graph", "serve", "function f", "serve: function f"
  Graph graph;
  int64_t assumed_nodes = 0;  // nodes that are on `place` by assumption

  // Where it came from; empty for the text form.
  struct Origin;
  std::shared_ptr<const Origin> origin;
};

struct GraphFile {
  std::string path;     // of the file itself, also when a folder was given
  bool folder = false;  // a SavedModel's folder was given
  FileKind kind = FileKind::kGraphDef;
  std::string place;  // where nodes without a device are taken to be; "" = nowhere
  std::shared_ptr<const std::string> content;
  std::vector<Unit> units;
  std::vector<std::string> notes;  // functions that could not be read, and why
};

struct ReadSettings {
  Options options;                 // device_type, host_device, batch_size
  std::string place = "auto";      // "auto", "none" or a device name
  std::vector<std::string> fetch;  // further nodes whose results are used outside
  // A file with the same graphs whose nodes have _output_shapes, or the text form of a lone graph;
  // "" = none. Functions are not looked at.
  std::string shapes;
};

// Reads a file, or a SavedModel's folder. Errors name the path.
Result<GraphFile> ReadGraphFile(const std::string& path, const ReadSettings& settings);

// The content of `file` with the graph of its i-th unit replaced by graphs[i], a rewriting of it.
// The same bytes when no graph differs.
Result<std::string> WriteGraphFile(const GraphFile& file, const std::vector<Graph>& graphs);

// True when both have the same devices and nodes.
bool SameGraph(const Graph& a, const Graph& b);

// All of a file but the nodes of its units: what no rewriting may touch. Empty for the text form.
std::string Frame(const GraphFile& file);

// L3 on what the graph does not model: attributes and all other fields of each node of `before` are
// the same in `after`. Units of the text form have none.
Status CompareNodeBytes(const Unit& before, const Unit& after);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_GRAPH_FILE_H_
