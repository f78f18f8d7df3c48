// SPDX-License-Identifier: Apache-2.0
//
// The text command explain: what else could be done with a tensor.

#include "src/planners/order.h"
#include "src/rewrite/explain.h"
#include "src/rewrite/problem_builder.h"
#include "tests/core/text_commands.h"

namespace tflms {
namespace {

std::string FiguresText(const PlanFigures& figures) {
  return " peak=" + std::to_string(figures.peak_bytes) +
         " time=" + std::to_string(figures.time_us) + " stall=" + std::to_string(figures.stall_us);
}

}  // namespace

Result<Lines> ExplainCommand(const Graph& graph, RunArgs* args, TextState* state) {
  TFLMS_ASSIGN_OR_RETURN(const DeviceId accelerator, AcceleratorOf(graph));
  TFLMS_ASSIGN_OR_RETURN(const GraphFacts facts, FindFacts(graph));
  const ProblemMap map = BuildProblem(graph, facts, accelerator);
  TFLMS_ASSIGN_OR_RETURN(const NodeId node, NodeNamed(graph, args->Take("tensor")));
  TFLMS_ASSIGN_OR_RETURN(const int64_t budget, args->TakeNumber("budget", 0));
  TFLMS_ASSIGN_OR_RETURN(const int64_t rate, args->TakeNumber("rate", 0));
  const Plan plain{MakeOrder(map.problem, OrderPolicy::kReadyFirst), true, {}};
  const Plan plan = state->plan.value_or(plain);
  const auto link = static_cast<double>(rate);
  for (size_t id = 0; id < map.graph_buffer.size(); ++id) {
    const Buffer& buffer = facts.buffers.buffers[static_cast<size_t>(map.graph_buffer[id])];
    if (buffer.node != node) continue;
    const TensorExplanation told =
        ExplainTensor(map.problem, plan, static_cast<BufferId>(id), {link, link}, budget);
    Lines lines = {std::string(FateName(told.fate)) + FiguresText(told.now)};
    for (const Alternative& choice : told.others) {
      lines.push_back(std::string("if ") + FateName(choice.fate) +
                      (choice.possible
                           ? FiguresText(choice.figures) + (choice.fits ? "" : " over the budget")
                           : ": " + choice.why_not));
    }
    return lines;
  }
  return InvalidArgument("the tensor does not count");
}

}  // namespace tflms
