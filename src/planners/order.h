// SPDX-License-Identifier: Apache-2.0
//
// Orders of execution for a problem. All of them are topological and keep groups together; none is
// best for every graph, so planners make them all and keep the one that simulates best.
//
//   ready-first     first made ready, first run: what a runtime without order edges tends to do
//   depth-first     last made ready, first run, but cheap leaves (ops with a short way to the end
//                   of the graph, such as a weight's gradient and its update) at once
//   greedy-bytes    among the ready ops, the one with the greatest (bytes freed - bytes made);
//                   ties go to the one made ready last
//
// Cost of each: O((ops + edges + accesses) log ops).

#ifndef TFLMS_PLANNERS_ORDER_H_
#define TFLMS_PLANNERS_ORDER_H_

#include <string_view>
#include <vector>

#include "src/sim/problem.h"

namespace tflms {

enum class OrderPolicy : uint8_t { kReadyFirst, kDepthFirst, kGreedyBytes };
inline constexpr OrderPolicy kOrderPolicies[] = {OrderPolicy::kReadyFirst, OrderPolicy::kDepthFirst,
                                                 OrderPolicy::kGreedyBytes};

std::string_view OrderPolicyName(OrderPolicy policy);

// An order of all ops of `problem` by `policy`; empty when the problem's edges have a cycle.
std::vector<OpId> MakeOrder(const Problem& problem, OrderPolicy policy);

}  // namespace tflms

#endif  // TFLMS_PLANNERS_ORDER_H_
