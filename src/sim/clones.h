// SPDX-License-Identifier: Apache-2.0
//
// Plans that recompute, as plans that do not: the problem in which every clone is an op of its own.
//
//   clone i of op v      op n + i, where n = ops.size(): like v, not of any group
//   what it makes        for each buffer of v one more buffer, numbered from buffers.size() on by
//                        (clone, buffer of v); its uses are the readers that clone_reads names
//   what it reads        every buffer v reads, as made by the first run, or by the clone that
//                        clone_reads names for it
//   order                behind all ops that v comes behind, and before the writers of state that v
//                        reads
//
// Everything that takes a problem and a plan (the simulator, the memory view, the replay of the
// allocator) is handed the expanded problem. Cost: O(problem + clones * edges of their sources).

#ifndef TFLMS_SIM_CLONES_H_
#define TFLMS_SIM_CLONES_H_

#include <string>
#include <vector>

#include "src/sim/problem.h"

namespace tflms {

struct Expansion {
  Problem problem;
  std::vector<BufferId> original;  // by expanded buffer: the buffer it is or is made again of
  std::vector<int32_t> clone;  // by expanded buffer: the clone that makes it, -1 for the first run
};

// The clones and clone_reads of `plan` must pass CheckClones; its order and swaps are not looked
// at.
Expansion Expand(const Problem& problem, const Plan& plan);

// The laws clone-legal and clone-read of CheckPlan; "" when they hold.
std::string CheckClones(const Problem& problem, const Plan& plan);

}  // namespace tflms

#endif  // TFLMS_SIM_CLONES_H_
