// SPDX-License-Identifier: Apache-2.0
//
// Plans with clones for tests. See clone_plans.h.

#include "tests/core/clone_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "src/graph/laws.h"
#include "src/graph/text.h"
#include "src/planners/order.h"
#include "src/rewrite/plan_request.h"
#include "src/sim/clones.h"
#include "tests/core/random_graph.h"
#include "tests/core/rule_helpers.h"

namespace tflms {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// Adds a clone that makes a random buffer again for one of its readers, and perhaps for later ones
// and what it reads of earlier clones; taken back when the plan is not legal then.
bool AddRandomClone(Random* random, PlannedCase* p) {
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
void AddRandomSwaps(Random* random, PlannedCase* p) {
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

}  // namespace

PlannedCase::PlannedCase(Graph from) : graph(std::move(from)) {
  facts = FindFacts(graph).value();
  map = BuildProblem(graph, facts, 0);
  plan.order = MakeOrder(map.problem, OrderPolicy::kReadyFirst);
  plan.pin_order = true;
}

OpId PlannedCase::Op(std::string_view name) const { return IndexByName(graph).at(name); }

BufferId PlannedCase::BufferOf(std::string_view name) const {
  for (size_t id = 0; id < map.graph_buffer.size(); ++id) {
    const Buffer& buffer = facts.buffers.buffers[Index(map.graph_buffer[id])];
    if (graph.node(buffer.node).name == name) return static_cast<BufferId>(id);
  }
  return -1;
}

OpId PlannedCase::CloneBefore(OpId source, OpId before) {
  const OpId clone = graph.size() + static_cast<OpId>(plan.clones.size());
  plan.clones.push_back(source);
  plan.order.insert(std::find(plan.order.begin(), plan.order.end(), before), clone);
  return clone;
}

void PlannedCase::Read(BufferId buffer, OpId reader, OpId clone) {
  const CloneRead read = {buffer, reader, clone - graph.size()};
  const auto place =
      std::find_if(plan.clone_reads.begin(), plan.clone_reads.end(), [&](const CloneRead& other) {
        return std::pair(other.buffer, other.reader) > std::pair(buffer, reader);
      });
  plan.clone_reads.insert(place, read);
}

// Carries the plan out and checks the laws, and that no step of it was refused.
Graph CarriedOut(const PlannedCase& p, const Options& options) {
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

PlannedCase RandomClonePlan(uint64_t seed) {
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
  PlannedCase planned(std::move(graph));
  for (int tries = 0; tries < 60; ++tries) AddRandomClone(&random, &planned);
  AddRandomSwaps(&random, &planned);
  return planned;
}

}  // namespace tflms
