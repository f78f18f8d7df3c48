// SPDX-License-Identifier: Apache-2.0
//
// Graph -> GraphDef: what is not touched stays byte for byte, what tflms adds can be read back.

#include <gtest/gtest.h>

#include <algorithm>

#include "src/tensorflow/wire.h"
#include "wire_builder.h"

namespace tflms {
namespace {

std::string Chain() {
  return GraphBytes({
      Big("a", "Placeholder", {}),
      Big("b", "Tanh", {"a"}),
      Big("c", "Tanh", {"b:0", "^a"}),
      Big("d", "Mul", {"c", "b"}),
  });
}

RawNode RawOf(const RawGraph& raw, std::string_view name) {
  for (const RawNode& node : raw.nodes) {
    if (node.name == name) return node;
  }
  ADD_FAILURE() << "no node " << name;
  return {};
}

std::vector<std::string> InputsOf(std::string_view bytes, std::string_view name) {
  const RawGraph raw = ReadGraph(bytes);
  const auto inputs = raw.InputsOf(RawOf(raw, name));
  return {inputs.begin(), inputs.end()};
}

TEST(WireExport, EveryFileComesBackByteForByte) {
  for (const std::string& file : DataFiles()) {
    const std::string bytes = ReadData(file);
    ASSERT_FALSE(bytes.empty());
    const GraphDefImport import = MustImport(bytes);
    EXPECT_GT(import.graph.size(), 0) << file;
    EXPECT_EQ(MustExport(import.graph, import), bytes) << file;
  }
}

TEST(WireExport, UnknownFieldsAndOddOrderComeBackByteForByte) {
  const std::string unknown(
      "\xa2\x06\x03"
      "abc"
      "\x98\x06\x7f",
      9);  // fields 100 and 99
  NodeBytes node("n", "Identity");
  node.Raw(unknown).Input("p").Raw(unknown).Type("T", kFloat).Raw(unknown);
  const std::string bytes = unknown + GraphBytes({node}) + LibraryBytes("f", true) + unknown +
                            GraphBytes({NodeBytes("p", "Placeholder").Type("dtype", kFloat)}) +
                            unknown;
  const GraphDefImport import = MustImport(bytes);
  EXPECT_EQ(import.graph.size(), 2);
  EXPECT_EQ(MustExport(import.graph, import), bytes);
}

TEST(WireExport, SwapNodesAreWrittenInFull) {
  const std::string chain = Chain();
  const GraphDefImport import = MustImport(chain);
  Graph graph = import.graph;
  AddSwap(&graph, "d", 1, "c", "t0");
  const std::string bytes = MustExport(graph, import);
  const RawGraph raw = ReadGraph(bytes);
  const RawNode out = RawOf(raw, "tflms/t0/out");
  const RawNode in = RawOf(raw, "tflms/t0/in");
  EXPECT_EQ(out.op, "Identity");
  EXPECT_EQ(out.device, kCpu0);
  EXPECT_EQ(in.device, kGpu0);
  EXPECT_EQ(InputsOf(bytes, "tflms/t0/out"), (std::vector<std::string>{"b"}));
  EXPECT_EQ(InputsOf(bytes, "tflms/t0/in"), (std::vector<std::string>{"tflms/t0/out", "^c"}));
  EXPECT_EQ(InputsOf(bytes, "d"), (std::vector<std::string>{"c", "tflms/t0/in"}));
  for (const RawNode& node : {out, in}) {
    EXPECT_EQ(TypeAttr(raw.AttrsOf(node), "T")->dtype, DataType::kFloat32);
    EXPECT_EQ(BoolAttr(raw.AttrsOf(node), "_grappler_do_not_remove"), true);
  }
}

TEST(WireExport, TouchedNodeKeepsEverythingButItsInputs) {
  const std::string chain = Chain();
  const GraphDefImport import = MustImport(chain);
  Graph graph = import.graph;
  AddSwap(&graph, "d", 1, "c", "t0");
  const std::string bytes = MustExport(graph, import);
  const RawGraph before = ReadGraph(import.bytes);
  const RawGraph after = ReadGraph(bytes);
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(RawOf(before, name).bytes, RawOf(after, name).bytes) << name;
  }
  const std::string expected = Big("d", "Mul", {"c", "tflms/t0/in"}).bytes();
  EXPECT_EQ(RawOf(after, "d").bytes, expected);
}

TEST(WireExport, RewrittenGraphReadsBackAsTheSameGraph) {
  const std::string chain = Chain();
  const GraphDefImport import = MustImport(chain);
  Graph graph = import.graph;
  AddSwap(&graph, "d", 1, "c", "t0");
  Node& c = graph.node(FindId(graph, "c"));
  c.control_inputs.push_back(FindId(graph, "tflms/t0/out"));
  ++c.added_controls;
  const std::string bytes = MustExport(graph, import);
  const GraphDefImport again = MustImport(bytes);
  ASSERT_EQ(again.graph.size(), graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& want = graph.node(id);
    const Node& got = again.graph.node(id);
    EXPECT_EQ(got.name, want.name);
    EXPECT_EQ(got.op, want.op);
    EXPECT_EQ(got.role, want.role) << want.name;
    EXPECT_EQ(got.device, want.device) << want.name;
    EXPECT_EQ(got.inputs, want.inputs) << want.name;
    EXPECT_EQ(got.control_inputs, want.control_inputs) << want.name;
    EXPECT_EQ(got.added_controls, want.added_controls) << want.name;
  }
  EXPECT_EQ(MustExport(again.graph, again), bytes) << "a second pass changes nothing";
}

TEST(WireExport, ErasingWhatWasAddedGivesTheBytesBack) {
  const std::string before = Chain();
  const GraphDefImport import = MustImport(before);
  Graph graph = import.graph;
  AddSwap(&graph, "d", 1, "c", "t0");
  Node& b = graph.node(FindId(graph, "b"));
  b.control_inputs.push_back(FindId(graph, "a"));
  b.added_controls = 1;
  const std::string bytes = MustExport(graph, import);
  const GraphDefImport rewritten = MustImport(bytes);
  // Erase by hand: our two nodes are the last two.
  Graph erased = rewritten.graph;
  erased.node(FindId(erased, "d")).inputs[1] = {FindId(erased, "b"), 0, EdgeAction::kRead};
  erased.nodes.resize(erased.nodes.size() - 2);
  for (Node& node : erased.nodes) {
    node.control_inputs.resize(node.control_inputs.size() -
                               static_cast<size_t>(node.added_controls));
    node.added_controls = 0;
  }
  EXPECT_EQ(MustExport(erased, rewritten), before);
}

TEST(WireExport, AddedControlsSurviveSortingAndMergingInBetween) {
  // As a pass of TensorFlow may leave it: ours in front, one of the two that were listed gone.
  const std::string bytes = GraphBytes({
      NodeBytes("x", "NoOp"),
      NodeBytes("y", "NoOp"),
      NodeBytes("n", "NoOp").Input("^x").Input("^y").StringList(kAddedControlsAttr, {"x", "gone"}),
  });
  const GraphDefImport import = MustImport(bytes);
  const Node& n = Find(import.graph, "n");
  EXPECT_EQ(n.control_inputs, (std::vector<NodeId>{1, 0}));
  EXPECT_EQ(n.added_controls, 1);
  EXPECT_EQ(MustExport(import.graph, import), bytes);
}

TEST(WireExport, ControlInputsGoBehindDataInputsOfANodeThatHadNone) {
  const std::string before = GraphBytes(
      {NodeBytes("a", "NoOp"), NodeBytes("b", "Placeholder").Device(kGpu0).Type("dtype", kFloat)});
  const GraphDefImport import = MustImport(before);
  Graph graph = import.graph;
  graph.node(1).control_inputs = {0};
  graph.node(1).added_controls = 1;
  const std::string bytes = MustExport(graph, import);
  const std::string expected = NodeBytes("b", "Placeholder")
                                   .Input("^a")
                                   .Device(kGpu0)
                                   .Type("dtype", kFloat)
                                   .StringList(kAddedControlsAttr, {"a"})
                                   .bytes();
  EXPECT_EQ(RawOf(ReadGraph(bytes), "b").bytes, expected);
}

TEST(WireExport, NewNodesStandBehindTheLastNodeAndBeforeTheLibrary) {
  const std::string chain = Chain();
  const std::string library = LibraryBytes("f", false);
  const std::string whole = chain + library;
  const GraphDefImport import = MustImport(whole);
  Graph graph = import.graph;
  AddSwap(&graph, "d", 1, "c", "t0");
  const std::string bytes = MustExport(graph, import);
  EXPECT_TRUE(bytes.ends_with(library));
}

TEST(WireExport, LargeConstantsAreViewsAndAreWrittenOnce) {
  NodeBytes big("big", "Const");
  const std::string content(8 << 20, 'x');
  big.Type("dtype", 4).String("payload", content);
  const std::string bytes = GraphBytes({big, NodeBytes("n", "NoOp").Input("^big")});
  const GraphDefImport import = MustImport(bytes);
  EXPECT_GE(import.node_defs[0].data(), bytes.data());
  EXPECT_LT(import.node_defs[0].data(), bytes.data() + bytes.size());
  std::string out = MustExport(import.graph, import);
  EXPECT_EQ(out, bytes);
  EXPECT_LT(out.capacity(), bytes.size() + bytes.size() / 2);
}

TEST(WireExport, RefusesWhatItCannotWrite) {
  const std::string chain = Chain();
  const GraphDefImport import = MustImport(chain);
  std::string out;
  Graph stray = import.graph;
  stray.nodes.emplace_back();
  stray.nodes.back().name = "new";
  EXPECT_FALSE(ExportGraphDef(stray, import, &out).ok());
  Graph twice = import.graph;
  twice.node(1).cookie = 0;
  EXPECT_FALSE(ExportGraphDef(twice, import, &out).ok());
  Graph foreign = import.graph;
  foreign.node(1).cookie = 99;
  EXPECT_FALSE(ExportGraphDef(foreign, import, &out).ok());
  Graph untyped = import.graph;
  AddSwap(&untyped, "d", 1, "c", "t0");
  untyped.nodes.back().outputs[0].type.dtype = DataType::kInvalid;
  EXPECT_FALSE(ExportGraphDef(untyped, import, &out).ok());
}

}  // namespace
}  // namespace tflms
