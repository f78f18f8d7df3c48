// SPDX-License-Identifier: Apache-2.0
//
// See splitting.h.

#include "src/rewrite/splitting.h"

#include <algorithm>
#include <utility>

#include "src/base/bytes_text.h"
#include "src/base/checked_math.h"
#include "src/rewrite/problem_builder.h"
#include "src/sim/bounds.h"

namespace tflms {
namespace {

// The fewest pieces that keep to `room_bytes`; 0 when none do.
int64_t FewestPieces(const SplitCandidate& candidate, int64_t room_bytes) {
  for (int64_t pieces = 2; pieces <= std::min(kMostPieces, candidate.rows); ++pieces) {
    if (candidate.rows % pieces == 0 && SplitNeed(candidate, pieces) <= room_bytes) return pieces;
  }
  return 0;
}

std::string Sentence(const std::string& node, int64_t need_bytes, const std::string& why) {
  return node + " needs " + FormatBytes(need_bytes) +
         ", variables included, and cannot be split: " + why;
}

}  // namespace

Result<Splitting> SplitWhereNeeded(DeviceId accelerator, int64_t budget_bytes,
                                   const Filters& filters, const SplitLink& link, Graph* graph) {
  Splitting splitting;
  if (budget_bytes <= 0) return splitting;
  Graph work = *graph;
  for (int round = 0; round <= kMostSplitOperations; ++round) {
    TFLMS_ASSIGN_OR_RETURN(const GraphFacts facts, FindFacts(work));
    const ProblemMap map = BuildProblem(work, facts, accelerator, filters);
    const Floor floor = WorkingSetFloor(map.problem);
    if (floor.bytes <= budget_bytes || floor.op == kNoOp) {
      if (round > 0) *graph = std::move(work);
      return splitting;
    }
    SplitCandidate candidate;
    const std::string name = work.node(floor.op).name;
    std::string why = WhyNotSplit(work, facts.contexts, facts.buffers, floor.op, &candidate);
    int64_t pieces = 0;
    if (why.empty()) {
      pieces = FewestPieces(candidate, budget_bytes - map.problem.persistent_bytes);
      if (pieces == 0) why = "no number of pieces makes it small enough";
    }
    if (why.empty() && round == kMostSplitOperations) why = "too many others are split already";
    if (!why.empty()) {
      splitting.done.clear();
      splitting.why_not = Sentence(name, floor.bytes, why);
      return splitting;
    }
    SplitNode(candidate, pieces, link, &work);
    splitting.done.push_back({name, pieces, floor.bytes});
  }
  return splitting;
}

}  // namespace tflms
