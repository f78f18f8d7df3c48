// SPDX-License-Identifier: Apache-2.0
//
// The text form: exact round trips, and no crash or runaway on any input. What single words and
// faults look like is told by the files in tests/text/graph.

#include "src/graph/text.h"

#include <gtest/gtest.h>

#include <string>

#include "src/base/text.h"
#include "src/graph/text_words.h"
#include "src/graph/verifier.h"
#include "tests/core/random_graph.h"

namespace tflms {
namespace {

constexpr std::string_view kSample = R"(# every kind of statement
device gpu0 accelerator "/job:w/device:GPU:0" host=cpu0
device cpu0 host
v = VarHandleOp : resource[]{host,persistent} param state=4096
r = ReadVariableOp(v) : f32[?,3]{persistent} param
"odd name" = Variable : f32&[3]{persistent} param
m = MatMul(r, r:0, ^v) : f32[?,?]{reuse=0}, f32[*]{reuse=any} ws=128 t=17
a = Assign(&"odd name", m:1) : f32&[3]{alias=0} effect @cpu0
e = Enter(m) : f32[2]{alias=0} enter frame="a frame"
n = NoOp(^a, +^m) sync=3 @none
tflms/out = Identity(m) : f32[?,?] @cpu0 role=swap-out
)";

// Equal but for what the text leaves out.
bool SameButCookies(Graph a, Graph b) {
  for (Node& node : a.nodes) node.cookie = -1;
  for (Node& node : b.nodes) node.cookie = -1;
  return a.nodes == b.nodes && a.devices == b.devices;
}

TEST(Text, RandomGraphsSurviveTheRoundTrip) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = RandomGraph(seed);
    ASSERT_TRUE(VerifyGraph(graph).ok()) << seed << VerifyGraph(graph).ToString();
    const std::string text = PrintGraph(graph);
    const Result<Graph> again = ParseGraph(text);
    ASSERT_TRUE(again.ok()) << seed << ": " << again.status().message();
    EXPECT_TRUE(SameButCookies(graph, *again)) << seed << "\n" << text;
    EXPECT_EQ(text, PrintGraph(*again));
  }
}

TEST(Text, SampleParses) {
  const Result<Graph> graph = ParseGraph(kSample);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->size(), 8);
}

TEST(Text, EveryPrefixParsesOrFailsCleanly) {
  int failures = 0;
  for (size_t length = 0; length <= kSample.size(); ++length) {
    const Result<Graph> graph = ParseGraph(kSample.substr(0, length));
    if (!graph.ok()) {
      ++failures;
      EXPECT_EQ(graph.status().message().find("line "), 0u) << graph.status().message();
    } else {
      EXPECT_TRUE(ParseGraph(PrintGraph(*graph)).ok());
    }
  }
  EXPECT_GT(failures, 100);
}

// Whatever bytes are changed: an error with a line, or a graph that survives the round trip and
// that the verifier can judge.
TEST(Text, MutatedTextParsesOrFailsCleanly) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    std::string text(kSample);
    for (int32_t edits = 1 + random.Below(6); edits > 0; --edits) {
      const auto at = static_cast<size_t>(random.Below(static_cast<int32_t>(text.size())));
      const auto other = static_cast<size_t>(random.Below(static_cast<int32_t>(text.size())));
      switch (random.Below(4)) {
        case 0:
          text[at] = static_cast<char>(random.Below(256));
          break;
        case 1:
          text[at] = text[other];
          break;
        case 2:
          text.erase(at, 1 + static_cast<size_t>(random.Below(5)));
          break;
        default:
          text.insert(at, text.substr(other, 12));
          break;
      }
      if (text.empty()) text = "x";
    }
    const Result<Graph> graph = ParseGraph(text);
    if (!graph.ok()) {
      EXPECT_EQ(graph.status().message().find("line "), 0u) << graph.status().message();
      continue;
    }
    const Result<Graph> again = ParseGraph(PrintGraph(*graph));
    ASSERT_TRUE(again.ok()) << seed << ": " << again.status().message() << "\n" << text;
    EXPECT_TRUE(SameButCookies(*graph, *again)) << seed << "\n" << text;
    const Status verdict = VerifyGraph(*graph);
    EXPECT_TRUE(verdict.ok() || verdict.message().front() == 'L') << verdict.message();
  }
}

TEST(Text, EveryFlagHasOneWord) {
  uint32_t all = 0;
  for (const FlagWord& row : kFlagWords) {
    EXPECT_EQ(all & row.flag, 0u) << row.word;
    all |= row.flag;
    const Result<Graph> graph = ParseGraph("x = Op " + std::string(row.word));
    ASSERT_TRUE(graph.ok()) << row.word;
    EXPECT_EQ(graph->node(0).flags, row.flag);
  }
  EXPECT_EQ(all, 2u * kBatchwise - 1);
}

TEST(Text, EveryTypeHasItsWord) {
  for (int i = 0; i <= static_cast<int>(DataType::kVariant); ++i) {
    const auto dtype = static_cast<DataType>(i);
    const Result<Graph> graph = ParseGraph("x = Op : " + std::string(DataTypeName(dtype)) + "[]");
    ASSERT_TRUE(graph.ok()) << i;
    EXPECT_EQ(graph->node(0).outputs[0].type.dtype, dtype);
  }
}

TEST(Text, ErrorsCountFromTheFirstLineGiven) {
  const Result<Graph> graph = ParseGraph("x = Op\ny = Op(z)\n", 41);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().message(), "line 42, node `y`: input `z` names no node");
}

TEST(Text, LargeInputsTakeLinearSteps) {
  constexpr int kNodes = 20000;
  std::string chain = "n0 = Op : f32[8]\n", wide = "all = Op(n0", extents = "x = Op : f32[1";
  for (int i = 1; i < kNodes; ++i) {
    const std::string before = std::to_string(i - 1);
    chain += "n" + std::to_string(i) + " = Op(n" + before + ", ^n0) : f32[8]\n";
    wide += ", n" + before;
    extents += ",1";
  }
  const Result<Graph> graph = ParseGraph(chain + wide + ")\n");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->size(), kNodes + 1);
  EXPECT_TRUE(VerifyGraph(*graph).ok());
  EXPECT_TRUE(ParseGraph(PrintGraph(*graph)).ok());

  const Result<Graph> high_rank = ParseGraph(extents + "]");
  ASSERT_TRUE(high_rank.ok());
  EXPECT_EQ(VerifyGraph(*high_rank).message(),
            "L0 node `x`: output 0: expected at most 254 extents, found 20000");
}

TEST(Text, LongRubbishIsNotRepeatedInTheError) {
  for (const std::string& text :
       {std::string(1000000, '('), std::string(1000000, 'a'), "x = " + std::string(1000000, '"'),
        "x = Op(" + std::string(1000000, ','), std::string(1000000, '\\')}) {
    const Result<Graph> graph = ParseGraph(text);
    ASSERT_FALSE(graph.ok());
    EXPECT_LT(graph.status().message().size(), 300u);
  }
}

TEST(Text, PrintsGraphsWithWrongIds) {
  Graph graph;
  graph.devices = DefaultDevices();
  graph.devices[0].host = 77;
  Node node;
  node.name = "x";
  node.op = "Op";
  node.device = 99;
  node.inputs = {{-5, 0, EdgeAction::kRead}, {7, 3, EdgeAction::kUpdate}};
  node.control_inputs = {1000};
  node.added_controls = -3;
  graph.nodes.push_back(node);
  const std::string text = PrintGraph(graph);
  EXPECT_NE(text.find("host=<bad device 77>"), std::string::npos) << text;
  EXPECT_NE(text.find("x = Op(<bad node -5>, &<bad node 7>:3, ^<bad node 1000>) @<bad device 99>"),
            std::string::npos)
      << text;
  EXPECT_FALSE(ParseGraph(text).ok());
}

TEST(Text, WordsComeBackWhateverBytesTheyHold) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
    for (const std::string& text : {all, std::string(1, static_cast<char>(byte))}) {
      const std::string word = WordText(text);
      LineCursor in(word);
      const Result<std::string> again = in.Word("a word");
      ASSERT_TRUE(again.ok()) << byte;
      EXPECT_EQ(*again, text);
      EXPECT_TRUE(in.AtEnd());
    }
  }
}

}  // namespace
}  // namespace tflms
