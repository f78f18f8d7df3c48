// SPDX-License-Identifier: Apache-2.0
//
// Buffers and live ranges against their definitions, on random graphs. Single cases are in
// tests/text/buffers.

#include "src/graph/buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/graph/topology.h"
#include "tests/core/random_graph.h"

namespace tflms {
namespace {

struct Facts {
  Graph graph;
  std::vector<NodeId> order;
  BufferTable table;
};

Facts FactsOf(uint64_t seed) {
  Facts facts;
  facts.graph = RandomGraph(seed);
  facts.order = TopologicalOrder(facts.graph).value();
  facts.table = FindBuffers(facts.graph, facts.order);
  return facts;
}

TEST(Buffers, EveryOutputIsANameOfOneBuffer) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Facts facts = FactsOf(seed);
    size_t outputs = 0, names = 0;
    for (NodeId id = 0; id < facts.graph.size(); ++id) {
      for (size_t port = 0; port < facts.graph.node(id).outputs.size(); ++port) {
        ++outputs;
        const OutputName name = {id, static_cast<int32_t>(port)};
        const std::vector<OutputName>& all = facts.table.at(id, name.port).names;
        EXPECT_EQ(std::count(all.begin(), all.end(), name), 1) << seed;
      }
    }
    for (const Buffer& buffer : facts.table.buffers) {
      names += buffer.names.size();
      EXPECT_EQ(buffer.names.front(), (OutputName{buffer.node, buffer.port})) << seed;
    }
    EXPECT_EQ(names, outputs) << seed;
  }
}

TEST(Buffers, AliasesShareMemoryAndPersistence) {
  int aliases = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Facts facts = FactsOf(seed);
    for (NodeId id = 0; id < facts.graph.size(); ++id) {
      const Node& node = facts.graph.node(id);
      for (size_t port = 0; port < node.outputs.size(); ++port) {
        const OutputInfo& output = node.outputs[port];
        if (output.alias_of < 0 || node.Has(kMerge)) continue;
        const Input& in = node.inputs[static_cast<size_t>(output.alias_of)];
        const bool shared =
            facts.table.Of(id, static_cast<int32_t>(port)) == facts.table.Of(in.node, in.port);
        const bool same_place = facts.graph.node(in.node).device == node.device &&
                                facts.graph.output(in).host_memory == output.host_memory;
        EXPECT_EQ(shared, same_place) << seed;
        aliases += shared ? 1 : 0;
      }
    }
    for (const Buffer& buffer : facts.table.buffers) {
      bool persistent = false;
      for (const OutputName& name : buffer.names) {
        persistent |=
            facts.graph.node(name.node).outputs[static_cast<size_t>(name.port)].persistent;
      }
      EXPECT_EQ(buffer.persistent, persistent) << seed;
    }
  }
  EXPECT_GT(aliases, 100);
}

TEST(Buffers, ReadersAreTheEdgesOfTheGraph) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Facts facts = FactsOf(seed);
    size_t edges = 0, readers = 0;
    for (const Node& node : facts.graph.nodes) edges += node.inputs.size();
    for (size_t i = 0; i < facts.table.buffers.size(); ++i) {
      readers += facts.table.buffers[i].readers.size();
      for (const Reader& reader : facts.table.buffers[i].readers) {
        const Input& in = facts.graph.node(reader.node).inputs[static_cast<size_t>(reader.slot)];
        EXPECT_EQ(in.port, reader.port);
        EXPECT_EQ(facts.table.Of(in.node, in.port), static_cast<BufferIndex>(i));
      }
    }
    EXPECT_EQ(edges, readers) << seed;
  }
}

bool EntersALoop(const Graph& graph, const Buffer& buffer) {
  return std::any_of(buffer.names.begin(), buffer.names.end(),
                     [&](const OutputName& name) { return graph.node(name.node).Has(kEnter); });
}

// A range is that of the accesses, but for buffers that enter a loop, which may live longer.
TEST(Buffers, LiveRangesCoverEveryAccessAndNothingElse) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Facts facts = FactsOf(seed);
    const std::vector<LiveRange> ranges = LiveRanges(facts.graph, facts.table, facts.order);
    const auto end = static_cast<int32_t>(facts.order.size()) - 1;
    std::vector<LiveRange> expected(ranges.size(), LiveRange{end, 0});
    for (int32_t p = 0; p <= end; ++p) {
      const NodeId id = facts.order[static_cast<size_t>(p)];
      const auto touch = [&](NodeId node, int32_t port) {
        LiveRange& range = expected[static_cast<size_t>(facts.table.Of(node, port))];
        range.first = std::min(range.first, p);
        range.last = std::max(range.last, p);
      };
      for (const Input& in : facts.graph.node(id).inputs) {
        if (!IsBackEdge(facts.graph, in.node, id)) touch(in.node, in.port);
      }
      for (size_t port = 0; port < facts.graph.node(id).outputs.size(); ++port) {
        touch(id, static_cast<int32_t>(port));
      }
    }
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Buffer& buffer = facts.table.buffers[i];
      if (buffer.persistent) expected[i].first = 0;
      if (buffer.persistent || buffer.preserved) expected[i].last = end;
      EXPECT_EQ(ranges[i].first, expected[i].first) << seed << " buffer " << i;
      if (EntersALoop(facts.graph, buffer)) {
        EXPECT_GE(ranges[i].last, expected[i].last) << seed << " buffer " << i;
      } else {
        EXPECT_EQ(ranges[i].last, expected[i].last) << seed << " buffer " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tflms
