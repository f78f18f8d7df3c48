// SPDX-License-Identifier: Apache-2.0
//
// Options that choose: filters, branches, slices of levels, who waits. Each on one small training
// step whose plan without the option is known.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "src/graph/text.h"
#include "src/rewrite/level_slices.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

// Forward a1..a4, backward b4..b1; a skip connection from a1 to a4.
constexpr char kStep[] =
    "net/a1 = Conv : u8[80]\n"
    "net/a2 = Relu(net/a1) : u8[80]\n"
    "net10/a3 = Conv(net/a2) : u8[80]\n"
    "net10/a4 = Add(net10/a3, net/a1) : u8[80]\n"
    "back/b4 = ConvGrad(net10/a4) : u8[8]\n"
    "back/b3 = ConvGrad(back/b4, net10/a3) : u8[8]\n"
    "back/b2 = ReluGrad(back/b3, net/a2) : u8[8]\n"
    "back/b1 = ConvGrad(back/b2, net/a1) : u8[8]\n";

struct Done {
  Graph graph;
  Report report;
};

Done RewriteWith(const std::vector<std::pair<std::string, std::string>>& settings) {
  Options options;
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"min_swap_bytes", "1"}, {"swapout_threshold", "0"}, {"swapin_ahead", "1"}}) {
    EXPECT_TRUE(SetOption(name, value, &options).ok());
  }
  for (const auto& [name, value] : settings) {
    const Status status = SetOption(name, value, &options);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  Done done{*ParseGraph(kStep), {}};
  auto reports = Rewrite(options, "step", &done.graph);
  EXPECT_TRUE(reports.ok()) << reports.status().ToString();
  if (reports.ok()) done.report = reports->front();
  return done;
}

// The swapped edges, as "producer>reader".
std::set<std::string> Swapped(const Done& done) {
  std::set<std::string> edges;
  for (const Node& node : done.graph.nodes) {
    for (const Input& in : node.inputs) {
      const Node& back = done.graph.node(in.node);
      if (back.role != NodeRole::kSwapIn) continue;
      const Node& out = done.graph.node(back.inputs[0].node);
      edges.insert(done.graph.node(out.inputs[0].node).name + ">" + node.name);
    }
  }
  return edges;
}

using Edges = std::set<std::string>;
const Edges kAll = {"net/a1>net10/a4", "net/a1>back/b1", "net/a2>back/b2", "net10/a3>back/b3"};

TEST(Filters, WithoutAnyEverythingFarIsSwapped) { EXPECT_EQ(Swapped(RewriteWith({})), kAll); }

TEST(Filters, OutputsByScopeNameOnlyWholeParts) {
  EXPECT_EQ(Swapped(RewriteWith({{"exclude_output_scopes", "net"}})), Edges{"net10/a3>back/b3"});
  Edges others = kAll;
  others.erase("net10/a3>back/b3");
  EXPECT_EQ(Swapped(RewriteWith({{"include_output_scopes", "net/"}})), others);
}

TEST(Filters, OutputsByTypeAndPattern) {
  EXPECT_EQ(Swapped(RewriteWith({{"include_output_types", "Relu"}})), Edges{"net/a2>back/b2"});
  EXPECT_EQ(Swapped(RewriteWith({{"exclude_output_types", "Conv,Add"}})), Edges{"net/a2>back/b2"});
  EXPECT_EQ(Swapped(RewriteWith({{"include_output_names", "net*/a[3]"}})),
            Edges{"net10/a3>back/b3"});
  EXPECT_EQ(Swapped(RewriteWith({{"exclude_output_names", "*a1, *a3"}})), Edges{"net/a2>back/b2"});
}

TEST(Filters, IncludeListsAddUpAndExcludeIsStronger) {
  EXPECT_EQ(Swapped(RewriteWith({{"include_output_types", "Relu"},
                                 {"include_output_names", "net10/a3"},
                                 {"exclude_output_names", "net/a2"}})),
            Edges{"net10/a3>back/b3"});
}

TEST(Filters, AnExcludedReaderFindsTheTensorWhereItWasMade) {
  // a1 is held until a4 has run and may leave only then.
  Edges expected = kAll;
  expected.erase("net/a1>net10/a4");
  EXPECT_EQ(Swapped(RewriteWith({{"exclude_input_types", "Add"}})), expected);
  EXPECT_EQ(Swapped(RewriteWith({{"include_input_scopes", "back"}})), expected);
  EXPECT_EQ(Swapped(RewriteWith({{"include_input_names", "*b2"}})), Edges{"net/a2>back/b2"});
  // b1 is the last reader: a1 can never leave.
  Edges without_a1 = {"net/a2>back/b2", "net10/a3>back/b3"};
  EXPECT_EQ(Swapped(RewriteWith({{"exclude_input_names", "back/b1"}})), without_a1);
}

TEST(Filters, AWordThatNamesNothingIsReported) {
  const Report report = RewriteWith({{"exclude_output_scopes", "nett"}}).report;
  EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(), [](const std::string& note) {
    return note.find("exclude_output_scopes: `nett` names no node") != std::string::npos;
  }));
}

TEST(Branches, SkipConnectionsAreAPartOfTheirOwn) {
  Edges without_branch = kAll;
  without_branch.erase("net/a1>net10/a4");
  EXPECT_EQ(Swapped(RewriteWith({{"swap_branches", "no"}})), without_branch);
  // a4 is two operations behind a2, the reader before.
  EXPECT_EQ(Swapped(RewriteWith({{"branch_threshold", "2"}})), without_branch);
  EXPECT_EQ(Swapped(RewriteWith({{"branch_threshold", "1"}})), kAll);
}

int64_t OrderEdges(const Done& done) {
  int64_t edges = 0;
  for (const Node& node : done.graph.nodes) {
    for (size_t i = 0; i < node.control_inputs.size(); ++i) {
      edges += node.role == NodeRole::kOriginal &&
               done.graph.node(node.control_inputs[i]).role == NodeRole::kOriginal;
    }
  }
  return edges;
}

TEST(Serialization, HoldsTheOrderOnTheLevelsNamed) {
  const std::string wide =
      "a = Op : u8[80]\nb = Op(a) : u8[80]\nc = Op(a) : u8[80]\nd = Op(b, c) : u8[80]\n"
      "e = Op(d) : u8[8]\nf = Op(d) : u8[8]\ng = Op(e, f, a) : u8[80]\n";
  const auto edges = [&](const std::string& slices, const std::string& bytes) {
    Options options;
    options.min_swap_bytes = 1;
    options.swapout_threshold = 1;
    EXPECT_TRUE(SetOption("serialization", slices, &options).ok());
    EXPECT_TRUE(SetOption("serialization_bytes", bytes, &options).ok());
    Done done{*ParseGraph(wide), {}};
    EXPECT_TRUE(Rewrite(options, "wide", &done.graph).ok());
    return OrderEdges(done);
  };
  EXPECT_EQ(edges("", "0"), 2);       // b and c, e and f
  EXPECT_EQ(edges("1", "0"), 1);      // b and c
  EXPECT_EQ(edges("2:,1", "0"), 2);   // all but the first level; neighbours have data edges
  EXPECT_EQ(edges("7:9", "0"), 0);
  EXPECT_EQ(edges("", "100"), 1);     // level 1 makes 160 bytes
}

TEST(Serialization, BadSlicesAreErrors) {
  Options options;
  for (const char* bad : {"x", "4:2", "1,,2", "1,", "-3", "1:2:3", "99999999999"}) {
    const Status status = SetOption("serialization", bad, &options);
    EXPECT_FALSE(status.ok()) << bad;
    EXPECT_NE(status.message().find("serialization: expected"), std::string::npos);
  }
  EXPECT_EQ(options.serialization, "");
  const Result<std::vector<LevelSlice>> open = ParseLevelSlices("3:,:1");
  ASSERT_TRUE(open.ok());
  EXPECT_TRUE(Contains(*open, 0) && Contains(*open, 1) && Contains(*open, 1000000));
  EXPECT_FALSE(Contains(*open, 2));
}

// Nodes that wait for a swap-out or a swap-in.
int64_t Waiting(const Done& done, NodeRole role) {
  int64_t waiting = 0;
  for (const Node& node : done.graph.nodes) {
    for (NodeId from : node.control_inputs) waiting += done.graph.node(from).role == role;
  }
  return waiting;
}

TEST(SyncModes, EachSaysWhoWaits) {
  const std::pair<const char*, std::pair<bool, bool>> modes[] = {
      {"0", {false, false}}, {"1", {true, false}}, {"2", {false, true}}, {"3", {true, true}}};
  for (const auto& [mode, waits] : modes) {
    const Done done = RewriteWith({{"sync_mode", mode}, {"swapin_ahead", "2"}});
    EXPECT_FALSE(Swapped(done).empty()) << mode;
    EXPECT_EQ(Waiting(done, NodeRole::kSwapOut) > 0, waits.first) << mode;
    EXPECT_EQ(Waiting(done, NodeRole::kSwapIn) > 0, waits.second) << mode;
  }
}

}  // namespace
}  // namespace tflms
