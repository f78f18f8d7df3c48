// SPDX-License-Identifier: Apache-2.0
//
// The option table: one row binds a name to its member of Options, its range and its help.

#include "tflms/options.h"

#include <charconv>
#include <optional>
#include <variant>

#include "src/base/bytes_text.h"
#include "src/cost/machine.h"
#include "src/cost/profile.h"
#include "src/planners/planner.h"
#include "src/rewrite/level_slices.h"
#include "src/rewrite/option_row.h"

namespace tflms {
namespace {

using option_rows::AutoOrPositive;
using option_rows::Choice;
using option_rows::Join;
using option_rows::Number;
using option_rows::Text;
using Row = option_rows::OptionRow;

constexpr double kMaxCount = 1e6;
constexpr double kMaxSize = 1e18;

std::vector<std::string> PlannerNames() {
  std::vector<std::string> names;
  for (const PlannerEntry& entry : PlannerCatalog()) names.emplace_back(entry.name);
  return names;
}

Status CheckHostDevice(const std::string& value) {
  const bool cpu = value.starts_with("CPU:") && value.size() > 4 && value.size() <= 8 &&
                   value.find_first_not_of("0123456789", 4) == std::string::npos;
  if (cpu) return Status();
  return InvalidArgument("expected CPU:NUMBER, such as CPU:0, found `" + value + "`");
}

std::vector<Row> WhereRows() {
  return {
      Text("device_type", &Options::device_type, "a TensorFlow device type",
           "Type of the accelerator whose memory is short. Every device of this type is planned on "
           "its own. Read once, when the plugin registers with TensorFlow."),
      Text("host_device", &Options::host_device, "CPU:NUMBER",
           "Device that keeps the swapped tensors, in the same job and task as the accelerator. "
           "Any but CPU:0 must have an operation of the graph, so that it is sure to exist.",
           CheckHostDevice),
      Number("budget_bytes", &Options::budget_bytes, "bytes", 0, kMaxSize, "0 (not known) .. 1e18",
             "Device memory that one step may use, variables included. Nothing is done as long as "
             "the step fits; 0 means not known: then everything that is far is swapped. Too small "
             "a budget costs copies, too large a one ends in ResourceExhausted."),
      Number(
          "batch_size", &Options::batch_size, "items", 0, kMaxCount, "0 (unknown) .. 1000000",
          "Stands in for the unknown first extent of what a step is fed, and for all that follows "
          "from it. 0: what Keras's data says when fit opens it; elsewhere such tensors stay "
          "unknown: they are reported, never counted and never swapped."),
      Number("safety", &Options::safety, "part", 0.1, 1.0, "0.1 .. 1",
             "Part of the budget that a plan may fill. The rest is for what no plan sees: "
             "workspace, fragmentation, tensors of unknown size. 1 trusts the plan entirely."),
      Number("host_budget_bytes", &Options::host_budget_bytes, "bytes", 0, kMaxSize,
             "0 (no limit) .. 1e18",
             "Host memory that swapped tensors may take, all accelerators together, in equal "
             "parts. When the device budget cannot hold with it either, the graph is left as it "
             "is, and the report names the bytes that would do. Too small a limit brings more "
             "operations that run twice, or no plan; too large a one ends for lack of memory."),
  };
}

std::vector<Row> WhatRows() {
  return {
      Choice("planner", &Options::planner, PlannerNames(), "Who decides what to swap."),
      Number("swapout_threshold", &Options::swapout_threshold, "levels", -1, kMaxCount,
             "-1 (auto), 0 .. 1000000",
             "Swap a tensor when its next use is further than this many levels away. 0 swaps "
             "everything that can be, a large value nothing. Auto takes the largest that fits the "
             "budget."),
      Number("swapin_groupby", &Options::swapin_groupby, "levels", -1, kMaxCount,
             "-1 (auto), 0 .. 1000000",
             "Later uses no further apart than this share one swap-in. 0 brings the tensor back "
             "for every use; a large value keeps it once it is back. Auto is the threshold."),
      AutoOrPositive(Number(
          "swapin_ahead", &Options::swapin_ahead, "levels", -1, kMaxCount,
          "-1 (auto), 1 .. 1000000",
          "Start the copy back this many levels before the use. 1 costs waiting but no memory; "
          "larger values hide the copy and hold the memory longer. Auto takes what fits.")),
      Number("sync_mode", &Options::sync_mode, "", -1, 3, "-1 (auto) | 0 | 1 | 2 | 3",
             "Who waits for copies. 1: an operation waits until a swap-out before it has freed its "
             "memory. 2: the operation before a reader waits until the swap-in has begun. 3: both. "
             "0: nobody, which is faster and may run out of memory. Auto is 1."),
      Number("n_tensors", &Options::n_tensors, "tensors", -1, kMaxCount, "-1 (all), 0 .. 1000000",
             "Swap at most this many tensors, those with the most bytes times distance first."),
      Number("min_swap_bytes", &Options::min_swap_bytes, "bytes", 0, kMaxSize, "0 .. 1e18",
             "Tensors smaller than this stay. Small copies cost more than they free."),
      Choice("swap_branches", &Options::swap_branches, {"yes", "no"},
             "yes: tensors are also swapped between two operations of the part of the step before "
             "the peak, the forward part: long skip connections. no: only what waits across the "
             "peak."),
      Number("branch_threshold", &Options::branch_threshold, "levels", -1, kMaxCount,
             "-1 (as swapout_threshold), 0 .. 1000000",
             "With swap_branches, swap across a skip connection only when it is longer than this."),
      Choice("recompute", &Options::recompute, {"auto", "never"},
             "auto: operations run twice where that costs less than copying what they make. "
             "never: nothing runs twice, tensors are only swapped."),
      Choice("split", &Options::split, {"yes", "no"},
             "yes: an operation that is above the budget by itself, inputs and output together, "
             "runs in pieces along the batch, where that gives the same bits. no: the report names "
             "it. Not used by the command."),
  };
}

// A row of a filter: which = "include" or "exclude", side = "output" or "input".
Row Filter(const std::string& which, const std::string& side, const std::string& kind,
           std::string Options::*member) {
  const std::string acts =
      side == "output" ? "tensors made by operations" : "reading by operations";
  const std::string what = kind == "scopes"  ? "in these scopes"
                           : kind == "types" ? "of these types"
                                             : "whose name fits one of these patterns (* and ?)";
  const std::string then =
      side == "output"
          ? (which == "include" ? "Only these are swapped. " : "These are not swapped. ")
          : (which == "include" ? "Only these wait for a swap-in. "
                                : "For these, tensors stay on the device. ");
  return Text(which + "_" + side + "_" + kind, member, "a list with commas, or empty",
              then + "Names " + acts + " " + what +
                  (which == "include" ? "; the three include lists add up, empty ones take all."
                                      : "; stronger than the include lists."));
}

std::vector<Row> FilterRows() {
  return {
      Filter("include", "output", "scopes", &Options::include_output_scopes),
      Filter("include", "output", "types", &Options::include_output_types),
      Filter("include", "output", "names", &Options::include_output_names),
      Filter("exclude", "output", "scopes", &Options::exclude_output_scopes),
      Filter("exclude", "output", "types", &Options::exclude_output_types),
      Filter("exclude", "output", "names", &Options::exclude_output_names),
      Filter("include", "input", "scopes", &Options::include_input_scopes),
      Filter("include", "input", "types", &Options::include_input_types),
      Filter("include", "input", "names", &Options::include_input_names),
      Filter("exclude", "input", "scopes", &Options::exclude_input_scopes),
      Filter("exclude", "input", "types", &Options::exclude_input_types),
      Filter("exclude", "input", "names", &Options::exclude_input_names),
  };
}

std::vector<Row> WhenRows() {
  return {
      Choice("trigger_strategy", &Options::trigger_strategy,
             {"planned", "direct-order", "chain-rule"},
             "How the operation is found that lets a tensor come back: as the plan says; the "
             "nearest operation the right number of levels away; or one on the path of the "
             "gradients. The last two are those of arXiv 1807.02037."),
      Number("lb", &Options::lb, "levels", 1, kMaxCount, "1 .. 1000000",
             "A trigger lies at least this many levels before the use. Only for direct-order and "
             "chain-rule."),
      Number("ub", &Options::ub, "levels", 1, kMaxCount, "1 .. 1000000",
             "A trigger lies at most this many levels before the use (>= lb)."),
      Choice("pin_order", &Options::pin_order, {"auto", "never"},
             "auto: when a plan needs it, order edges fix the order of the accelerator's "
             "operations, so that the peak holds in every run. never: no such edges; the peak is "
             "then a matter of luck."),
      Text("serialization", &Options::serialization, "slices of levels such as 4:8,20: or empty",
           "Fix the order of the operations on these levels only: from:to, both included, either "
           "may be left out, or one level. Empty: as pin_order says. The predicted peak holds only "
           "where the order is fixed.",
           [](const std::string& value) { return ParseLevelSlices(value).status(); }),
      Number("serialization_bytes", &Options::serialization_bytes, "bytes", 0, kMaxSize,
             "0 (off) .. 1e18",
             "Fix the order on the levels whose operations make more than this many bytes in sum. "
             "Adds to serialization."),
  };
}

std::string MachineNames() {
  std::string names = "auto";
  for (const MachineProfile& machine : MachineCatalog()) names += " | " + machine.name;
  return names + " | a JSON file";
}

Status CheckMachine(const std::string& value) {
  return value == "auto" ? Status() : FindMachine(value).status();
}

Status CheckProfile(const std::string& value) {
  return value.empty() ? Status() : ReadProfile(value).status();
}

std::vector<Row> CostRows() {
  return {
      Text("machine", &Options::machine, MachineNames(),
           "How fast the accelerator and its link are: what a plan's copies and repeated "
           "operations are weighed by. auto: in Python as the driver or the simulated GPU says; "
           "elsewhere every operation counts alike. See costs.md for files.",
           CheckMachine),
      Text("profile", &Options::profile, "a file, or empty",
           "Measured run times of operations, written by tflms.record_profile. They go before what "
           "the machine's figures say, and scale what was not measured.",
           CheckProfile),
      Number("link_out_bytes_per_s", &Options::link_out_bytes_per_s, "bytes", 0, kMaxSize,
             "0 (as the profile or the machine says) .. 1e18",
             "Rate of copies from the device to the host, in bytes per second."),
      Number("link_in_bytes_per_s", &Options::link_in_bytes_per_s, "bytes", 0, kMaxSize,
             "0 (as the profile or the machine says) .. 1e18",
             "Rate of copies from the host to the device, in bytes per second."),
      Number("conv_workspace_bytes", &Options::conv_workspace_bytes, "bytes", 0, kMaxSize,
             "0 .. 1e18",
             "Scratch that each convolution is taken to hold while it runs, at most what "
             "TF_CUDNN_WORKSPACE_LIMIT_IN_MB allows. Only with a machine whose libraries take "
             "some, not on the simulated one."),
      Choice(
          "feedback", &Options::feedback, {"yes", "no"},
          "yes: what copies and operations of rewritten graphs really took corrects the costs of "
          "graphs that are traced later, by factors from 0.1 to 10. Measured on simulated GPUs "
          "only. Rates of the link that are set above are never corrected."),
  };
}

std::vector<Row> ToolRows() {
  return {
      Choice("log_level", &Options::log_level, {"silent", "warning", "info", "debug"},
             "What goes to stderr. info is one line for each graph."),
      Number("time_limit_ms", &Options::time_limit_ms, "ms", 1, 1e9, "1 .. 1000000000",
             "Time for one graph. When it runs out, the best plan so far is used."),
      Text("dump_dir", &Options::dump_dir, "a folder, or empty",
           "Writes each graph before and after, and its report, into this folder."),
      Text("plan", &Options::plan, "a plan file, or empty",
           "Uses a plan of this file for each graph that it fits; others are planned anew, and the "
           "report says why. As tflms.save_plan() and `tflms plan -o` write it."),
      Text("cache_dir", &Options::cache_dir, "auto | off | a folder",
           "Where plans are kept for the next process that asks for the same ones. auto: "
           "tflms/plans under $XDG_CACHE_HOME or ~/.cache. Not used by the command."),
  };
}

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (auto part : {WhereRows(), WhatRows(), FilterRows(), WhenRows(), CostRows(), ToolRows()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

const Row* FindRow(std::string_view name) {
  for (const Row& row : Rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string NumberText(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

std::string ValueText(const Options& options, const Row& row) {
  if (const auto* member = std::get_if<int64_t Options::*>(&row.member)) {
    return std::to_string(options.**member);
  }
  if (const auto* member = std::get_if<double Options::*>(&row.member)) {
    return NumberText(options.**member);
  }
  return options.*std::get<std::string Options::*>(row.member);
}

Status BadValue(const Row& row, std::string_view value) {
  return InvalidArgument("option " + row.name + ": expected " + row.range + ", found `" +
                         std::string(value) + "`");
}

template <typename T>
bool Parse(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && at == end;
}

Status SetNumber(const Row& row, std::string_view value, Options* options) {
  if (const auto* member = std::get_if<int64_t Options::*>(&row.member)) {
    int64_t number = 0;
    if (row.unit == "bytes") {
      const std::optional<int64_t> bytes = ParseBytes(value);
      if (!bytes) return BadValue(row, value);
      number = *bytes;
    } else if (!Parse(value, &number)) {
      return BadValue(row, value);
    }
    if (number == 0 && !row.zero) return BadValue(row, value);
    const double as_double = static_cast<double>(number);
    if (as_double < row.low || as_double > row.high) return BadValue(row, value);
    options->** member = number;
    return Status();
  }
  double number = 0;
  if (!Parse(value, &number) || !(number >= row.low && number <= row.high)) {
    return BadValue(row, value);
  }
  options->*std::get<double Options::*>(row.member) = number;
  return Status();
}

std::string EnvironmentName(const std::string& option) {
  std::string name = "TFLMS_";
  for (char c : option) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

}  // namespace

const std::vector<OptionInfo>& OptionTable() {
  static const std::vector<OptionInfo> table = [] {
    std::vector<OptionInfo> all;
    const Options defaults;
    for (const Row& row : Rows()) {
      const char* type = std::holds_alternative<int64_t Options::*>(row.member)  ? "int"
                         : std::holds_alternative<double Options::*>(row.member) ? "float"
                                                                                 : "string";
      all.push_back({row.name, type, row.unit, ValueText(defaults, row), row.range, row.help});
    }
    return all;
  }();
  return table;
}

Status SetOption(std::string_view name, std::string_view value, Options* options) {
  const Row* row = FindRow(name);
  if (!row) {
    std::vector<std::string> names;
    for (const Row& known : Rows()) names.push_back(known.name);
    return InvalidArgument("option `" + std::string(name) + "` is not known; the options are " +
                           Join(names, ", "));
  }
  const auto* text = std::get_if<std::string Options::*>(&row->member);
  if (!text) return SetNumber(*row, value, options);
  bool allowed = row->choices.empty();
  for (const std::string& choice : row->choices) allowed = allowed || choice == value;
  if (!allowed) return BadValue(*row, value);
  if (row->check) {
    const Status fault = row->check(std::string(value));
    if (!fault.ok()) return InvalidArgument("option " + row->name + ": " + fault.message());
  }
  options->** text = std::string(value);
  return Status();
}

std::string GetOption(const Options& options, std::string_view name) {
  const Row* row = FindRow(name);
  return row ? ValueText(options, *row) : "";
}

Status SetOptionsFromEnvironment(
    const std::vector<std::pair<std::string, std::string>>& environment, Options* options) {
  Options changed = *options;
  for (const auto& [variable, value] : environment) {
    for (const Row& row : Rows()) {
      if (variable != EnvironmentName(row.name) || value.empty()) continue;
      const Status status = SetOption(row.name, value, &changed);
      if (!status.ok()) return InvalidArgument(variable + ": " + status.message());
    }
  }
  *options = changed;
  return Status();
}

Status CheckOptions(const Options& options) {
  if (options.lb <= options.ub) return Status();
  return InvalidArgument(
      "options lb and ub: expected lb <= ub, found lb = " + std::to_string(options.lb) +
      ", ub = " + std::to_string(options.ub) + "; set both");
}

}  // namespace tflms
