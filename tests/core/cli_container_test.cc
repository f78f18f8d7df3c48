// SPDX-License-Identifier: Apache-2.0
//
// Kinds of file, told by content, and the graphs inside them.

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "src/cli/container.h"
#include "src/graph/text.h"
#include "src/tensorflow/wire.h"
#include "wire_builder.h"

namespace tflms::cli {
namespace {

std::string Field(uint32_t tag, std::string_view value) {
  std::string out;
  protozero::pbf_writer(out).add_bytes(tag, value.data(), value.size());
  return out;
}

std::string SmallGraph() {
  return GraphBytes({Big("x", "Placeholder", {}), Big("y", "Identity", {"x"})});
}

// A MetaGraphDef with tag "train", a signature that reads x and gives y, and a collection with z.
std::string MetaGraph(std::string_view graph) {
  const std::string info = Field(4, "train") + Field(5, "2.21.0");
  const auto tensor = [](std::string_view name) {
    return Field(1, "k") + Field(2, Field(1, name));
  };
  const std::string signature =
      Field(1, "serve") + Field(2, Field(1, tensor("x:0")) + Field(2, tensor("y:0")));
  const std::string collection = Field(1, "train_op") + Field(2, Field(1, Field(1, "z")));
  return Field(1, info) + Field(2, graph) + Field(4, collection) + Field(5, signature);
}

std::string SavedModel(std::string_view first, std::string_view second) {
  std::string out;
  protozero::pbf_writer(out).add_int64(1, 1);
  return out + Field(2, first) + Field(2, second);
}

FileKind MustDetect(std::string_view content) {
  const Result<FileKind> kind = DetectKind(content);
  EXPECT_TRUE(kind.ok()) << kind.status().message();
  return kind.ok() ? *kind : FileKind::kText;
}

TEST(CliContainer, ContentTellsTheKind) {
  EXPECT_EQ(MustDetect(SmallGraph()), FileKind::kGraphDef);
  EXPECT_EQ(MustDetect(MetaGraph(SmallGraph())), FileKind::kMetaGraph);
  EXPECT_EQ(MustDetect(MetaGraph("")), FileKind::kMetaGraph);
  const std::string meta = MetaGraph(SmallGraph());
  EXPECT_EQ(MustDetect(SavedModel(meta, meta)), FileKind::kSavedModel);
  EXPECT_EQ(MustDetect("x = Source : f32[8]\n"), FileKind::kText);
  EXPECT_EQ(MustDetect(Field(4, "\x08\x01")), FileKind::kGraphDef) << "a graph without nodes";
}

TEST(CliContainer, FilesOfTestDataAreGraphDefs) {
  for (const std::string& file : DataFiles()) {
    EXPECT_EQ(MustDetect(ReadData(file)), FileKind::kGraphDef) << file;
  }
}

TEST(CliContainer, OtherFilesAreRefusedWithAReason) {
  EXPECT_NE(DetectKind("").status().message().find("is empty"), std::string::npos);
  EXPECT_NE(DetectKind("node {\n  name: \"x\"\n}\n").status().message().find("text format"),
            std::string::npos);
  for (const std::string_view foreign :
       {std::string_view("\x7f"
                         "ELF\x02\x01\x01\0\0\0",
                         10),
        std::string_view("\x89PNG\r\n\x1a\n\0", 9), std::string_view("PK\x03\x04\x14\0", 6),
        std::string_view("\x0a\xff\xff\xff\xff\x0f", 6)}) {
    EXPECT_FALSE(DetectKind(foreign).ok());
  }
}

TEST(CliContainer, NamesOfSignaturesAndCollectionsAreKept) {
  const std::string meta = MetaGraph(SmallGraph());
  const auto graphs = FindGraphs(FileKind::kMetaGraph, meta);
  ASSERT_TRUE(graphs.ok()) << graphs.status().message();
  ASSERT_EQ(graphs->size(), 1u);
  EXPECT_EQ((*graphs)[0].name, "train");
  EXPECT_EQ((*graphs)[0].graph_def, SmallGraph());
  EXPECT_EQ((*graphs)[0].preserve, (std::unordered_set<std::string>{"x", "y", "z"}));
}

TEST(CliContainer, ReplacingTouchesOneGraphAndNothingElse) {
  const std::string a = MetaGraph(SmallGraph()), b = MetaGraph("");
  const std::string model = SavedModel(a, b);
  EXPECT_EQ(ReplaceGraphs(FileKind::kSavedModel, model, {std::nullopt, std::nullopt}), model);
  EXPECT_EQ(ReplaceGraphs(FileKind::kSavedModel, model, {std::nullopt, SmallGraph()}),
            SavedModel(a, a));
  EXPECT_EQ(ReplaceGraphs(FileKind::kMetaGraph, a, {std::string()}), b);
  EXPECT_EQ(ReplaceGraphs(FileKind::kGraphDef, SmallGraph(), {std::string("n")}), "n");
}

// Any prefix is refused, or read as the shorter file that it happens to be; nothing else happens.
TEST(CliContainer, CutOffFilesEndInAReason) {
  const std::string model = SavedModel(MetaGraph(SmallGraph()), MetaGraph(SmallGraph()));
  for (size_t length = 0; length < model.size(); ++length) {
    const std::string_view cut(model.data(), length);
    const Result<FileKind> kind = DetectKind(cut);
    if (!kind.ok()) {
      EXPECT_FALSE(kind.status().message().empty());
      continue;
    }
    if (*kind == FileKind::kText) continue;
    const auto graphs = FindGraphs(*kind, cut);
    EXPECT_TRUE(graphs.ok() || !graphs.status().message().empty());
  }
}

}  // namespace
}  // namespace tflms::cli
