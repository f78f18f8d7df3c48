// SPDX-License-Identifier: Apache-2.0
//
// GraphDef <-> Graph: TensorFlow's wire format read into the formal graph and written back.
//
//   ExportGraphDef(ImportGraphDef(bytes)) == bytes
//
// The importer keeps views into the caller's buffer, never copies of attributes or constants. On
// the way out a node whose inputs are as they came passes through byte for byte; a node with other
// inputs keeps all its other fields, known or not, byte for byte and in their order; everything
// else in the GraphDef (functions, versions, unknown fields) is copied once, in its place.
//
// What tflms adds to a graph is written as
//   node of role swap-out or swap-in   op Identity; attrs T, _grappler_do_not_remove = true and
//                                      _tflms_role = "swap-out" | "swap-in"
//   node of role recompute             its source's NodeDef with other name and inputs, and attrs
//                                      _grappler_do_not_remove = true, _tflms_role = "recompute"
//                                      and _tflms_clone_of = the source's name
//   order edges into original nodes    trailing control inputs, and on the node the attribute
//                                      _tflms_added_controls = list of the names they come from
// and read back from there. The second attribute is the one exception to law L3 (attributes stay):
// it makes order edges erasable (L6). It names sources instead of counting edges, so it stays true
// when a pass of TensorFlow sorts, merges or drops control inputs in between.
//
// Malformed input of any kind is a Status that names the node and the fault. Time and memory are
// linear in the size of the input: a short file cannot ask for much.

#ifndef TFLMS_TENSORFLOW_GRAPHDEF_H_
#define TFLMS_TENSORFLOW_GRAPHDEF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/graph/graph.h"
#include "tflms/status.h"

namespace tflms {

inline constexpr std::string_view kRoleAttr = "_tflms_role";
inline constexpr std::string_view kPiecesAttr = "_tflms_pieces";
inline constexpr std::string_view kCloneOfAttr = "_tflms_clone_of";
inline constexpr std::string_view kAddedControlsAttr = "_tflms_added_controls";
inline constexpr std::string_view kDoNotRemoveAttr = "_grappler_do_not_remove";

// What the GraphDef itself does not say.
struct ImportContext {
  std::string device_type = "GPU";    // nodes on devices of this type are the accelerator's
  std::string host_device = "CPU:0";  // "TYPE:ID"; swapped tensors of "/job:j/.../device:GPU:1" go
                                      // to "/job:j/.../device:CPU:0"
  // Output types by node name, in port order, as shape inference gave them. Where a node is listed
  // with at least one output the list is taken as complete: a reader of a further port is an error.
  std::unordered_map<std::string, std::vector<TensorType>> inferred;
  // Stands in for the unknown first extent of what a step is fed; 0 = not known.
  int64_t batch_size = 0;
  // Nodes that are fed, fetched or otherwise named from outside.
  std::unordered_set<std::string> preserve;
  // Those of `preserve` that are fetched or run for their effect; empty = not known. In a session's
  // graph, what stands only before the others (fed nodes) does not run: see KeepIdleNodesOut.
  std::unordered_set<std::string> fetched;
};

// One function of the library.
struct LibraryFunction {
  std::string_view name;
  std::string_view bytes;     // the FunctionDef
  bool must_compile = false;  // has _XlaMustCompile: a compiler takes it over whole
};

// A Graph and the side table behind it. Views point into the imported buffer, which must outlive
// this. Node::cookie is an index into node_defs.
struct GraphDefImport {
  Graph graph;
  std::string_view bytes;                   // the GraphDef
  std::vector<std::string_view> node_defs;  // NodeDef of each node, in the order they came
  std::vector<LibraryFunction> functions;
};

// Reads a GraphDef. Fields may come in any order.
Result<GraphDefImport> ImportGraphDef(std::string_view bytes, const ImportContext& context);

// Writes `graph`, which came from `import` (import.graph itself, or a rewritten copy of it), to
// `out`, which is overwritten. Nodes of the import that `graph` lacks are left out; nodes with
// cookie -1 must have a role and are written behind the last original node.
Status ExportGraphDef(const Graph& graph, const GraphDefImport& import, std::string* out);

// The dtype and shape of an OpInfo.TensorProperties message, as TF_GetOutputPropertiesList hands
// them out. Extents below -1 are shape inference's symbols; ImportGraphDef resolves them.
Result<TensorType> ParseTensorProperties(std::string_view bytes);

// "/job:j/replica:0/task:0/device:GPU:1", "CPU:0" -> "/job:j/replica:0/task:0/device:CPU:0". Parts
// the accelerator's name lacks are left out. Empty when `accelerator` is not a device name.
std::string HostDeviceFor(std::string_view accelerator, std::string_view host);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_GRAPHDEF_H_
