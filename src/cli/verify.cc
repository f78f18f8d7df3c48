// SPDX-License-Identifier: Apache-2.0
//
// tflms verify: the laws between two files, graph by graph.
//
// What the laws of src/graph/laws.h cannot see is compared byte for byte: attributes of nodes, and
// all of the file that is no node.

#include <algorithm>

#include "src/cli/command.h"
#include "src/cli/table.h"
#include "src/graph/laws.h"
#include "src/graph/verifier.h"

namespace tflms::cli {
namespace {

// The graph without handles of one file, so that two files can be compared.
Graph Comparable(Graph graph) {
  for (Node& node : graph.nodes) node.cookie = -1;
  return graph;
}

Status VerifyUnit(const Unit& before, const Unit& after) {
  const Status well_formed = VerifyGraph(before.graph);
  if (!well_formed.ok()) return LawBroken("original: " + well_formed.message());
  TFLMS_RETURN_IF_ERROR(VerifyRewrite(Comparable(before.graph), Comparable(after.graph)));
  return CompareNodeBytes(before, after);
}

Status VerifyFrame(const GraphFile& before, const GraphFile& after) {
  if (before.kind != after.kind) {
    return LawBroken(std::string("L3 the original is a ") + FileKindName(before.kind) +
                     ", the rewritten file a " + FileKindName(after.kind));
  }
  if (Frame(before) == Frame(after)) return Status();
  return LawBroken("L3 something in the file that is no node of a graph was changed");
}

// Counts of what was added, for the reader to see that something was checked.
std::string Added(const Graph& after) {
  int64_t nodes = 0, edges = 0;
  for (const Node& node : after.nodes) {
    nodes += node.role != NodeRole::kOriginal;
    edges += node.role == NodeRole::kOriginal ? node.added_controls : 0;
  }
  return Count(nodes, "node") + " and " + Count(edges, "order edge") + " added";
}

Attempt<Answer> Run(const Arguments& arguments) {
  Attempt<GraphFile> before = Open(arguments, arguments.graph);
  if (!before.ok()) return before.failure();
  Attempt<GraphFile> after = Open(arguments, arguments.other);
  if (!after.ok()) return after.failure();
  Answer answer;
  answer.json = {{"original", before->path}, {"rewritten", after->path}};
  answer.json["broken"] = Json::array();
  const auto note = [&](const std::string& name, const Status& status, const std::string& fine) {
    answer.text += name + ": " + (status.ok() ? fine : status.ToString()) + "\n";
    if (status.ok()) return;
    answer.exit = kNotSatisfied;
    answer.json["broken"].push_back({{"graph", name}, {"law", status.message()}});
  };
  for (const Unit& unit : before->units) {
    const auto other = std::find_if(after->units.begin(), after->units.end(),
                                    [&](const Unit& u) { return u.name == unit.name; });
    if (other == after->units.end()) {
      note(unit.name, LawBroken("L3 the graph is gone"), "");
    } else {
      note(unit.name, VerifyUnit(unit, *other), "the laws hold; " + Added(other->graph));
    }
  }
  if (arguments.part.empty()) note("rest of the file", VerifyFrame(*before, *after), "the same");
  answer.json["holds"] = answer.exit == kFine;
  return answer;
}

}  // namespace

Command VerifyCommand() {
  return {
      "verify",
      "Checks that a rewritten graph computes what the original does",
      "Laws: L0 well-formed, L3 nothing else touched, L4 acyclic, L5 once is enough, L6 without\n"
      "what was added it is the original. The Python package's `tflms verify --run` also runs\n"
      "both and compares the results. Exit status 1 when a law is broken.\n"
      "Example: tflms verify step.pb step.after.pb",
      {{"ORIGINAL", &Arguments::graph, "", "The graph as it came", true},
       {"REWRITTEN", &Arguments::other, "", "The graph rewritten", true}},
      &Run};
}

}  // namespace tflms::cli
