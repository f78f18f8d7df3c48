// SPDX-License-Identifier: Apache-2.0
//
// Nodes that run again, in a GraphDef: their source's bytes under another name, and back.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/graph/laws.h"
#include "src/graph/text.h"
#include "src/tensorflow/op_table.h"
#include "src/tensorflow/wire.h"
#include "tests/core/rule_helpers.h"
#include "wire_builder.h"

namespace tflms {
namespace {

// a -> b -> c -> d, where d also reads b; b has what nobody here knows.
NodeBytes Odd() {
  NodeBytes b = Big("b", "Tanh", {"a", "^a"});
  b.String("_class", "loc:@a")
      .Int("_future", 7)
      .Raw("\x32\x03xyz")
      .Bool("_grappler_do_not_remove", false);
  return b;
}

std::string Chain() {
  return GraphBytes(
      {Big("a", "Placeholder", {}), Odd(), Big("c", "Tanh", {"b"}), Big("d", "Mul", {"c", "b"})});
}

// d reads b's second run, which waits for c.
Graph WithClone(const Graph& graph) {
  RuleRun run(graph);
  run.request.first_clone = graph.size();
  run.request.clones = {{FindId(graph, "b"), FindId(graph, "c"), {}}};
  run.request.cloned_reads = {{FindId(graph, "d"), 1, graph.size()}};
  EXPECT_EQ(run.Apply("recompute").refused, 0);
  return run.graph;
}

TEST(WireRecompute, ACloneIsItsSourceUnderAnotherNameAndWithOtherInputs) {
  const std::string chain = Chain();
  const GraphDefImport import = MustImport(chain);
  const std::string bytes = MustExport(WithClone(import.graph), import);
  NodeBytes expected("tflms/recompute/b", "Tanh");
  expected.Input("a").Input("^b").Input("^c");
  // Everything else of b, in its order.
  const std::string source = Odd().bytes();
  FieldReader fields(source);
  while (fields.Next()) {
    const bool flag = fields.is_bytes() &&
                      fields.Bytes().find("_grappler_do_not_remove") != std::string_view::npos;
    if (fields.tag() > field::kNodeInput && !flag) expected.Raw(fields.raw());
  }
  expected.Bool("_grappler_do_not_remove", true)
      .String("_tflms_role", "recompute")
      .String("_tflms_clone_of", "b");
  const RawGraph raw = ReadGraph(bytes);
  ASSERT_EQ(raw.nodes.size(), 5u);
  EXPECT_EQ(raw.nodes[4].bytes, expected.bytes());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(raw.nodes[i].bytes, ReadGraph(chain).nodes[i].bytes) << i;
  }
  EXPECT_EQ(raw.nodes[3].bytes, Big("d", "Mul", {"c", "tflms/recompute/b"}).bytes());
}

TEST(WireRecompute, ReadsBackAsTheSameGraphAndKeepsTheLaws) {
  const std::string chain = Chain();
  const GraphDefImport import = MustImport(chain);
  const Graph graph = WithClone(import.graph);
  const std::string bytes = MustExport(graph, import);
  const GraphDefImport again = MustImport(bytes);
  EXPECT_EQ(PrintGraph(again.graph), PrintGraph(graph));
  EXPECT_EQ(MustExport(again.graph, again), bytes);
  const Status laws = VerifyRewrite(import.graph, again.graph);
  EXPECT_TRUE(laws.ok()) << laws.ToString();
  EXPECT_EQ(MustExport(EraseRewrite(again.graph), again), chain);
}

TEST(WireRecompute, NodesOfRealGraphsRunAgain) {
  int64_t clones = 0;
  for (const std::string& file : DataFiles()) {
    const std::string before = ReadData(file);
    const GraphDefImport import = MustImport(before);
    RuleRun run(import.graph);
    for (NodeId id = 0; id < import.graph.size(); ++id) {
      RuleRun one(run.graph);
      one.request.first_clone = run.graph.size();
      one.request.clones = {{id, kNoNode, {}}};
      const Readers readers(run.graph);
      for (const Reader* r = readers.begin(id); r != readers.end(id); ++r) {
        one.request.cloned_reads.push_back({r->node, r->slot, run.graph.size()});
      }
      if (one.request.cloned_reads.empty()) continue;
      if (one.Apply("recompute").refused == 0) run.graph = one.graph;
    }
    clones += run.Added();
    const Status laws = VerifyRewrite(import.graph, run.graph);
    EXPECT_TRUE(laws.ok()) << file << ": " << laws.ToString();
    const std::string bytes = MustExport(run.graph, import);
    const GraphDefImport again = MustImport(bytes);
    EXPECT_EQ(PrintGraph(again.graph), PrintGraph(run.graph)) << file;
    EXPECT_EQ(MustExport(EraseRewrite(again.graph), again), before) << file;
  }
  EXPECT_GT(clones, 20);
}

// The message with which the import of these nodes fails.
std::string FaultOf(const std::vector<NodeBytes>& nodes) {
  const std::string bytes = GraphBytes(nodes);
  const Result<GraphDefImport> import = ImportGraphDef(bytes, {});
  EXPECT_FALSE(import.ok());
  return import.ok() ? "" : import.status().message();
}

NodeBytes CloneOf(std::string_view source, std::string_view op) {
  return Big("tflms/recompute/b", op, {"a", "^b"})
      .String("_tflms_role", "recompute")
      .String("_tflms_clone_of", source);
}

TEST(WireRecompute, RefusesClonesOfNothing) {
  const NodeBytes a = Big("a", "Placeholder", {}), b = Big("b", "Tanh", {"a"});
  EXPECT_TRUE(ImportGraphDef(GraphBytes({a, b, CloneOf("b", "Tanh")}), {}).ok());
  EXPECT_NE(FaultOf({a, b, CloneOf("z", "Tanh")}).find("runs `z` again, which is not in the graph"),
            std::string::npos);
  EXPECT_NE(
      FaultOf({a, b, CloneOf("b", "Relu")}).find("runs `b` again, which is another operation"),
      std::string::npos);
  EXPECT_NE(FaultOf({a, b, CloneOf("tflms/recompute/b", "Tanh")}).find("another operation"),
            std::string::npos);
  NodeBytes nameless = Big("tflms/recompute/b", "Tanh", {"a", "^b"});
  nameless.String("_tflms_role", "recompute");
  EXPECT_NE(FaultOf({a, b, nameless}).find("does not say which"), std::string::npos);
}

TEST(WireRecompute, OperationsThatMayRunAgainArePure) {
  for (const char* op : {"Conv2D", "FusedBatchNormV3", "Relu", "MatMul", "MaxPool", "Reshape"}) {
    EXPECT_TRUE(IsRepeatableOp(op)) << op;
  }
  for (const char* op : {"RandomUniform", "StatelessRandomUniformV2", "ReadVariableOp", "Assign",
                         "Conv2DBackpropFilter", "SegmentSum", "StatefulPartitionedCall", "Switch",
                         "IdentityN", "NoOp", "NotAnOp", ""}) {
    EXPECT_FALSE(IsRepeatableOp(op)) << op;
  }
}

}  // namespace
}  // namespace tflms
