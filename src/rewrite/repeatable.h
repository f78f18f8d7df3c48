// SPDX-License-Identifier: Apache-2.0
//
// Which operations may run a second time, and which tensors may therefore be made again.
//
//   repeatable(v)     v may run again by its kind (flag kRepeatable, none of kRunsOnceFlags) and
//                     takes order edges; every tensor it reads is there later, and is the same
//                     then; the size of every tensor it makes is known
//   recomputable(b)   b's producer is repeatable and its tensors may leave (filters), nothing
//                     writes b in place, all its readers take order edges, and every alias of b
//                     that has readers is repeatable, so that it can be made of b's second copy
//
// A tensor is there later when the problem knows its memory (a problem buffer made in the root
// frame), or when it takes none of the device's: persistent, in host memory, empty, or a few bytes
// from another device. A tensor that comes from another device is a copy that no plan sees: to keep
// it for a second run would cost memory that nobody counts.
//
// A sum that starts from the input it may overwrite (kPicksInput) counts that input's readers. A
// second run adds a reader to what its source reads, and takes readers from what its source makes:
// no operation is repeatable that reads a tensor such a sum reads, and no tensor is recomputable
// that one reads. Persistent tensors always have another owner, so their sums never change.
// Cost: O(V + E).

#ifndef TFLMS_REWRITE_REPEATABLE_H_
#define TFLMS_REWRITE_REPEATABLE_H_

#include <vector>

#include "src/graph/graph.h"
#include "src/rewrite/filters.h"
#include "src/rewrite/problem_builder.h"
#include "src/sim/problem.h"

namespace tflms {

// Fills ProblemOp::repeatable and ProblemBuffer::recomputable of map->problem, whose other fields
// are there. `problem_buffer`: by graph buffer, -1 = none.
void MarkRepeatable(const Graph& graph, const GraphFacts& facts, const Filters& filters,
                    const std::vector<BufferId>& problem_buffer, ProblemMap* map);

}  // namespace tflms

#endif  // TFLMS_REWRITE_REPEATABLE_H_
