// SPDX-License-Identifier: Apache-2.0
//
// For tests of plans in files: a small training step, its problem and its plan.

#ifndef TFLMS_TESTS_CORE_PLAN_FILE_HELPERS_H_
#define TFLMS_TESTS_CORE_PLAN_FILE_HELPERS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/graph/text.h"
#include "src/rewrite/named_plan.h"
#include "src/rewrite/plan_file.h"
#include "src/rewrite/planner_options.h"

namespace tflms {

// A graph with its facts and the problem of its first accelerator.
struct PlanCase {
  Graph graph;
  GraphFacts facts;
  ProblemMap map;
  PlanSubject subject() const { return {graph, facts, map, 0}; }
};

inline PlanCase CaseOf(Graph graph, const Options& options = {}) {
  PlanCase out;
  out.graph = std::move(graph);
  Result<GraphFacts> facts = FindFacts(out.graph);
  EXPECT_TRUE(facts.ok()) << facts.status().message();
  if (facts.ok()) out.facts = std::move(*facts);
  out.map = BuildProblem(out.graph, out.facts, 0, FiltersFrom(options));
  return out;
}

// Six layers forward, six backward; each backward step reads its layer's result.
inline std::string NetworkText() {
  std::string text = "x = Source : f32[262144] source t=0\n";
  std::string last = "x";
  for (int i = 0; i < 6; ++i) {
    const std::string name = "f" + std::to_string(i);
    text += name + " = Layer(" + last + ") : f32[262144] t=5\n";
    last = name;
  }
  for (int i = 5; i >= 0; --i) {
    const std::string name = "b" + std::to_string(i);
    text += name + " = Grad(" + last + ", f" + std::to_string(i) + ") : f32[262144] t=5\n";
    last = name;
  }
  return text;
}

inline Graph Network(const std::string& was = "", const std::string& is = "") {
  std::string text = NetworkText();
  if (!was.empty()) {
    const size_t at = text.find(was);
    EXPECT_NE(at, std::string::npos) << was;
    text.replace(at, was.size(), is);
  }
  Result<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *graph : Graph();
}

inline Options Budget() {
  Options options;
  options.budget_bytes = 6 << 20;
  return options;
}

inline Plan PlanOf(const PlanCase& c, const Options& options) {
  const Result<Plan> plan =
      PlannerCatalog()[0].plan(c.map.problem, PlannerOptionsOf(options, Machine()));
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *plan : Plan();
}

inline NamedPlan NetworkPlan() {
  const PlanCase c = CaseOf(Network());
  const Plan plan = PlanOf(c, Budget());
  EXPECT_FALSE(plan.swaps.empty());
  return NamePlan(c.subject(), plan, "g", Budget(), Machine());
}

inline std::string FileText(const NamedPlan& plan) { return PlanFileOf({PlanToFileJson(plan)}); }

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_PLAN_FILE_HELPERS_H_
