// SPDX-License-Identifier: Apache-2.0
//
// GraphDefs inside MetaGraphDefs inside SavedModels.

#include "src/cli/container.h"

#include <algorithm>
#include <exception>
#include <protozero/pbf_writer.hpp>

#include "src/tensorflow/wire.h"

namespace tflms::cli {
namespace {

// Field numbers of SavedModel, MetaGraphDef and what is in them.
constexpr uint32_t kMetaGraph = 2;
constexpr uint32_t kMetaInfo = 1, kGraph = 2, kCollection = 4, kSignature = 5, kLastMetaField = 7;
constexpr uint32_t kTags = 4;
constexpr uint32_t kSignatureInputs = 1, kSignatureOutputs = 2;
constexpr uint32_t kTensorName = 1, kSparseTensor = 4, kCompositeTensor = 5;
constexpr uint32_t kNodeList = 1, kNodeListValue = 1;
constexpr uint32_t kGraphVersion = 3, kGraphVersions = 4;

// A NodeDef begins with name and op, both of them words; a MetaInfoDef has a message in their
// place.
bool LooksLikeNode(std::string_view bytes) {
  const auto word = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return c > ' ' && c != 0x7F;  // characters beyond ASCII are negative
    });
  };
  std::string_view name, op;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() == field::kNodeName && fields.is_bytes()) name = fields.Bytes();
    if (fields.tag() == field::kNodeOp && fields.is_bytes()) op = fields.Bytes();
  }
  return word(name) && word(op);
}

// The fields of a message's outermost layer.
struct Fields {
  uint32_t first = 0, last = 0;  // smallest and largest field number
  bool schema_version = false;   // field 1 is a number
  std::string_view field_one;    // the first field 1, when it is bytes
  bool has_graph = false;        // field 2
};

Fields Survey(std::string_view content) {
  Fields found;
  FieldReader fields(content);
  while (fields.Next()) {
    if (found.first == 0) found.first = fields.tag();
    found.first = std::min(found.first, fields.tag());
    found.last = std::max(found.last, fields.tag());
    if (fields.tag() == 1 && !fields.is_bytes()) found.schema_version = true;
    if (fields.tag() == 1 && fields.is_bytes() && found.field_one.data() == nullptr) {
      found.field_one = fields.Bytes();
    }
    if (fields.tag() == kGraph && fields.is_bytes()) found.has_graph = true;
  }
  return found;
}

bool IsTextContent(std::string_view content) {
  const bool control = std::any_of(content.begin(), content.end(), [](char c) {
    return (c >= 0 && c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7F;
  });
  return !control && IsUtf8(content);
}

// "node {", "meta_graphs {", "saved_model_schema_version: 1": protobuf's text format.
bool IsProtobufText(std::string_view content) {
  for (const std::string_view word :
       {"node {", "node{", "library {", "library{", "versions {", "versions{", "meta_info_def {",
        "meta_info_def{", "graph_def {", "graph_def{", "meta_graphs {", "meta_graphs{",
        "saved_model_schema_version:"}) {
    const size_t at = content.find(word);
    if (at != std::string_view::npos && (at == 0 || content[at - 1] == '\n')) return true;
  }
  return false;
}

Result<FileKind> DetectBinary(std::string_view content) {
  const Fields fields = Survey(content);
  if (fields.schema_version && fields.last <= kMetaGraph) return FileKind::kSavedModel;
  if (LooksLikeNode(fields.field_one)) return FileKind::kGraphDef;
  if (fields.field_one.data() == nullptr && !fields.has_graph && fields.first >= kGraphVersion &&
      fields.last <= kGraphVersions) {
    return FileKind::kGraphDef;  // a graph without nodes
  }
  if (fields.has_graph && fields.last <= kLastMetaField) return FileKind::kMetaGraph;
  return InvalidArgument(
      "is not a graph: expected a GraphDef, a MetaGraphDef, a SavedModel or the text form");
}

void AddNode(std::string_view name, std::unordered_set<std::string>* preserve) {
  if (name.starts_with('^')) name.remove_prefix(1);
  name = name.substr(0, name.find(':'));
  if (!name.empty()) preserve->emplace(name);
}

// TensorInfo: one tensor, or the parts of a sparse or composite one.
void AddTensor(std::string_view bytes, int depth, std::unordered_set<std::string>* preserve) {
  constexpr int kDeepest = 8;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() == kTensorName) AddNode(fields.Bytes(), preserve);
    if (fields.tag() == kSparseTensor) {
      FieldReader parts(fields.Bytes());
      while (parts.Next()) AddNode(parts.Bytes(), preserve);
    }
    if (fields.tag() != kCompositeTensor || depth >= kDeepest) continue;
    FieldReader parts(fields.Bytes());
    while (parts.Next()) {
      if (parts.tag() == 2) AddTensor(parts.Bytes(), depth + 1, preserve);
    }
  }
}

// The value of a map's entry.
std::string_view MapValue(std::string_view entry) {
  std::string_view value;
  FieldReader fields(entry);
  while (fields.Next()) {
    if (fields.tag() == field::kMapValue) value = fields.Bytes();
  }
  return value;
}

void AddSignature(std::string_view entry, std::unordered_set<std::string>* preserve) {
  FieldReader fields(MapValue(entry));
  while (fields.Next()) {
    if (fields.tag() == kSignatureInputs || fields.tag() == kSignatureOutputs) {
      AddTensor(MapValue(fields.Bytes()), 0, preserve);
    }
  }
}

void AddCollection(std::string_view entry, std::unordered_set<std::string>* preserve) {
  FieldReader fields(MapValue(entry));
  while (fields.Next()) {
    if (fields.tag() != kNodeList) continue;
    FieldReader values(fields.Bytes());
    while (values.Next()) {
      if (values.tag() == kNodeListValue) AddNode(values.Bytes(), preserve);
    }
  }
}

std::string Tags(std::string_view meta_info) {
  std::string tags;
  FieldReader fields(meta_info);
  while (fields.Next()) {
    if (fields.tag() != kTags) continue;
    tags.append(tags.empty() ? "" : ",").append(fields.Bytes());
  }
  return tags;
}

ContainedGraph ReadMetaGraph(std::string_view bytes) {
  ContainedGraph graph;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.tag() == kMetaInfo) graph.name = Tags(fields.Bytes());
    if (fields.tag() == kGraph) graph.graph_def = fields.Bytes();
    if (fields.tag() == kSignature) AddSignature(fields.Bytes(), &graph.preserve);
    if (fields.tag() == kCollection) AddCollection(fields.Bytes(), &graph.preserve);
  }
  if (graph.name.empty()) graph.name = "graph";
  return graph;
}

// A message with the value of its fields `tag` replaced by what `replace` gives for each.
template <typename Replace>
std::string ReplaceFields(std::string_view message, uint32_t tag, Replace replace) {
  std::string out;
  FieldReader fields(message);
  while (fields.Next()) {
    if (fields.tag() != tag) {
      out.append(fields.raw());
      continue;
    }
    const std::optional<std::string> value = replace(fields.Bytes());
    if (!value) {
      out.append(fields.raw());
    } else {
      protozero::pbf_writer(out).add_message(tag, *value);
    }
  }
  return out;
}

}  // namespace

const char* FileKindName(FileKind kind) {
  switch (kind) {
    case FileKind::kGraphDef:
      return "GraphDef";
    case FileKind::kMetaGraph:
      return "MetaGraphDef";
    case FileKind::kSavedModel:
      return "SavedModel";
    case FileKind::kText:
      return "text form";
  }
  return "unknown";
}

Result<FileKind> DetectKind(std::string_view content) {
  if (content.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return InvalidArgument("is empty: expected a graph");
  }
  if (IsTextContent(content)) {
    if (!IsProtobufText(content)) return FileKind::kText;
    return Unsupported(
        "is in protobuf's text format, which the binary does not read: the command `tflms` of the "
        "Python package converts it, with TensorFlow installed");
  }
  try {
    return DetectBinary(content);
  } catch (const std::exception& fault) {
    return InvalidArgument(std::string("is damaged, cut off or no graph: ") + fault.what());
  }
}

Result<std::vector<ContainedGraph>> FindGraphs(FileKind kind, std::string_view content) {
  std::vector<ContainedGraph> graphs;
  try {
    if (kind == FileKind::kGraphDef) graphs.push_back({"graph", content, {}});
    if (kind == FileKind::kMetaGraph) graphs.push_back(ReadMetaGraph(content));
    if (kind == FileKind::kSavedModel) {
      FieldReader fields(content);
      while (fields.Next()) {
        if (fields.tag() == kMetaGraph) graphs.push_back(ReadMetaGraph(fields.Bytes()));
      }
    }
  } catch (const std::exception& fault) {
    return InvalidArgument(std::string("damaged ") + FileKindName(kind) + ": " + fault.what());
  }
  if (graphs.empty()) return InvalidArgument("SavedModel without a graph");
  return graphs;
}

std::string ReplaceGraphs(FileKind kind, std::string_view content,
                          const std::vector<std::optional<std::string>>& graphs) {
  size_t next = 0;
  const auto take = [&](std::string_view) { return graphs[next++]; };
  const auto in_meta = [&](std::string_view meta) -> std::optional<std::string> {
    return ReplaceFields(meta, kGraph, take);
  };
  if (kind == FileKind::kGraphDef) return graphs.front() ? *graphs.front() : std::string(content);
  if (kind == FileKind::kMetaGraph) return *in_meta(content);
  return ReplaceFields(content, kMetaGraph, in_meta);
}

}  // namespace tflms::cli
