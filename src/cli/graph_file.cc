// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing files of graphs. O(size of the file) in time and memory.

#include "src/cli/graph_file.h"

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "src/base/text.h"
#include "src/cli/adjust.h"
#include "src/cli/function_body.h"
#include "src/cli/library.h"
#include "src/cli/node_bytes.h"
#include "src/graph/laws.h"
#include "src/graph/text.h"
#include "src/graph/verifier.h"
#include "src/tensorflow/wire.h"

namespace tflms::cli {

// The buffers behind a unit, and its place in the file.
struct Unit::Origin {
  size_t graph = 0;      // which graph of the file
  int function = -1;     // which function of its library; -1: the graph itself
  size_t functions = 0;  // how many its library has
  std::string_view function_def;
  FunctionBody body;           // of a function
  std::string_view graph_def;  // of a function: body.graph_def
  std::unordered_set<std::string> preserve;
  GraphDefImport import;  // as it came, without the assumed places
};

namespace {

constexpr uint32_t kFunctionNode = 3;  // FunctionDef.node_def

using OriginPtr = std::shared_ptr<Unit::Origin>;

Status Named(const std::string& path, const Status& status) {
  return Status(status.code(), path + ": " + status.message());
}

Result<std::string> ReadFile(const std::string& path) {
  std::error_code fault;
  if (!std::filesystem::exists(path, fault)) {
    return InvalidArgument("there is no such file or folder");
  }
  if (std::filesystem::is_directory(path, fault)) {
    return InvalidArgument("is a folder without a saved_model.pb");
  }
  // read() says by its state what iterators over the buffer would throw.
  std::ifstream file(path, std::ios::binary);
  std::string content;
  std::array<char, size_t{1} << 16> part{};
  while (file) {
    file.read(part.data(), part.size());
    content.append(part.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad() || !file.eof()) return InvalidArgument("cannot be read");
  return content;
}

bool HasAccelerator(const Graph& graph) {
  return std::any_of(graph.devices.begin(), graph.devices.end(),
                     [](const Device& device) { return device.kind == DeviceKind::kAccelerator; });
}

class FileReader {
 public:
  FileReader(GraphFile* file, const ReadSettings& settings) : file_(file), settings_(settings) {}

  Status Run() {
    TFLMS_ASSIGN_OR_RETURN(file_->kind, DetectKind(*file_->content));
    if (file_->kind == FileKind::kText) return ReadText();
    TFLMS_ASSIGN_OR_RETURN(const std::vector<ContainedGraph> graphs,
                           FindGraphs(file_->kind, *file_->content));
    TFLMS_RETURN_IF_ERROR(ReadShapes(graphs.size()));
    for (size_t i = 0; i < graphs.size(); ++i) {
      TFLMS_RETURN_IF_ERROR(ReadGraphAndFunctions(graphs[i], i, graphs.size() > 1));
    }
    file_->place = Place();
    for (size_t i = 0; i < origins_.size(); ++i) TFLMS_RETURN_IF_ERROR(AddGraph(i));
    return CheckFetches();
  }

 private:
  using Types = std::unordered_map<std::string, std::vector<TensorType>>;

  // Output types by node, for each graph of the file that --shapes names.
  Status ReadShapes(size_t graphs) {
    if (settings_.shapes.empty()) return Status();
    const auto named = [&](const Status& status) {
      return Status(status.code(), "--shapes " + settings_.shapes + ": " + status.message());
    };
    const Result<std::string> content = ReadFile(settings_.shapes);
    if (!content.ok()) return named(content.status());
    const Result<FileKind> kind = DetectKind(*content);
    if (!kind.ok()) return named(kind.status());
    if (*kind == FileKind::kText) {
      const Result<Graph> graph = ParseGraph(*content);
      if (!graph.ok()) return named(graph.status());
      if (graphs != 1) return named(InvalidArgument("has one graph, the file has several"));
      AddTypes(*graph);
      return Status();
    }
    const auto found = FindGraphs(*kind, *content);
    if (!found.ok()) return named(found.status());
    if (found->size() != graphs) {
      return named(InvalidArgument("has " + std::to_string(found->size()) + " graphs, expected " +
                                   std::to_string(graphs)));
    }
    for (const ContainedGraph& contained : *found) {
      const auto import = ImportGraphDef(contained.graph_def, {});
      if (!import.ok()) return named(import.status());
      AddTypes(import->graph);
    }
    return Status();
  }

  void AddTypes(const Graph& graph) {
    Types& types = shapes_.emplace_back();
    for (const Node& node : graph.nodes) {
      for (const OutputInfo& output : node.outputs) types[node.name].push_back(output.type);
    }
  }

  ImportContext Context(const std::unordered_set<std::string>& preserve) const {
    ImportContext context;
    context.device_type = settings_.options.device_type;
    context.host_device = settings_.options.host_device;
    context.preserve = preserve;
    for (const std::string& name : settings_.fetch) {
      context.preserve.insert(name.substr(0, name.find(':')));
    }
    return context;
  }

  ImportContext ContextOf(const Unit::Origin& origin) const {
    ImportContext context = Context(origin.preserve);
    if (origin.function < 0 && !shapes_.empty()) context.inferred = shapes_[origin.graph];
    return context;
  }

  Status ReadText() {
    TFLMS_ASSIGN_OR_RETURN(Graph graph, ParseGraph(*file_->content));
    TFLMS_RETURN_IF_ERROR(VerifyGraph(graph));
    for (Node& node : graph.nodes) {
      for (const std::string& name : settings_.fetch) {
        if (node.name == name.substr(0, name.find(':'))) node.flags |= kPreserved;
      }
    }
    FillBatch(settings_.options.batch_size, &graph);
    file_->units.push_back({"graph", std::move(graph), 0, nullptr});
    return CheckFetches();
  }

  Status ReadGraphAndFunctions(const ContainedGraph& contained, size_t number, bool several) {
    auto origin = std::make_shared<Unit::Origin>();
    origin->graph = number;
    origin->graph_def = contained.graph_def;
    origin->preserve = contained.preserve;
    TFLMS_ASSIGN_OR_RETURN(origin->import, ImportGraphDef(origin->graph_def, ContextOf(*origin)));
    const std::vector<LibraryFunction> functions = origin->import.functions;
    origin->functions = functions.size();
    const std::string prefix = several ? contained.name + ": " : "";
    origins_.push_back(origin);
    file_->units.push_back({several ? contained.name : "graph", {}, 0, nullptr});
    const std::vector<bool> rewritable = RewritableFunctions(contained.graph_def, functions);
    for (size_t i = 0; i < functions.size(); ++i) {
      const std::string name = prefix + "function " + std::string(functions[i].name);
      if (rewritable[i]) ReadFunction(functions[i], static_cast<int>(i), *origin, name);
    }
    return Status();
  }

  void ReadFunction(const LibraryFunction& function, int number, const Unit::Origin& of,
                    const std::string& name) {
    auto origin = std::make_shared<Unit::Origin>();
    origin->graph = of.graph;
    origin->function = number;
    origin->function_def = function.bytes;
    Status status;
    if (auto body = ReadFunctionBody(function.bytes); body.ok()) {
      origin->body = std::move(*body);
      origin->graph_def = origin->body.graph_def;
      origin->preserve = origin->body.preserve;
      auto import = ImportGraphDef(origin->graph_def, Context(origin->preserve));
      status = import.status();
      if (import.ok()) origin->import = std::move(*import);
    } else {
      status = body.status();
    }
    if (!status.ok()) {
      file_->notes.push_back(name + " is left alone: " + status.message());
      return;
    }
    origins_.push_back(origin);
    file_->units.push_back({name, {}, 0, nullptr});
  }

  std::string Place() const {
    if (settings_.place == "none") return "";
    if (settings_.place != "auto") return settings_.place;
    for (const OriginPtr& origin : origins_) {
      if (HasAccelerator(origin->import.graph)) return "";
    }
    return "/device:" + settings_.options.device_type + ":0";
  }

  // A GraphDef of this origin as a graph, with the assumed places.
  Result<Graph> PlacedGraph(const Unit::Origin& origin, const std::string_view graph_def,
                            int64_t* assumed) const {
    std::string placed;
    if (!file_->place.empty()) placed = PlaceNodes(graph_def, file_->place, assumed);
    TFLMS_ASSIGN_OR_RETURN(
        GraphDefImport import,
        ImportGraphDef(placed.empty() ? graph_def : std::string_view(placed), ContextOf(origin)));
    return std::move(import.graph);
  }

  // The graph to plan on: as it came, but for the assumed places.
  Status AddGraph(size_t number) {
    Unit& unit = file_->units[number];
    const Unit::Origin& origin = *origins_[number];
    TFLMS_ASSIGN_OR_RETURN(unit.graph, PlacedGraph(origin, origin.graph_def, &unit.assumed_nodes));
    if (CanErase(unit.graph)) {
      std::string erased;
      const Graph& graph = origin.import.graph;
      TFLMS_RETURN_IF_ERROR(ExportGraphDef(EraseRewrite(graph), origin.import, &erased));
      int64_t assumed = 0;
      TFLMS_ASSIGN_OR_RETURN(const Graph facts, PlacedGraph(origin, erased, &assumed));
      RestoreFacts(facts, &unit.graph);
    }
    TypeSwapNodes(&unit.graph);
    FillBatch(settings_.options.batch_size, &unit.graph);
    unit.origin = origins_[number];
    return Status();
  }

  Status CheckFetches() const {
    for (const std::string& fetch : settings_.fetch) {
      const std::string name = fetch.substr(0, fetch.find(':'));
      const auto has = [&](const Unit& unit) { return IndexByName(unit.graph).contains(name); };
      if (std::none_of(file_->units.begin(), file_->units.end(), has)) {
        return InvalidArgument("--fetch " + fetch + ": there is no node of that name");
      }
    }
    return Status();
  }

  GraphFile* file_;
  const ReadSettings& settings_;
  std::vector<OriginPtr> origins_;  // by unit
  std::vector<Types> shapes_;       // by graph of the file; empty = none given
};

// The bytes of one rewritten unit: a GraphDef, or a FunctionDef.
Result<std::string> WriteUnit(const Unit& unit, const Graph& graph) {
  const Unit::Origin& origin = *unit.origin;
  std::string graph_def;
  TFLMS_RETURN_IF_ERROR(ExportGraphDef(graph, origin.import, &graph_def));
  if (origin.function < 0) return graph_def;
  return WriteFunctionBody(origin.function_def, origin.body, graph_def);
}

// A message without its fields `tag`.
std::string WithoutFields(std::string_view message, uint32_t tag) {
  std::string out;
  FieldReader fields(message);
  while (fields.Next()) {
    if (fields.tag() != tag) out.append(fields.raw());
  }
  return out;
}

}  // namespace

Result<GraphFile> ReadGraphFile(const std::string& path, const ReadSettings& settings) {
  GraphFile file;
  file.path = path;
  std::error_code fault;
  const std::filesystem::path inside = std::filesystem::path(path) / "saved_model.pb";
  if (std::filesystem::is_directory(path, fault) && std::filesystem::exists(inside, fault)) {
    file.folder = true;
    file.path = inside.string();
  }
  Result<std::string> content = ReadFile(file.path);
  if (!content.ok()) return Named(file.path, content.status());
  file.content = std::make_shared<const std::string>(std::move(*content));
  const Status status = FileReader(&file, settings).Run();
  if (!status.ok()) return Named(file.path, status);
  return file;
}

Result<std::string> WriteGraphFile(const GraphFile& file, const std::vector<Graph>& graphs) {
  if (file.kind == FileKind::kText) {
    return SameGraph(graphs[0], file.units[0].graph) ? *file.content : PrintGraph(graphs[0]);
  }
  std::vector<std::optional<std::string>> graph_defs;
  std::vector<std::vector<std::optional<std::string>>> functions;
  std::vector<std::string_view> originals;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const Unit& unit = file.units[i];
    if (unit.origin->function < 0) {  // comes ahead of its functions
      graph_defs.emplace_back();
      functions.emplace_back(unit.origin->functions);
      originals.push_back(unit.origin->graph_def);
    }
    if (SameGraph(graphs[i], unit.graph)) continue;
    TFLMS_ASSIGN_OR_RETURN(std::string bytes, WriteUnit(unit, graphs[i]));
    if (unit.origin->function < 0) {
      graph_defs.back() = std::move(bytes);
    } else {
      functions.back()[static_cast<size_t>(unit.origin->function)] = std::move(bytes);
    }
  }
  for (size_t i = 0; i < graph_defs.size(); ++i) {
    const auto changed = [](const auto& function) { return function.has_value(); };
    if (std::none_of(functions[i].begin(), functions[i].end(), changed)) continue;
    const std::string_view graph_def =
        graph_defs[i] ? std::string_view{*graph_defs[i]} : originals[i];
    graph_defs[i] = ReplaceFunctions(graph_def, functions[i]);
  }
  return ReplaceGraphs(file.kind, *file.content, graph_defs);
}

bool SameGraph(const Graph& a, const Graph& b) {
  return a.devices == b.devices && a.nodes == b.nodes;
}

std::string Frame(const GraphFile& file) {
  if (file.kind == FileKind::kText) return "";
  std::vector<std::optional<std::string>> graphs;
  std::vector<std::vector<std::optional<std::string>>> functions;
  for (const Unit& unit : file.units) {
    const Unit::Origin& origin = *unit.origin;
    if (origin.function < 0) {
      graphs.push_back(WithoutFields(origin.graph_def, field::kGraphNode));
      functions.emplace_back(origin.functions);
    } else {
      functions.back()[static_cast<size_t>(origin.function)] =
          WithoutFields(origin.function_def, kFunctionNode);
    }
  }
  for (size_t i = 0; i < graphs.size(); ++i) graphs[i] = ReplaceFunctions(*graphs[i], functions[i]);
  return ReplaceGraphs(file.kind, *file.content, graphs);
}

Status CompareNodeBytes(const Unit& before, const Unit& after) {
  if (!before.origin || !after.origin) return Status();
  return CompareNodeBytes(before.origin->import, after.origin->import);
}

}  // namespace tflms::cli
