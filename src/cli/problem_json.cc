// SPDX-License-Identifier: Apache-2.0
//
// Problems as JSON. See problem_json.h. O(ops + accesses).

#include "src/cli/problem_json.h"

#include <string>
#include <vector>

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

}  // namespace

Json ProblemJson(const std::string& graph, const PlannedGraph& graphs, const Planned& planned) {
  const Problem& problem = planned.map.problem;
  Json json = {{"graph", graph},
               {"device", graphs.before.devices[Index(planned.device)].name},
               {"persistent_bytes", problem.persistent_bytes},
               {"ops", Json::array()},
               {"buffers", Json::array()},
               {"order", Json::array()}};
  std::vector<int64_t> listed(problem.ops.size(), -1);  // by op: its index in `ops`
  for (size_t id = 0; id < problem.ops.size(); ++id) {
    const ProblemOp& op = problem.ops[id];
    if (!op.on_device) continue;
    listed[id] = static_cast<int64_t>(json["ops"].size());
    json["ops"].push_back({{"name", graphs.before.nodes[id].name},
                           {"time_us", op.time_us},
                           {"workspace_bytes", op.workspace_bytes},
                           {"on_device", op.on_device},
                           {"repeatable", op.repeatable}});
  }
  const auto list = [&](const std::vector<OpId>& ops) {
    Json out = Json::array();
    for (OpId op : ops) {
      const bool first_run = Index(op) < listed.size();  // not a clone
      if (first_run && listed[Index(op)] >= 0) out.push_back(listed[Index(op)]);
    }
    return out;
  };
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    const ProblemBuffer& buffer = problem.buffers[id];
    const Buffer& tensor = graphs.facts.buffers.buffers[Index(planned.map.graph_buffer[id])];
    json["buffers"].push_back(
        {{"tensor", graphs.before.node(tensor.node).name + ":" + std::to_string(tensor.port)},
         {"size_bytes", buffer.size_bytes},
         {"producer", listed[Index(buffer.producer)]},
         {"uses", list(buffer.uses)},
         {"live_at_end", buffer.live_at_end},
         {"swappable", buffer.swappable},
         {"recomputable", buffer.recomputable},
         {"holds", list(buffer.holds)},
         {"may_reuse", buffer.may_reuse}});
  }
  json["order"] = list(planned.plan.order);
  return json;
}

}  // namespace tflms::cli
