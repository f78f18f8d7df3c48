// SPDX-License-Identifier: Apache-2.0
//
// Plans with clones become graphs in which everybody reads what the plan says: random plans on
// random graphs, and the cases with aliases by hand.
//
// TFLMS_PROPERTY_SEEDS in the environment sets the number of seeds (default 50; nightly 1,000).

#include "src/rewrite/clone_wiring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/graph/laws.h"
#include "src/graph/text.h"
#include "src/planners/order.h"
#include "src/rewrite/plan_request.h"
#include "src/rewrite/problem_builder.h"
#include "tests/core/random_graph.h"
#include "tests/core/rule_helpers.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

uint64_t Seeds() {
  const char* seeds = std::getenv("TFLMS_PROPERTY_SEEDS");
  return seeds == nullptr ? 50 : std::strtoull(seeds, nullptr, 10);
}

// A graph, its problem, and a plan for it.
struct Planned {
  explicit Planned(Graph from) : graph(std::move(from)) {
    facts = FindFacts(graph).value();
    map = BuildProblem(graph, facts, 0);
    plan.order = MakeOrder(map.problem, OrderPolicy::kReadyFirst);
    plan.pin_order = true;
  }
  OpId Op(std::string_view name) const { return IndexByName(graph).at(name); }
  BufferId BufferOf(std::string_view name) const {
    for (size_t id = 0; id < map.graph_buffer.size(); ++id) {
      const Buffer& buffer = facts.buffers.buffers[Index(map.graph_buffer[id])];
      if (graph.node(buffer.node).name == name) return static_cast<BufferId>(id);
    }
    return -1;
  }
  // Puts a new clone of `source` right before `before` in the order.
  OpId CloneBefore(OpId source, OpId before) {
    const OpId clone = graph.size() + static_cast<OpId>(plan.clones.size());
    plan.clones.push_back(source);
    plan.order.insert(std::find(plan.order.begin(), plan.order.end(), before), clone);
    return clone;
  }
  void Read(BufferId buffer, OpId reader, OpId clone) {
    const CloneRead read = {buffer, reader, clone - graph.size()};
    const auto place =
        std::find_if(plan.clone_reads.begin(), plan.clone_reads.end(), [&](const CloneRead& other) {
          return std::pair(other.buffer, other.reader) > std::pair(buffer, reader);
        });
    plan.clone_reads.insert(place, read);
  }

  Graph graph;
  GraphFacts facts;
  ProblemMap map;
  Plan plan;
};

// Carries the plan out and checks the laws, and that no step of it was refused.
Graph CarriedOut(const Planned& p, const Options& options = {}) {
  EXPECT_EQ(CheckPlan(p.map.problem, p.plan), "");
  std::vector<NodeId> first_runs = p.plan.order;
  std::erase_if(first_runs, [&](NodeId id) { return id >= p.graph.size(); });
  RuleRun run(p.graph, first_runs);
  run.request = RequestFromPlan(p.graph, p.facts, p.map, p.plan, options, GraphBuilder::kCpu);
  EXPECT_EQ(run.Apply("recompute").refused, 0);
  // A random graph has names of plain buffers that no tensor could have: those are not swapped.
  const auto no_tensor =
      std::count_if(run.request.edges.begin(), run.request.edges.end(), [&](const SwapEdge& edge) {
        const Input& in = run.graph.node(edge.reader).inputs[Index(edge.slot)];
        const OutputInfo& output = run.graph.output(in);
        return !IsCopyable(output.type.dtype) || output.type.is_ref || output.host_memory;
      });
  EXPECT_EQ(run.Apply("swap").refused, no_tensor);
  for (const char* rule : {"fuse-swap-outs", "fuse-swap-ins", "trigger", "sync"}) run.Apply(rule);
  EXPECT_EQ(run.Apply("serialise").refused, 0);
  const Status laws = VerifyRewrite(p.graph, run.graph);
  EXPECT_TRUE(laws.ok()) << laws.ToString() << "\n" << PrintGraph(run.graph);
  return run.graph;
}

// The node that made the bytes: behind swap nodes and other names of the buffer whose first node is
// `root`.
NodeId MakerOf(const Graph& after, Input in, NodeId root) {
  for (;;) {
    const Node& node = after.node(in.node);
    const bool swaps = node.role == NodeRole::kSwapOut || node.role == NodeRole::kSwapIn;
    if (swaps) {
      in = node.inputs[0];
    } else if ((node.clone_of == kNoNode ? in.node : node.clone_of) != root) {
      in = node.inputs[Index(node.outputs[Index(in.port)].alias_of)];
    } else {
      return in.node;
    }
  }
}

// Every reader of every buffer reads the run of its producer that the plan says.
void ExpectWiring(const Planned& p, const Graph& after) {
  const Expansion expansion = Expand(p.map.problem, p.plan);
  const CloneWiring wiring(p.graph, p.facts, p.map, p.plan, expansion);
  for (size_t id = 0; id < expansion.problem.buffers.size(); ++id) {
    const OpId maker = expansion.problem.buffers[id].producer;
    const BufferId first = expansion.original[id];
    const Buffer& buffer = p.facts.buffers.buffers[Index(p.map.graph_buffer[Index(first)])];
    for (const Wire& wire : wiring.WiresOf(static_cast<BufferId>(id))) {
      EXPECT_EQ(MakerOf(after, after.node(wire.reader).inputs[Index(wire.slot)], buffer.node),
                wiring.NodeOf(maker))
          << after.node(wire.reader).name << " slot " << wire.slot;
    }
  }
}

// Adds a clone that makes a random buffer again for one of its readers, and perhaps for later ones
// and what it reads of earlier clones; taken back when the plan is not legal then.
bool AddRandomClone(Random* random, Planned* p) {
  const Plan old = p->plan;
  const Expansion expansion = Expand(p->map.problem, old);
  const BufferId buffer = random->Below(static_cast<int32_t>(p->map.problem.buffers.size()));
  const ProblemBuffer& wanted = p->map.problem.buffers[Index(buffer)];
  if (!wanted.recomputable || wanted.uses.empty()) return false;
  const OpId reader = random->Pick(wanted.uses);
  const OpId clone = p->CloneBefore(wanted.producer, reader);
  const std::vector<int32_t> position = Positions(p->plan.order);
  for (OpId use : wanted.uses) {
    const bool has = std::any_of(
        old.clone_reads.begin(), old.clone_reads.end(),
        [&](const CloneRead& read) { return read.buffer == buffer && read.reader == use; });
    if (position[Index(use)] < position[Index(clone)] || has) continue;
    if (use == reader || random->Percent(50)) p->Read(buffer, use, clone);
  }
  for (size_t id = 0; id < p->map.problem.buffers.size(); ++id) {
    const ProblemBuffer& read = p->map.problem.buffers[id];
    if (!std::binary_search(read.uses.begin(), read.uses.end(), wanted.producer)) continue;
    for (size_t i = 0; i < old.clones.size(); ++i) {
      if (old.clones[i] != read.producer || !read.recomputable || random->Percent(40)) continue;
      p->Read(static_cast<BufferId>(id), clone, p->graph.size() + static_cast<OpId>(i));
      break;
    }
  }
  if (CheckPlan(p->map.problem, p->plan).empty()) return true;
  p->plan = old;
  return false;
}

// Random legal swaps of what the first runs and the clones make.
void AddRandomSwaps(Random* random, Planned* p) {
  const Problem problem = Expand(p->map.problem, p->plan).problem;
  const std::vector<int32_t> position = Positions(p->plan.order);
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const std::vector<OpId> accesses = Accesses(problem.buffers[id], position);
    for (size_t i = 1; i < accesses.size(); ++i) {
      if (!random->Percent(40)) continue;
      const int32_t from = position[Index(accesses[i - 1])], to = position[Index(accesses[i])];
      const OpId trigger = p->plan.order[Index(from + random->Below(to - from))];
      const Plan old = p->plan;
      p->plan.swaps.push_back(
          {static_cast<BufferId>(id), accesses[i - 1], accesses[i], trigger, kNoOp});
      if (!CheckPlan(p->map.problem, p->plan).empty()) p->plan = old;
    }
  }
}

Planned RandomPlan(uint64_t seed) {
  Random random(seed + 3);
  Graph graph = RandomGraph(seed, {.min_nodes = 25, .host = 5, .other_accelerator = 0});
  for (Node& node : graph.nodes) {
    if (node.op == "Op" && random.Percent(90)) node.flags |= kRepeatable;
    if (node.op == "Op" && random.Percent(3)) node.flags |= kPicksInput;
    if (node.op == "Op" && node.outputs.size() == 1 && !node.inputs.empty() && random.Percent(30)) {
      node.outputs[0].alias_of = 0;
      node.outputs[0].type = graph.output(node.inputs[0]).type;  // as aliases have
      node.outputs[0].persistent = false;
      node.outputs[0].may_reuse = -1;
    }
  }
  Planned planned(std::move(graph));
  for (int tries = 0; tries < 60; ++tries) AddRandomClone(&random, &planned);
  AddRandomSwaps(&random, &planned);
  return planned;
}

class CloneWiringLaws : public testing::TestWithParam<uint64_t> {};

TEST_P(CloneWiringLaws, EverybodyReadsWhatThePlanSays) {
  const Planned planned = RandomPlan(GetParam());
  const Graph after = CarriedOut(planned);
  ExpectWiring(planned, after);
}

TEST_P(CloneWiringLaws, SoTheyDoWithOrderEdgesOnSomeLevelsOnly) {
  const Planned planned = RandomPlan(GetParam());
  Options options;
  options.serialization = "2:3";
  options.sync_mode = 3;
  const Graph after = CarriedOut(planned, options);
  ExpectWiring(planned, after);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CloneWiringLaws, testing::Range<uint64_t>(0, Seeds()));

TEST(CloneWiring, RandomPlansHaveWhatMakesThemHard) {
  int64_t clones = 0, of_clones = 0, aliases = 0, swapped = 0;
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    const Planned p = RandomPlan(seed);
    const SwapRequest request =
        RequestFromPlan(p.graph, p.facts, p.map, p.plan, {}, GraphBuilder::kCpu);
    clones += static_cast<int64_t>(p.plan.clones.size());
    aliases += static_cast<int64_t>(request.clones.size() - p.plan.clones.size());
    for (const CloneRead& read : p.plan.clone_reads) of_clones += read.reader >= p.graph.size();
    for (const SwapGap& swap : p.plan.swaps) {
      swapped += swap.buffer >= static_cast<BufferId>(p.map.problem.buffers.size());
    }
  }
  EXPECT_GT(clones, static_cast<int64_t>(Seeds()));
  EXPECT_GT(of_clones, 0);
  EXPECT_GT(aliases, 0);
  EXPECT_GT(swapped, 0);
}

constexpr char kAliased[] =
    "x = Source : f32[64]\n"
    "u = Op(x) : f32[64] repeatable\n"
    "r = Reshape(u) : f32[8,8]{alias=0} repeatable\n"
    "a = Op(r) : f32[64]\n"
    "b = Op(a, u) : f32[64]\n"
    "g = Op(b, r) : f32[64]\n"
    "h = Op(g, r, u) : f32[64]\n";

TEST(CloneWiring, AReaderOfAnAliasGetsAnAliasOfTheClone) {
  Planned p(*ParseGraph(kAliased));
  const OpId clone = p.CloneBefore(p.Op("u"), p.Op("g"));
  for (const char* reader : {"g", "h"}) p.Read(p.BufferOf("u"), p.Op(reader), clone);
  const Graph after = CarriedOut(p);
  ExpectWiring(p, after);
  EXPECT_EQ(PrintGraph(after).substr(PrintGraph(after).find("g = ")),
            "g = Op(b, tflms/recompute/r, +^tflms/recompute/u) : f32[64]\n"
            "h = Op(g, tflms/recompute/r, tflms/recompute/u) : f32[64]\n"
            "tflms/recompute/u = Op(x, +^u, +^b) : f32[64] repeatable role=recompute of=u\n"
            "tflms/recompute/r = Reshape(tflms/recompute/u, +^r) : f32[8,8]{alias=0} repeatable "
            "role=recompute of=r\n");
}

TEST(CloneWiring, AnAliasThatReadsTheCloneServesItsReaders) {
  Planned p(
      *ParseGraph("x = Source : f32[64]\nu = Op(x) : f32[64] repeatable\na = Op(u) : f32[64]\n"
                  "r = Reshape(u, ^a) : f32[8,8]{alias=0} repeatable\ng = Op(a, r) : f32[64]\n"
                  "h = Op(g, r) : f32[64]\n"));
  const OpId clone = p.CloneBefore(p.Op("u"), p.Op("r"));
  p.Read(p.BufferOf("u"), p.Op("r"), clone);
  p.Read(p.BufferOf("u"), p.Op("g"), clone);  // h still reads the first run
  const Graph after = CarriedOut(p);
  ExpectWiring(p, after);
  const std::string text = PrintGraph(after);
  EXPECT_NE(text.find("r = Reshape(tflms/recompute/u, ^a)"), std::string::npos) << text;
  EXPECT_NE(text.find("g = Op(a, r)"), std::string::npos) << text;
  EXPECT_NE(text.find("h = Op(g, tflms/recompute/r)"), std::string::npos) << text;
  EXPECT_NE(text.find("tflms/recompute/r = Reshape(u, +^r)"), std::string::npos) << text;
}

TEST(CloneWiring, ASwapOfWhatACloneMakesIsOnTheClonesReaders) {
  Planned p(
      *ParseGraph("x = Source : f32[64]\nu = Op(x) : f32[64] repeatable\na = Op(u) : f32[64]\n"
                  "b = Op(a, u) : f32[64]\nc = Op(b) : f32[64]\ng = Op(c, u) : f32[64]\n"));
  const OpId clone = p.CloneBefore(p.Op("u"), p.Op("b"));
  const BufferId u = p.BufferOf("u");
  p.Read(u, p.Op("b"), clone);
  p.Read(u, p.Op("g"), clone);
  const auto made_again = static_cast<BufferId>(p.map.problem.buffers.size());
  p.plan.swaps = {{made_again, p.Op("b"), p.Op("g"), p.Op("b"), p.Op("c")}};
  p.plan.swaps[0].sync = kNoOp;
  const Graph after = CarriedOut(p);
  ExpectWiring(p, after);
  const std::string text = PrintGraph(after);
  EXPECT_NE(text.find("b = Op(a, tflms/recompute/u)"), std::string::npos) << text;
  EXPECT_NE(text.find("g = Op(c, tflms/swap_in/tflms/recompute/u)"), std::string::npos) << text;
}

}  // namespace
}  // namespace tflms
