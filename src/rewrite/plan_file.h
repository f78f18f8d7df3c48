// SPDX-License-Identifier: Apache-2.0
//
// Plans as files. A plan in a file speaks of operations and tensors by name, so that it can be
// read, edited, and used for the same graph in another process. docs/plan-files.md describes the
// format:
//
//   {"format": 1, "tflms": version, "plans": [
//     {"fingerprint": hex, "graph", "device", "budget_bytes", "options": {name: value},
//      "predicted": {"peak_bytes", "time_us", "stall_us"},
//      "pin_order": bool, "order": [op, ...], "clones": [node, ...],
//      "tensors": [["node:port", bytes], ...],
//      "swaps": [{"tensor", "clone"?, "leave_after": op, "sync": op or null, "trigger": op,
//                 "back_for": op}, ...],
//      "clone_reads": [{"tensor", "reader": op, "clone": number}, ...]}]}
//
//   op = "node"               a node on the accelerator
//      | {"host": "node"}     any other node; only in "order"
//      | {"clone": number}    a clone, by its place in "clones"
//
// Other keys are left to other readers. A file is checked in itself when it is read, whatever it
// holds, and a plan again when it is put to a graph. Cost: O(bytes of the file, log).

#ifndef TFLMS_REWRITE_PLAN_FILE_H_
#define TFLMS_REWRITE_PLAN_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tflms/status.h"

namespace tflms {

inline constexpr int64_t kPlanFileFormat = 1;
inline constexpr size_t kMaxPlanFileBytes = size_t{64} << 20;

// A node by name, or a clone by number.
struct NamedOp {
  std::string node;    // "" for a clone
  int32_t clone = -1;  // >= 0 for a clone
  bool host = false;   // not on the accelerator
  friend bool operator==(const NamedOp&, const NamedOp&) = default;
};

struct NamedGap {
  std::string tensor;  // "node:port", as the first run makes it
  int32_t clone = -1;  // >= 0: as this clone makes it again
  NamedOp leave_after, trigger, back_for;
  std::optional<NamedOp> sync;
  friend bool operator==(const NamedGap&, const NamedGap&) = default;
};

struct NamedRead {
  std::string tensor;
  NamedOp reader;
  int32_t clone = -1;
  friend bool operator==(const NamedRead&, const NamedRead&) = default;
};

// One plan of one graph and accelerator, by names.
struct NamedPlan {
  std::string fingerprint;  // of the graph, see plan_key.h
  std::string graph;        // the name it had
  std::string device;       // the accelerator, in full
  int64_t budget_bytes = 0;
  std::vector<std::pair<std::string, std::string>> options;  // that shaped it
  int64_t predicted_peak_bytes = 0;
  int64_t predicted_time_us = 0;
  int64_t predicted_stall_us = 0;
  bool pin_order = false;
  std::vector<NamedOp> order;
  std::vector<std::string> clones;                       // the nodes that run again
  std::vector<std::pair<std::string, int64_t>> tensors;  // all that counted, with their sizes
  std::vector<NamedGap> swaps;
  std::vector<NamedRead> clone_reads;
  friend bool operator==(const NamedPlan&, const NamedPlan&) = default;
};

// One plan as a JSON object, and a file of plans from such objects.
std::string PlanToFileJson(const NamedPlan& plan);
std::string PlanFileOf(const std::vector<std::string>& plans);

// The plans in the text of a file. Errors say where, what was expected and what was found.
Result<std::vector<NamedPlan>> ParsePlanFile(std::string_view text);

// The same of a file at `path`; errors begin with the path.
Result<std::vector<NamedPlan>> ReadPlanFile(const std::string& path);

}  // namespace tflms

#endif  // TFLMS_REWRITE_PLAN_FILE_H_
