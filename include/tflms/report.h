// SPDX-License-Identifier: Apache-2.0
//
// What tflms did to one graph, and why: the answer to "is it on, and what did it do?".

#ifndef TFLMS_REPORT_H_
#define TFLMS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tflms/corrections.h"

namespace tflms {

enum class Outcome {
  kRewritten,      // swaps or order edges were added
  kNotNeeded,      // the graph's peak stays under the budget as it is
  kNothingToSwap,  // no tensor qualifies; `reason` and `skipped` say why
  kAlreadyDone,    // the graph carries tflms nodes: it has been here before
  // The graph as it came: something is not understood, or budgets cannot hold; `reason` says what.
  kDeclined,
};

// "rewritten", "not-needed", "nothing-to-swap", "already-done", "declined".
const char* OutcomeName(Outcome outcome);

// Tensors that were not swapped, counted by reason.
struct SkipCount {
  std::string reason;  // "too-small", "unknown-size", "host-memory", "persistent", "in-loop", ...
  int64_t tensors = 0;
  int64_t bytes = 0;  // of those whose size is known
};

struct RuleCount {
  std::string rule;
  int64_t changes = 0;
  int64_t refused = 0;
};

// Predicted memory at one operation of the planned order.
struct TimelinePoint {
  std::string node;
  int64_t waiting_bytes = 0;    // on the device just before it starts
  int64_t running_bytes = 0;    // on the device while it runs
  int64_t unswapped_bytes = 0;  // on the device while it runs, in the same order without swaps
  int64_t host_bytes = 0;       // of swapped tensors on the host
};

// One stay of a tensor on the host. Operations are given by their place in the timeline, -1 = none.
struct SwapRecord {
  std::string tensor;  // "node:output"
  int64_t size_bytes = 0;
  int32_t leave_after = -1;  // its last access before
  int32_t sync = -1;         // waits until the copy out has freed the memory
  int32_t trigger = -1;      // its end starts the copy back
  int32_t back_for = -1;     // its first access after
};

// How the accelerators' operations of the graph got their run times. All 0 when the graph's own
// count.
struct CostCounts {
  int64_t measured = 0;  // by name, from the profile
  int64_t by_shape = 0;  // from the profile, by operation and shapes
  int64_t by_formula =
      0;  // from shapes and the machine's figures; operations that take no time too
  int64_t by_default = 0;  // operations or shapes that no formula knows
  double scale = 1;        // on formulas, from the profile
  std::string defaulted;   // types of those by default: "Foo (3), Bar (1)"
};

// One operation that runs a second time.
struct RecomputeRecord {
  std::string node;                  // the added one
  std::vector<std::string> tensors;  // "node:output", what it makes again that is read
  int64_t size_bytes = 0;            // of those
  int64_t time_us = 0;               // of the operation
  int32_t at = -1;                   // its place in the timeline
};

struct Report {
  std::string graph;  // name or number of the graph: function name, "main", ...
  Outcome outcome = Outcome::kDeclined;
  std::string reason;  // one sentence
  std::string device;  // the planned accelerator, in full
  std::string planner;
  std::string plan_source;   // "planner", "cache", "file"; "" when no plan was made
  std::string plan_refused;  // why the plan file that was given is not used
  int64_t nodes = 0;         // before
  int64_t nodes_added = 0;
  int64_t control_edges_added = 0;
  int64_t budget_bytes = 0;  // 0 = not known
  int64_t persistent_bytes = 0;
  int64_t peak_bytes_before = 0;  // predicted, in the order planned for the graph as it came
  int64_t peak_bytes_after = 0;   // predicted
  // Predicted peak of the allocator's own count: with rounding and with chunks larger than asked
  // for. 0 when no plan was made; the budget when the replay found no room.
  int64_t allocator_peak_bytes = 0;
  // The same when copies take next to no time; the truth lies between the two.
  int64_t allocator_peak_fast_bytes = 0;
  int64_t floor_bytes = 0;  // persistent + largest working set: no swapping goes below
  std::string floor_node;   // the node with that working set
  // Bounds, docs/bounds.md; 0 when no plan was made.
  int64_t order_bound_bytes = 0;  // no order that keeps all tensors on the device goes below
  int64_t time_bound_us = 0;      // no plan in this order that keeps to the budget is faster
  int64_t host_peak_bytes = 0;    // predicted
  int64_t host_budget_bytes = 0;  // of this accelerator; 0 = no limit
  // When the two budgets cannot both hold: the least found on the device within the host's, and the
  // bytes on the host of the plan that keeps to the device's. Else 0.
  int64_t device_needed_bytes = 0;
  int64_t host_needed_bytes = 0;
  int64_t swapped_tensors = 0;
  int64_t swap_out_bytes = 0;  // per run of the graph
  int64_t swap_in_bytes = 0;
  int64_t recomputed_tensors = 0;
  int64_t recompute_bytes = 0;  // made again, per run of the graph
  int64_t recompute_time_us = 0;
  int64_t split_operations = 0;  // run in pieces, since alone they are above the budget
  int64_t unknown_size_tensors = 0;
  int64_t compiled_nodes = 0;  // in parts a compiler takes over: out of reach
  bool order_pinned = false;
  std::string machine;     // whose figures were used; "" = every operation counts alike
  int64_t compute_us = 0;  // sum of the run times of the device's operations
  CostCounts costs;
  Corrections corrections;  // by feedback, within the figures above and below
  int64_t step_us = 0;   // predicted time of a run of the rewritten graph, one operation at a time
  int64_t stall_us = 0;  // the part of it in which operations wait for copies
  int64_t time_us = 0;   // spent on this graph
  std::vector<SkipCount> skipped;  // by reason, largest first
  std::vector<RuleCount> rules;    // in running order
  std::vector<std::string> notes;  // further sentences for the user
  // The plan, when the graph was rewritten.
  std::vector<TimelinePoint> timeline;  // in the planned order, on-device operations only
  std::vector<SwapRecord> swaps;
  std::vector<RecomputeRecord> recomputes;
  std::string plan_file;  // the plan as a JSON object of a plan file (docs/plan-files.md)
};

// The report for people: several lines of text.
std::string FormatReport(const Report& report);
// The report as one JSON object, keys as the fields above, without the plan.
std::string ReportToJson(const Report& report);
// The plan as one JSON object: graph, device, budget_bytes, persistent_bytes, timeline, swaps,
// recomputes.
std::string PlanToJson(const Report& report);

}  // namespace tflms

#endif  // TFLMS_REPORT_H_
