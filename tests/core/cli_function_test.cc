// SPDX-License-Identifier: Apache-2.0
//
// Bodies of functions as graphs, and back; which of a library may be rewritten.

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "src/cli/function_body.h"
#include "src/cli/function_ports.h"
#include "src/cli/library.h"
#include "wire_builder.h"

namespace tflms::cli {
namespace {

std::string Field(uint32_t tag, std::string_view value) {
  std::string out;
  protozero::pbf_writer(out).add_bytes(tag, value.data(), value.size());
  return out;
}

std::string Arg(std::string_view name) {
  std::string arg = Field(1, name);
  protozero::pbf_writer(arg).add_enum(3, kFloat);
  return arg;
}

// f(a, b): TopKV2 has two output arguments, Split one with several outputs.
std::string Function(const std::vector<NodeBytes>& nodes) {
  std::string out = Field(1, Field(1, "f") + Field(2, Arg("a")) + Field(2, Arg("b")));
  for (const NodeBytes& node : nodes) out += Field(3, node.bytes());
  return out + Field(4, Field(1, "out") + Field(2, "y:z:0"));
}

std::string Body() {
  return Function({NodeBytes("top", "TopKV2").Input("a").Input("b").Type("T", kFloat),
                   NodeBytes("parts", "Split")
                       .Input("b")
                       .Input("top:values:0")
                       .Int("num_split", 3)
                       .Type("T", kFloat),
                   NodeBytes("y", "AddV2")
                       .Input("parts:output:2")
                       .Input("top:indices:0")
                       .Input("^top")
                       .Type("T", kFloat)});
}

TEST(CliFunction, PortsCountTheOutputsOfEarlierArguments) {
  EXPECT_EQ(FirstPort("TopKV2", "values", {}), 0);
  EXPECT_EQ(FirstPort("TopKV2", "indices", {}), 1);
  EXPECT_EQ(FirstPort("TopKV2", "nothing", {}), std::nullopt);
  EXPECT_EQ(FirstPort("MatMul", "product", {}), 0);
  EXPECT_EQ(FirstPort("NoSuchOperation", "x", {}), std::nullopt);
}

TEST(CliFunction, InputsAreTakenApart) {
  EXPECT_EQ(ParseBodyInput("a")->node, "a");
  EXPECT_EQ(ParseBodyInput("n:out:3")->index, 3);
  EXPECT_EQ(ParseBodyInput("n:out")->argument, "out");
  EXPECT_EQ(ParseBodyInput("a:1")->index, 1);
  for (const char* bad : {"", ":", "n:out:x", "n:out:-1", "n:out:70000", "n:out:1:2"}) {
    EXPECT_FALSE(ParseBodyInput(bad).has_value()) << bad;
  }
}

TEST(CliFunction, ABodyBecomesAGraphAndBack) {
  const std::string function = Body();
  const auto body = ReadFunctionBody(function);
  ASSERT_TRUE(body.ok()) << body.status().message();
  const GraphDefImport import = MustImport(body->graph_def);
  EXPECT_EQ(import.graph.size(), 5);
  EXPECT_EQ(Find(import.graph, "a").op, "_Arg");
  EXPECT_EQ(Find(import.graph, "y").inputs[0], (Input{FindId(import.graph, "parts"), 2}));
  EXPECT_EQ(Find(import.graph, "y").inputs[1], (Input{FindId(import.graph, "top"), 1}));
  EXPECT_EQ(body->preserve, (std::unordered_set<std::string>{"y"}));
  const auto same = WriteFunctionBody(function, *body, body->graph_def);
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(*same, function);
}

TEST(CliFunction, ASwapIsWrittenInTheFunctionsOwnNames) {
  const std::string function = Body();
  const auto body = ReadFunctionBody(function);
  ASSERT_TRUE(body.ok());
  GraphDefImport import = MustImport(body->graph_def);
  import.graph.devices = {{std::string(kGpu0), DeviceKind::kAccelerator, 1},
                          { std::string(kCpu0),
                            DeviceKind::kHost,
                            kNoDevice }};
  for (Node& node : import.graph.nodes) node.device = 0;
  AddSwap(&import.graph, "y", 0, "top", "s");
  const auto written = WriteFunctionBody(function, *body, MustExport(import.graph, import));
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_NE(written->find("tflms/s/in:output:0"), std::string::npos);
  const auto again = ReadFunctionBody(*written);
  ASSERT_TRUE(again.ok()) << again.status().message();
  const GraphDefImport back = MustImport(again->graph_def);
  EXPECT_EQ(Find(back.graph, "tflms/s/out").inputs[0], (Input{FindId(back.graph, "parts"), 2}));
  EXPECT_EQ(Find(back.graph, "y").inputs[0], (Input{FindId(back.graph, "tflms/s/in"), 0}));
}

TEST(CliFunction, UnknownOperationsAreUnsupported) {
  const auto body = ReadFunctionBody(
      Function({NodeBytes("x", "NoSuchOperation"), NodeBytes("y", "Identity").Input("x:out:0")}));
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.status().code(), StatusCode::kUnsupported);
}

// called <- main; body and what it calls are a loop's.
TEST(CliFunction, BodiesOfLoopsAndWhatTheyCallAreLeftAlone) {
  const auto function = [](std::string_view name, const std::vector<NodeBytes>& nodes) {
    std::string out = Field(1, Field(1, name));
    for (const NodeBytes& node : nodes) out += Field(3, node.bytes());
    return out;
  };
  const std::string called = function("called", {});
  const std::string body =
      function("body", {NodeBytes("c", "PartitionedCall").Function("f", "inner")});
  const std::string inner = function("inner", {});
  const std::string free_standing = function("free", {});
  const std::string graph =
      GraphBytes({NodeBytes("c", "StatefulPartitionedCall").Function("f", "called"),
                  NodeBytes("w", "While").Function("body", "body")});
  const std::vector<LibraryFunction> functions = {{"called", called, false},
                                                  {"body", body, false},
                                                  {"inner", inner, false},
                                                  {"free", free_standing, false},
                                                  {"xla", free_standing, true}};
  EXPECT_EQ(RewritableFunctions(graph, functions),
            (std::vector<bool>{true, false, false, true, false}));
}

}  // namespace
}  // namespace tflms::cli
