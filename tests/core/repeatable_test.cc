// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of a graph may be made again: one graph for each part of the condition.

#include "src/rewrite/repeatable.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/graph/text.h"
#include "src/rewrite/problem_builder.h"
#include "tflms/options.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

ProblemMap MapOf(const Graph& graph, const Options& options = {}) {
  const GraphFacts facts = FindFacts(graph).value();
  return BuildProblem(graph, facts, 0, FiltersFrom(options));
}

// Names of the buffers that may be made again.
std::vector<std::string> Recomputable(const std::string& text, const Options& options = {}) {
  const Graph graph = ParseGraph(text).value();
  std::vector<std::string> names;
  for (const ProblemBuffer& buffer : MapOf(graph, options).problem.buffers) {
    if (buffer.recomputable) names.push_back(graph.node(buffer.producer).name);
  }
  return names;
}

using Names = std::vector<std::string>;

constexpr char kChain[] =
    "x = Op : f32[8]\n"
    "u = Op(x) : f32[8] repeatable\n"
    "a = Op(u) : f32[8]\n"
    "g = Op(a, u) : f32[8]\n";

TEST(Repeatable, APureOperationOfDeviceTensors) { EXPECT_EQ(Recomputable(kChain), Names{"u"}); }

TEST(Repeatable, WhatTheUserExcludesIsLeftAlone) {
  Options options;
  options.exclude_output_names = "u";
  EXPECT_EQ(Recomputable(kChain, options), Names());
}

// "u" with other words, inputs or outputs in the chain above, and a node in front of it.
std::string Chain(const std::string& before, const std::string& u) {
  return "x = Op : f32[8]\n" + before + u + "\na = Op(u) : f32[8]\ng = Op(a, u) : f32[8]\n";
}

struct Refusal {
  std::string name, before, u;
};

class RepeatableRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(RepeatableRefuses, It) {
  const std::string text = Chain(GetParam().before, GetParam().u);
  ASSERT_TRUE(ParseGraph(text).ok()) << ParseGraph(text).status().ToString();
  EXPECT_EQ(Recomputable(text), Names()) << text;
}

const Refusal kRefusals[] = {
    {"NotListed", "", "u = Op(x) : f32[8]"},
    {"Random", "", "u = Op(x) : f32[8] repeatable random"},
    {"SideEffect", "", "u = Op(x) : f32[8] repeatable effect"},
    {"State", "", "u = Op(x) : f32[8] repeatable param"},
    {"Call", "", "u = Op(x) : f32[8] repeatable call"},
    {"Compiled", "", "u = Op(x) : f32[8] repeatable compiled"},
    {"NamedFromOutside", "", "u = Op(x) : f32[8] repeatable preserved"},
    {"PicksInput", "", "u = Op(x, x, x) : f32[8] repeatable picks-input"},
    {"Collective", "", "u = Op(x) : f32[8] repeatable collective"},
    {"UnknownOutput", "", "u = Op(x) : f32[8], f32[?] repeatable"},
    {"ReferenceOutput", "", "u = Op(x) : f32[8], f32&[8] repeatable"},
    {"UpdatesItsInput", "", "u = Op(&x) : f32[8] repeatable"},
    {"UnknownInput", "y = Op : f32[?]\n", "u = Op(x, y) : f32[8] repeatable"},
    {"ReferenceInput", "y = Op : f32&[8]\n", "u = Op(x, y) : f32[8] repeatable"},
    {"HandleInput", "y = Op : resource[]{host}\n", "u = Op(x, y) : f32[8] repeatable"},
    {"InputIsWrittenInPlace", "y = Op(x) : f32[8]\nw = Write(&y) : f32[8] effect\n",
     "u = Op(x, y) : f32[8] repeatable"},
    {"LargeInputFromTheHost", "y = Op : f32[800] @cpu\n", "u = Op(x, y) : f32[8] repeatable"},
    {"ASumReadsItsInput", "y = Op(x) : f32[8]\ns = Sum(y, x, x) : f32[8] picks-input\n",
     "u = Op(y) : f32[8] repeatable"},
    {"ASumReadsIt", "s = Sum(u, x, x) : f32[8] picks-input\n", "u = Op(x) : f32[8] repeatable"},
    {"IsWrittenInPlace", "w = Write(&u) : f32[8] effect\n", "u = Op(x) : f32[8] repeatable"},
    {"AnAliasIsNotListed", "r = View(u) : f32[8]{alias=0}\nq = Op(r) : f32[8]\n",
     "u = Op(x) : f32[8] repeatable"},
    {"AnAliasHasMoreOutputs",
     "r = View(u, x) : f32[8]{alias=0}, f32[8]{alias=1} repeatable\nq = Op(r) : f32[8]\n",
     "u = Op(x) : f32[8] repeatable"},
    {"AReaderTakesNoOrder", "s = Send(u) pinned-outside\n", "u = Op(x) : f32[8] repeatable"},
    {"OnABranch", "p = Op : bool[]\ns = Switch(x, p) : f32[8], f32[8] switch\n",
     "u = Op(s) : f32[8] repeatable"},
    {"ReadInALoop",
     "e = Enter(u) : f32[8]{alias=0} enter frame=l\nm = Merge(e, n) : f32[8] merge\n"
     "t = Less(m) : bool[]\nd = LoopCond(t) : bool[]{alias=0} loop-cond\n"
     "w = Switch(m, d) : f32[8], f32[8] switch\ni = Op(w:1) : f32[8]\n"
     "n = NextIteration(i) : f32[8]{alias=0} next-iteration\no = Exit(w) : f32[8] exit\n",
     "u = Op(x) : f32[8] repeatable"},
};

INSTANTIATE_TEST_SUITE_P(Cases, RepeatableRefuses, testing::ValuesIn(kRefusals),
                         [](const auto& one) { return one.param.name; });

struct Acceptance {
  std::string name, before, u;
};

class RepeatableTakes : public testing::TestWithParam<Acceptance> {};

TEST_P(RepeatableTakes, It) {
  const std::string text = Chain(GetParam().before, GetParam().u);
  ASSERT_TRUE(ParseGraph(text).ok()) << ParseGraph(text).status().ToString();
  EXPECT_EQ(Recomputable(text), Names{"u"}) << text;
}

const Acceptance kAcceptances[] = {
    {"AVariablesValue",
     "h = Var : resource[]{host} param\nr = Read(h) : f32[8]{persistent} param\n",
     "u = Op(x, r) : f32[8] repeatable"},
    {"AConstant", "c = Const : f32[8]{persistent} source\n", "u = Op(x, c) : f32[8] repeatable"},
    {"AShapeOnTheHost", "c = Const : i32[?]{host} source\n", "u = Op(x, c) : f32[8] repeatable"},
    {"AScalarFromTheHost", "c = Op : f32[] @cpu\n", "u = Op(x, c) : f32[8] repeatable"},
    {"AnEmptyTensor", "c = Op : f32[0]\n", "u = Op(x, c) : f32[8] repeatable"},
    {"AnAliasThatIsListed", "r = View(u) : f32[8]{alias=0} repeatable\nq = Op(r) : f32[8]\n",
     "u = Op(x) : f32[8] repeatable"},
    {"AnAliasThatNobodyReads", "r = View(u) : f32[8]{alias=0}\n", "u = Op(x) : f32[8] repeatable"},
    {"ASumThatReadsAVariable",
     "c = Const : f32[8]{persistent} source\ns = Sum(c, x, x) : f32[8] picks-input\n",
     "u = Op(c) : f32[8] repeatable"},
    {"AReaderOnTheHost", "q = Op(u) : f32[8] @cpu\n", "u = Op(x) : f32[8] repeatable"},
    {"MoreOutputs", "", "u = Op(x) : f32[8], i32[4]{host}, f32[0] repeatable"},
};

INSTANTIATE_TEST_SUITE_P(Cases, RepeatableTakes, testing::ValuesIn(kAcceptances),
                         [](const auto& one) { return one.param.name; });

TEST(Repeatable, ReadersOfAStateComeBeforeItsWriters) {
  // v reads the state on its way to the writer, u beside it: both pairs are there.
  const Graph graph = ParseGraph(
                          "h = Var : resource[]{host} param\n"
                          "r = Read(h) : f32[8]{persistent} param\n"
                          "u = Op(r) : f32[8] repeatable\n"
                          "v = Op(r) : f32[8] repeatable\n"
                          "w = Assign(&h, v) effect param\n"
                          "z = Op(r, ^w) : f32[8]\n")
                          .value();
  const ProblemMap map = MapOf(graph);
  using Pairs = std::vector<std::pair<OpId, OpId>>;
  EXPECT_EQ(map.problem.writes_after_reads, (Pairs{{2, 4}, {3, 4}}));
  EXPECT_TRUE(map.problem.ops[Index(2)].repeatable);
  EXPECT_FALSE(map.problem.ops[Index(4)].repeatable);
}

}  // namespace
}  // namespace tflms
