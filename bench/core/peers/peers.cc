// SPDX-License-Identifier: Apache-2.0
//
// The catalog of peers. To add one: write its file, add its line here.

#include "bench/core/peers/peers.h"

#include <array>

namespace tflms {
namespace {

constexpr std::array<PeerEntry, 11> kPeers = {{
    {"keep-all", "nothing leaves, nothing runs twice", &PlanKeepAll},
    {"swap-all", "every gap over 4 ops leaves, back one op ahead", &PlanSwapAll},
    {"belady", "evicts what is needed furthest in the future", &PlanBelady},
    {"tflms-v2", "level thresholds of TFLMS v2, set by its auto-tuner", &PlanTflmsV2},
    {"grappler", "swapping heuristics of Grappler's memory optimizer", &PlanGrappler},
    {"vdnn-all", "offloads the inputs of every layer, prefetches a layer ahead", &PlanVdnnAll},
    {"vdnn-conv", "offloads the inputs of convolutions", &PlanVdnnConv},
    {"capuchin", "swaps by free time, recomputes by bytes per second", &PlanCapuchin},
    {"dtr", "dynamic tensor rematerialization, cost / (bytes x staleness)", &PlanDtr},
    {"chen-sqrt", "checkpoints every sqrt(n)-th op", &PlanChenSqrt},
    {"chen-greedy", "checkpoints by segment bytes, best of a sweep", &PlanChenGreedy},
}};

}  // namespace

std::span<const PeerEntry> PeerCatalog() { return kPeers; }

}  // namespace tflms
