// SPDX-License-Identifier: Apache-2.0
//
// The catalog of planners. To add one: write its file, add its line here.

#include "src/planners/planner.h"

#include <array>

#include "src/planners/joint.h"
#include "src/planners/level_distance.h"

namespace tflms {
namespace {

constexpr std::array<PlannerEntry, 2> kPlanners = {{
    {"joint", "swaps and recomputations chosen together by the time they add, the order pinned",
     &PlanJoint},
    {"level-distance",
     "swap what is far in levels, bring it back a set number of levels ahead, pin the order",
     &PlanLevelDistance},
}};

}  // namespace

std::span<const PlannerEntry> PlannerCatalog() { return kPlanners; }

const PlannerEntry* FindPlanner(std::string_view name) {
  for (const PlannerEntry& entry : kPlanners) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace tflms
