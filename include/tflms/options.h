// SPDX-License-Identifier: Apache-2.0
//
// Every option of tflms in one struct, and the one table that describes them.
//
// The table (OptionTable) gives each option its name, unit, range, default and what either end
// does. The command line (--swapout-threshold=8), the environment (TFLMS_SWAPOUT_THRESHOLD=8),
// Python (tflms.enable(swapout_threshold=8)) and the docs page are all made from it. Order of
// precedence, strongest first: Python or command line, environment, default.

#ifndef TFLMS_OPTIONS_H_
#define TFLMS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tflms/status.h"

namespace tflms {

// Most users set budget_bytes or nothing. -1 means "auto" wherever it is allowed.
struct Options {
  // Where.
  std::string device_type = "GPU";    // accelerator type, as in "/device:GPU:0"
  std::string host_device = "CPU:0";  // device of the swapped tensors, same job and task

  // How much.
  int64_t budget_bytes = 0;       // device memory a step may use; 0 = not known
  int64_t batch_size = 0;         // fills unknown first extents; 0 = leave them unknown
  double safety = 0.95;           // part of the budget that plans may fill
  int64_t host_budget_bytes = 0;  // host memory for swapped tensors; 0 = no limit

  // What to swap.
  std::string planner = "joint";
  int64_t swapout_threshold = -1;
  int64_t swapin_groupby = -1;
  int64_t swapin_ahead = -1;
  int64_t sync_mode = -1;
  int64_t n_tensors = -1;
  int64_t min_swap_bytes = 65536;
  std::string swap_branches = "yes";
  int64_t branch_threshold = -1;
  std::string recompute = "auto";
  std::string split = "no";

  // Which tensors may be swapped, by the operations that make (output) and read (input) them: lists
  // with commas. Empty include lists take everything.
  std::string include_output_scopes;
  std::string include_output_types;
  std::string include_output_names;
  std::string exclude_output_scopes;
  std::string exclude_output_types;
  std::string exclude_output_names;
  std::string include_input_scopes;
  std::string include_input_types;
  std::string include_input_names;
  std::string exclude_input_scopes;
  std::string exclude_input_types;
  std::string exclude_input_names;

  // When it comes back, and in which order things run.
  std::string trigger_strategy = "planned";
  int64_t lb = 1;
  int64_t ub = 10000;
  std::string pin_order = "auto";
  std::string serialization;
  int64_t serialization_bytes = 0;

  // What things cost.
  std::string machine = "auto";      // catalog name or JSON file; "auto" = as Python finds it
  std::string profile;               // measured times, from tflms.record_profile
  int64_t link_out_bytes_per_s = 0;  // 0 = as the profile or the machine says
  int64_t link_in_bytes_per_s = 0;
  int64_t conv_workspace_bytes = 0;
  std::string feedback = "yes";  // what runs took corrects the costs of graphs yet to come

  // The tool itself.
  std::string log_level = "info";
  int64_t time_limit_ms = 20000;
  std::string dump_dir;
  std::string plan;                // a plan file to use where it fits
  std::string cache_dir = "auto";  // of plans; "off" = none
};

// One row of the table.
struct OptionInfo {
  std::string name;           // "swapout_threshold"
  std::string type;           // "int", "float" or "string"
  std::string unit;           // "bytes", "levels", "ms", ... or ""
  std::string default_value;  // as text
  std::string range;          // "-1 (auto), 1 .. 1000000" or "planned | direct-order | chain-rule"
  std::string help;           // what it does, and what either end does
};

// All options in the order of the struct.
const std::vector<OptionInfo>& OptionTable();

// Sets one option from text; rows of unit "bytes" also take units, "360 MiB" (see ParseBytes).
// Unknown names and values out of range are errors that list what is allowed; `options` is then
// unchanged.
Status SetOption(std::string_view name, std::string_view value, Options* options);

// The option's present value as text, "" when the name is unknown.
std::string GetOption(const Options& options, std::string_view name);

// Options from the environment: every TFLMS_<NAME> that names an option and is not empty. Other
// TFLMS_ variables are left alone. `environment` is a list of (name, value).
Status SetOptionsFromEnvironment(
    const std::vector<std::pair<std::string, std::string>>& environment, Options* options);

// What no option can tell on its own, once all are set: lb <= ub.
Status CheckOptions(const Options& options);

}  // namespace tflms

#endif  // TFLMS_OPTIONS_H_
