// SPDX-License-Identifier: Apache-2.0
//
// Memory that an op's outputs may share with its inputs, counted from above: what a bound may leave
// out without asking which takeovers a plan really has.

#ifndef TFLMS_SIM_SHARING_H_
#define TFLMS_SIM_SHARING_H_

#include <algorithm>
#include <functional>
#include <vector>

#include "src/base/checked_math.h"
#include "src/sim/problem.h"

namespace tflms {

// By op: the buffers it makes.
inline std::vector<std::vector<BufferId>> BuffersByProducer(const Problem& problem) {
  std::vector<std::vector<BufferId>> made(problem.ops.size());
  for (size_t id = 0; id < problem.buffers.size(); ++id) {
    made[static_cast<size_t>(problem.buffers[id].producer)].push_back(static_cast<BufferId>(id));
  }
  return made;
}

// At most how many bytes of `made`, all outputs of one op, lie in memory of that op's inputs. A
// giver is taken once and by a buffer of its size, so of each size at most the smaller number of
// takers and givers counts. `may_give(giver, taker)` rules pairs out.
inline int64_t SharedAtMost(const Problem& problem, const std::vector<BufferId>& made,
                            const std::function<bool(BufferId, BufferId)>& may_give) {
  const auto buffer = [&](BufferId id) -> const ProblemBuffer& {
    return problem.buffers[static_cast<size_t>(id)];
  };
  std::vector<int64_t> takers;   // sizes
  std::vector<BufferId> givers;  // without duplicates
  for (BufferId taker : made) {
    bool any = false;
    for (BufferId giver : buffer(taker).may_reuse) {
      const std::vector<OpId>& uses = buffer(giver).uses;
      if (buffer(giver).size_bytes != buffer(taker).size_bytes || !may_give(giver, taker) ||
          !std::binary_search(uses.begin(), uses.end(), buffer(taker).producer)) {
        continue;
      }
      any = true;
      if (std::find(givers.begin(), givers.end(), giver) == givers.end()) givers.push_back(giver);
    }
    if (any) takers.push_back(buffer(taker).size_bytes);
  }
  int64_t shared = 0;
  for (int64_t size_bytes : takers) {
    const auto giver = std::find_if(givers.begin(), givers.end(), [&](BufferId id) {
      return buffer(id).size_bytes == size_bytes;
    });
    if (giver == givers.end()) continue;
    givers.erase(giver);
    shared = SaturatingAdd(shared, size_bytes);
  }
  return shared;
}

}  // namespace tflms

#endif  // TFLMS_SIM_SHARING_H_
