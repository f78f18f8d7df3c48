// SPDX-License-Identifier: Apache-2.0
//
// Damaged and hostile GraphDefs: a status that names node and fault, never a crash.

#include <gtest/gtest.h>

#include <random>

#include "src/tensorflow/wire.h"
#include "wire_builder.h"

namespace tflms {
namespace {

// The import must fail with a message that has every one of `words` in it.
void ExpectFault(const std::string& bytes, const std::vector<std::string>& words) {
  const Result<GraphDefImport> import = ImportGraphDef(bytes, {});
  ASSERT_FALSE(import.ok()) << "expected a fault with " << words.front();
  for (const std::string& word : words) {
    EXPECT_NE(import.status().message().find(word), std::string::npos)
        << "no \"" << word << "\" in: " << import.status().message();
  }
  EXPECT_EQ(import.status().message().find('\n'), std::string::npos);
}

NodeBytes Plain(std::string_view name) { return NodeBytes(name, "Placeholder"); }

TEST(WireDamage, Names) {
  ExpectFault(GraphBytes({Plain("a"), Plain("a")}), {"`a`", "twice"});
  ExpectFault(GraphBytes({Plain("^a")}), {"`^a`", "'^'"});
  ExpectFault(GraphBytes({Plain("a:1")}), {"`a:1`", "':'"});
  ExpectFault(GraphBytes({Plain("")}), {"number 0", "no name"});
  ExpectFault(GraphBytes({NodeBytes("a", "")}), {"`a`", "no op"});
  ExpectFault(GraphBytes({Plain("a\xff")}), {"name", "UTF-8"});
  ExpectFault(GraphBytes({NodeBytes("a", "Id\xc0\x80")}), {"`a`", "op", "UTF-8"});
  ExpectFault(GraphBytes({Plain("a").Input("\xed\xa0\x80")}), {"`a`", "input", "UTF-8"});
  ExpectFault(GraphBytes({Plain("a").Device("\xf5")}), {"`a`", "device", "UTF-8"});
}

TEST(WireDamage, ReservedPrefix) {
  ExpectFault(GraphBytes({Plain("tflms/a")}), {"`tflms/a`", "reserved prefix"});
  ExpectFault(GraphBytes({Plain("a"), NodeBytes("tflms/a", "Identity").Input("a")}),
              {"`tflms/a`", "reserved prefix"});
  ExpectFault(GraphBytes({NodeBytes("tflms/a", "Identity").String(kRoleAttr, "swap-out")}),
              {"`tflms/a`", "one tensor"});
  EXPECT_TRUE(ImportGraphDef(GraphBytes({Plain("tflms")}), {}).ok());
}

TEST(WireDamage, Inputs) {
  ExpectFault(GraphBytes({Plain("a").Input("b")}), {"`a`", "`b`", "not in the graph"});
  ExpectFault(GraphBytes({Plain("a").Input("^b")}), {"`a`", "`b`", "not in the graph"});
  ExpectFault(GraphBytes({Plain("a"), Plain("b").Input("^a").Input("a")}),
              {"`b`", "behind a control input"});
  ExpectFault(GraphBytes({Plain("a"), Plain("b").Input("a:9")}), {"`b`", "output 9", "`a`", "1"});
  ExpectFault(GraphBytes({NodeBytes("a", "X"), Plain("b").Input("a:99999")}), {"`b`", "99999"});
  for (const char* text : {"", "^", "a:", "a:x", "a:-1", "^a:0", ":0", "a:99999999999999999999"}) {
    ExpectFault(GraphBytes({NodeBytes("a", "X"), Plain("b").Input(text)}), {"`b`", "input"});
  }
}

TEST(WireDamage, PortBeyondInferredOutputs) {
  ImportContext context;
  context.inferred["a"] = {{DataType::kFloat32, false, Shape::Unknown()}};
  const std::string bytes = GraphBytes({NodeBytes("a", "X"), Plain("b").Input("a:1")});
  EXPECT_FALSE(ImportGraphDef(bytes, context).ok());
  EXPECT_TRUE(ImportGraphDef(bytes, {}).ok()) << "an op nobody knows may have two outputs";
}

TEST(WireDamage, Cycles) {
  ExpectFault(GraphBytes({Plain("a").Input("b"), Plain("b").Input("a")}), {"cycle"});
  ExpectFault(GraphBytes({Plain("a").Input("a")}), {"`a`"});
  ExpectFault(GraphBytes({Plain("a").Input("^b"), Plain("b").Input("^a")}), {"cycle"});
}

TEST(WireDamage, Sizes) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto with_shape = [](const std::vector<int64_t>& extents) {
    return GraphBytes({Plain("a").Type("dtype", kFloat).ShapeOf("shape", extents)});
  };
  ExpectFault(with_shape({-2}), {"`a`", "-2"});
  ExpectFault(with_shape({kHuge}), {"`a`", "elements"});
  ExpectFault(with_shape({1 << 30, 1 << 30, 1 << 30}), {"`a`", "elements"});
  ExpectFault(with_shape(std::vector<int64_t>(255, 1)), {"`a`", "254"});
  EXPECT_TRUE(ImportGraphDef(with_shape({0, kHuge}), {}).ok()) << "no elements";
  const auto split = [](int64_t n) {
    return GraphBytes({NodeBytes("a", "Split").Int("num_split", n).Type("T", kFloat)});
  };
  ExpectFault(split(-1), {"`a`", "-1 outputs"});
  ExpectFault(split(kHuge), {"`a`", "outputs"});
}

TEST(WireDamage, SmallFilesCannotAskForMuchMemory) {
  // 3,000 nodes that each claim 60,000 outputs: 180 million in all.
  std::vector<NodeBytes> nodes;
  for (int i = 0; i < 3000; ++i) {
    nodes.push_back(NodeBytes("n" + std::to_string(i), "X"));
    nodes.push_back(
        NodeBytes("r" + std::to_string(i), "X").Input("n" + std::to_string(i) + ":60000"));
  }
  ExpectFault(GraphBytes(nodes), {"outputs"});
}

TEST(WireDamage, WrongWireTypes) {
  ExpectFault(std::string("\x08\x01", 2), {"wire type"});               // node as a number
  ExpectFault(std::string("\x0a\x02\x08\x01", 4), {"node 0", "wire"});  // name as a number
  ExpectFault(std::string("\x0b\x0c", 2), {"GraphDef"});                // a group
  ExpectFault(std::string("\x0a\xff\xff\xff\xff\x0f", 6), {"GraphDef"});
  ExpectFault(std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11), {"GraphDef"});
}

TEST(WireDamage, EmptyInputIsAnEmptyGraph) { EXPECT_EQ(MustImport("").graph.size(), 0); }

// Whatever the bytes are: a status, or a graph that can be written again and read back.
void TakeAnything(const std::string& bytes) {
  const Result<GraphDefImport> import = ImportGraphDef(bytes, {});
  if (!import.ok()) {
    EXPECT_FALSE(import.status().message().empty());
    return;
  }
  ASSERT_EQ(MustExport(import->graph, *import), bytes);
}

TEST(WireDamage, EveryPrefixOfAFile) {
  for (const char* file : {"cond_v1.pb", "function_library.pb", "mixed_precision.pb"}) {
    const std::string bytes = ReadData(file);
    for (size_t size = 0; size < bytes.size(); ++size) TakeAnything(bytes.substr(0, size));
  }
}

TEST(WireDamage, TwentyThousandMutations) {
  std::mt19937 random(20260101);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<std::string> files;
  for (const char* file : {"cond_v1.pb", "function_library.pb", "mixed_precision.pb"}) {
    files.push_back(ReadData(file));
  }
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = files[below(files.size())];
    for (size_t change = 1 + below(4); change > 0; --change) {
      const size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2:
          bytes.erase(at, 1 + below(8));
          break;
        default:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(32)));
          break;
      }
      if (bytes.empty()) break;
    }
    TakeAnything(bytes);
  }
}

TEST(WireDamage, Utf8) {
  EXPECT_TRUE(IsUtf8("plain"));
  EXPECT_TRUE(IsUtf8("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  for (const char* bad : {"\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                          "\xf4\x90\x80\x80", "\xc3", "\xe2\x82", "\xf5\x80\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(bad));
  }
}

}  // namespace
}  // namespace tflms
