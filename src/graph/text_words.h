// SPDX-License-Identifier: Apache-2.0
//
// The words of the text form, shared by its parser and its printer so that they cannot drift apart.

#ifndef TFLMS_GRAPH_TEXT_WORDS_H_
#define TFLMS_GRAPH_TEXT_WORDS_H_

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/graph.h"

namespace tflms {

struct FlagWord {
  NodeFlag flag;
  std::string_view word;
};

// One word for each flag, in the order of the bits.
inline constexpr std::array<FlagWord, 18> kFlagWords = {{
    {kParameterised, "param"},
    {kSideEffect, "effect"},
    {kRandom, "random"},
    {kSource, "source"},
    {kCall, "call"},
    {kCompiled, "compiled"},
    {kSwitch, "switch"},
    {kMerge, "merge"},
    {kEnter, "enter"},
    {kExit, "exit"},
    {kNextIteration, "next-iteration"},
    {kLoopCond, "loop-cond"},
    {kCollective, "collective"},
    {kPreserved, "preserved"},
    {kPinnedOutside, "pinned-outside"},
    {kPicksInput, "picks-input"},
    {kRepeatable, "repeatable"},
    {kBatchwise, "batchwise"},
}};

struct KindWord {
  DeviceKind kind;
  std::string_view word;
};
inline constexpr std::array<KindWord, 3> kKindWords = {{
    {DeviceKind::kAccelerator, "accelerator"},
    {DeviceKind::kHost, "host"},
    {DeviceKind::kOther, "other"},
}};

struct RoleWord {
  NodeRole role;
  std::string_view word;
};
inline constexpr std::array<RoleWord, 4> kRoleWords = {{
    {NodeRole::kSwapOut, "swap-out"},
    {NodeRole::kSwapIn, "swap-in"},
    {NodeRole::kRecompute, "recompute"},
    {NodeRole::kSplit, "split"},
}};

// A number of a node with the word that sets it and the value it has when the word is left out.
struct NumberWord {
  std::string_view word;
  int64_t Node::*field;
  int64_t left_out;
};
inline constexpr std::array<NumberWord, 4> kNumberWords = {{
    {"state", &Node::state_bytes, 0},
    {"ws", &Node::workspace_bytes, 0},
    {"t", &Node::time_us, 1},
    {"pieces", &Node::pieces, 1},
}};

// The words of a table with commas between them, for messages.
template <typename Table>
std::string ListOfWords(const Table& table) {
  std::string out;
  for (const auto& row : table) out += (out.empty() ? "" : ", ") + std::string(row.word);
  return out;
}

// The device of a node without "@": the first accelerator, else the first device, else none.
DeviceId DefaultDevice(const std::vector<Device>& devices);

}  // namespace tflms

#endif  // TFLMS_GRAPH_TEXT_WORDS_H_
