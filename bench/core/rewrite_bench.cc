// SPDX-License-Identifier: Apache-2.0
//
// How long rewriting takes, whole and by part, on training steps of growing size. Aim: a graph of
// 10,000 nodes is rewritten within a second. Every benchmark that plans says how many tensors it
// swaps and what that does to the peak; one that swaps nothing has measured nothing and fails.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bench/core/graph_bytes.h"
#include "bench/core/scenario.h"
#include "src/graph/laws.h"
#include "src/graph/verifier.h"
#include "src/rewrite/plan_request.h"
#include "src/rules/rule.h"
#include "src/sim/bfc.h"
#include "src/sim/simulator.h"
#include "src/tensorflow/graphdef.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

Scenario ScenarioOf(const benchmark::State& state) {
  return MakeScenario(static_cast<int32_t>(state.range(0)));
}

// Says what a rewriting did, or fails when it is not the one that was to be measured.
void Judge(const Result<std::vector<Report>>& reports, benchmark::State* state) {
  if (!reports.ok()) {
    state->SkipWithError(reports.status().ToString().c_str());
    return;
  }
  const Report& report = reports->front();
  if (report.swapped_tensors == 0) {
    state->SkipWithError(("nothing was swapped: " + report.reason).c_str());
    return;
  }
  const auto count = [&](const char* name, int64_t value) {
    state->counters[name] = static_cast<double>(value);
  };
  count("nodes", report.nodes);
  count("swapped", report.swapped_tensors);
  count("fits", report.peak_bytes_after <= report.budget_bytes ? 1 : 0);
  state->counters["peak%"] = 100.0 * static_cast<double>(report.peak_bytes_after) /
                             static_cast<double>(report.peak_bytes_before);
}

void RunRewrite(const Scenario& scenario, benchmark::State* state) {
  Result<std::vector<Report>> reports = Unsupported("not run");
  for (auto _ : *state) {
    Graph graph = scenario.graph;
    reports = Rewrite(scenario.options, "bench", &graph);
  }
  Judge(reports, state);
}

// The whole pipeline: graph -> problem -> plan -> rules -> verify -> report.
void BM_Rewrite(benchmark::State& state) { RunRewrite(ScenarioOf(state), &state); }

// The same with hardly more memory than the largest operation needs: the longest search.
void BM_RewriteTight(benchmark::State& state) {
  RunRewrite(MakeScenario(static_cast<int32_t>(state.range(0)), kTightPart), &state);
}

// As BM_Rewrite from bytes to bytes, as the plugin does it.
void BM_ImportRewriteExport(benchmark::State& state) {
  const Scenario scenario = ScenarioOf(state);
  const std::string bytes = GraphDefBytes(scenario.graph);
  const ImportContext context = ContextOf(scenario.graph);
  Result<std::vector<Report>> reports = Unsupported("not run");
  for (auto _ : state) {
    Result<GraphDefImport> import = ImportGraphDef(bytes, context);
    if (!import.ok()) return state.SkipWithError(import.status().ToString().c_str());
    Graph graph = import->graph;
    reports = Rewrite(scenario.options, "bench", &graph);
    std::string out;
    const Status status = ExportGraphDef(graph, *import, &out);
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    benchmark::DoNotOptimize(out);
  }
  Judge(reports, &state);
}

// Bytes to bytes without any change.
void BM_ImportExport(benchmark::State& state) {
  const Graph graph = ScenarioOf(state).graph;
  const std::string bytes = GraphDefBytes(graph);
  const ImportContext context = ContextOf(graph);
  for (auto _ : state) {
    Result<GraphDefImport> import = ImportGraphDef(bytes, context);
    if (!import.ok()) return state.SkipWithError(import.status().ToString().c_str());
    std::string out;
    const Status status = ExportGraphDef(import->graph, *import, &out);
    if (!status.ok() || out != bytes) return state.SkipWithError("not the bytes that came");
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes.size()) *
                          static_cast<int64_t>(state.iterations()));
}

// Graph -> facts -> problem.
void BM_BuildProblem(benchmark::State& state) {
  const Graph graph = ScenarioOf(state).graph;
  for (auto _ : state) {
    const Result<GraphFacts> facts = FindFacts(graph);
    benchmark::DoNotOptimize(BuildProblem(graph, *facts, 0));
  }
}

// Problem -> plan.
void BM_Plan(benchmark::State& state) {
  const Scenario scenario = ScenarioOf(state);
  const PlannerEntry& planner = PlannerCatalog().front();
  Result<Plan> plan = Unsupported("not run");
  for (auto _ : state) plan = planner.plan(scenario.map.problem, scenario.planner);
  if (!plan.ok()) return state.SkipWithError(plan.status().ToString().c_str());
  if (plan->swaps.empty()) return state.SkipWithError("nothing was swapped");
  state.counters["swaps"] = static_cast<double>(plan->swaps.size());
}

// Three steps of the planned run in the allocator's model, once.
void BM_Replay(benchmark::State& state) {
  const Scenario scenario = ScenarioOf(state);
  const Problem& problem = scenario.map.problem;
  const Result<Plan> plan = PlannerCatalog().front().plan(problem, scenario.planner);
  if (!plan.ok()) return state.SkipWithError(plan.status().ToString().c_str());
  const int64_t capacity = 2 * PlannedMemory(problem, *plan).peak_bytes;
  uint32_t seed = 0;
  for (auto _ : state) {
    const BfcReplayResult result = ReplayBfc(problem, *plan, capacity, 3, seed++);
    if (!result.fits) return state.SkipWithError("the replay ended early");
  }
}

// The check of a plan, which knows no planner.
void BM_CheckPlan(benchmark::State& state) {
  const Scenario scenario = ScenarioOf(state);
  const Problem& problem = scenario.map.problem;
  const Result<Plan> plan = PlannerCatalog().front().plan(problem, scenario.planner);
  for (auto _ : state) {
    if (!CheckPlan(problem, *plan).empty()) return state.SkipWithError("the plan is not legal");
  }
}

// Plan -> rewritten graph, by all rules.
void BM_Rules(benchmark::State& state) {
  const Scenario scenario = ScenarioOf(state);
  const Result<Plan> plan = PlannerCatalog().front().plan(scenario.map.problem, scenario.planner);
  const SwapRequest request =
      RequestFromPlan(scenario.graph, scenario.facts, scenario.map, *plan, scenario.options, 1);
  for (auto _ : state) {
    Graph graph = scenario.graph;
    IncrementalOrder order(graph, plan->order);
    RewriteState rewrite{&graph, &order, scenario.facts.level, &scenario.facts.contexts};
    for (const RuleEntry& rule : RuleCatalog()) {
      const Result<RuleEffect> effect = rule.apply(request, &rewrite);
      if (!effect.ok()) return state.SkipWithError(effect.status().ToString().c_str());
    }
  }
}

void BM_VerifyGraph(benchmark::State& state) {
  const Graph graph = ScenarioOf(state).graph;
  for (auto _ : state) {
    if (!VerifyGraph(graph).ok()) return state.SkipWithError("the graph is not legal");
  }
}

// The laws between a graph and its rewriting.
void BM_VerifyRewrite(benchmark::State& state) {
  const Scenario scenario = ScenarioOf(state);
  Graph after = scenario.graph;
  Judge(Rewrite(scenario.options, "bench", &after), &state);
  for (auto _ : state) {
    if (!VerifyRewrite(scenario.graph, after).ok()) return state.SkipWithError("a law is broken");
  }
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  for (int64_t nodes : {1000, 10000, 50000}) benchmark->Arg(nodes);
  benchmark->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_Rewrite)->Apply(Sizes);
BENCHMARK(BM_RewriteTight)->Apply(Sizes);
BENCHMARK(BM_ImportRewriteExport)->Apply(Sizes);
BENCHMARK(BM_ImportExport)->Apply(Sizes);
BENCHMARK(BM_BuildProblem)->Apply(Sizes);
BENCHMARK(BM_Plan)->Apply(Sizes);
BENCHMARK(BM_Replay)->Apply(Sizes);
BENCHMARK(BM_CheckPlan)->Apply(Sizes);
BENCHMARK(BM_Rules)->Apply(Sizes);
BENCHMARK(BM_VerifyGraph)->Apply(Sizes);
BENCHMARK(BM_VerifyRewrite)->Apply(Sizes);

}  // namespace
}  // namespace tflms

BENCHMARK_MAIN();
