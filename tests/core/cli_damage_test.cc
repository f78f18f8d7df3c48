// SPDX-License-Identifier: Apache-2.0
//
// Damaged files: whatever the bytes, reading ends in a graph or a reason, and what was read can be
// planned and written.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <protozero/pbf_writer.hpp>

#include "random_graph.h"
#include "src/cli/graph_file.h"
#include "src/cli/planned.h"
#include "wire_builder.h"

namespace tflms::cli {
namespace {

// Reads, plans and writes; true when it came to the end.
bool PassThrough(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  Result<GraphFile> file = ReadGraphFile(path, {});
  if (!file.ok()) {
    EXPECT_EQ(file.status().message().find(path), 0u);
    return false;
  }
  Options options;
  options.min_swap_bytes = 1;
  std::vector<Graph> graphs;
  for (const Unit& unit : file->units) {
    const Result<PlannedGraph> planned = PlanGraph(options, unit.name, unit.graph);
    graphs.push_back(planned.ok() ? planned->after : unit.graph);
  }
  const Result<std::string> written = WriteGraphFile(*file, graphs);
  EXPECT_TRUE(written.ok()) << written.status().ToString();
  EXPECT_LE(Frame(*file).size(), content.size());
  return true;
}

// A SavedModel of two MetaGraphDefs around the same GraphDef.
std::string SavedModel(const std::string& graph) {
  std::string meta, model;
  protozero::pbf_writer(meta).add_message(2, graph);
  protozero::pbf_writer writer(model);
  writer.add_int64(1, 1);
  writer.add_message(2, meta);
  writer.add_message(2, meta);
  return model;
}

TEST(CliDamage, FlippedAndMissingBytes) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tflms-damage-" + std::to_string(::getpid())))
          .string();
  Random random(4);
  int passed = 0;
  for (const char* name : {"function_library.pb", "cond_v1.pb", "mixed_precision.pb"}) {
    const std::string graph = ReadData(name);
    for (const std::string& whole : {graph, SavedModel(graph)}) {
      ASSERT_TRUE(PassThrough(path, whole)) << name;
      for (int round = 0; round < 90; ++round) {
        std::string damaged = whole;
        const auto at = static_cast<size_t>(random.Below(static_cast<int32_t>(whole.size())));
        if (round % 3 == 0) {
          damaged.resize(at);
        } else if (round % 3 == 1) {
          damaged[at] = static_cast<char>(random.Below(256));
        } else {
          damaged.erase(at, static_cast<size_t>(1 + random.Below(8)));
        }
        passed += PassThrough(path, damaged);
      }
    }
  }
  std::filesystem::remove(path);
  EXPECT_GT(passed, 0);
}

}  // namespace
}  // namespace tflms::cli
