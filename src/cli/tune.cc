// SPDX-License-Identifier: Apache-2.0
//
// tflms tune: does the graph need swapping, can it fit, and how?

#include <algorithm>

#include "src/base/bytes_text.h"
#include "src/cli/command.h"
#include "src/cli/plan_text.h"
#include "src/cli/swap_list.h"
#include "src/cli/table.h"

namespace tflms::cli {
namespace {

size_t Index(int32_t id) { return static_cast<size_t>(id); }

// What a plan comes to in the options of the planner.
struct Settings {
  int32_t shortest = 0;  // distance of the shortest swap
  int32_t ahead_low = 0, ahead_high = 0;
  bool sync = false;
};

Settings SettingsOf(const std::vector<NamedSwap>& swaps) {
  Settings settings;
  for (size_t i = 0; i < swaps.size(); ++i) {
    const NamedSwap& swap = swaps[i];
    settings.shortest = i == 0 ? swap.distance : std::min(settings.shortest, swap.distance);
    settings.ahead_low = i == 0 ? swap.ahead : std::min(settings.ahead_low, swap.ahead);
    settings.ahead_high = std::max(settings.ahead_high, swap.ahead);
    settings.sync = settings.sync || !swap.sync.empty();
  }
  return settings;
}

void DescribeSettings(const PlannedGraph& graphs, const Planned& planned, const Options& options,
                      Answer* answer, Json* json) {
  const std::vector<NamedSwap> swaps = ListSwaps(graphs, planned);
  const Settings found = SettingsOf(swaps);
  answer->text += "  fits with these settings\n";
  answer->text += FormatLine("--budget-bytes", std::to_string(options.budget_bytes));
  answer->text += FormatLine("--safety", GetOption(options, "safety"));
  answer->text += FormatLine("--planner", options.planner);
  answer->text += FormatLine("order pinned", planned.plan.pin_order ? "yes" : "no");
  answer->text += FormatLine("swaps", Count(static_cast<int64_t>(swaps.size()), "swap"));
  if (!swaps.empty()) {
    answer->text += FormatLine("shortest way", std::to_string(found.shortest) + " steps");
    answer->text +=
        FormatLine("back ahead of use", std::to_string(found.ahead_low) + " to " +
                                            std::to_string(found.ahead_high) + " steps");
    answer->text += FormatLine("waits for copies out", found.sync ? "yes" : "no");
  }
  (*json)["settings"] = {{"budget_bytes", options.budget_bytes},
                         {"safety", options.safety},
                         {"planner", options.planner},
                         {"order_pinned", planned.plan.pin_order},
                         {"swaps", swaps.size()},
                         {"shortest_distance", found.shortest},
                         {"ahead_from", found.ahead_low},
                         {"ahead_to", found.ahead_high},
                         {"waits_for_swap_outs", found.sync}};
}

void DescribeDevice(const PlannedGraph& graphs, const Planned& planned, const Options& options,
                    Answer* answer, Json* json) {
  const Verdict verdict = Judge(planned, options.budget_bytes);
  const std::string device = graphs.before.devices[Index(planned.device)].name;
  const std::string floor_node =
      planned.floor.op == kNoOp ? "" : graphs.before.node(planned.floor.op).name;
  answer->text += FormatLine("device", device);
  *json = {{"device", device},
           {"verdict", VerdictName(verdict)},
           {"peak_bytes_before", planned.memory_as_it_came.peak_bytes},
           {"peak_bytes_after", planned.memory.peak_bytes},
           {"floor_bytes", planned.floor.bytes},
           {"floor_node", floor_node},
           {"unknown_size_tensors", planned.map.unknown_size_tensors}};
  const std::string floor =
      FormatBytes(planned.floor.bytes) + (floor_node.empty() ? "" : " at " + floor_node);
  switch (verdict) {
    case Verdict::kNotNeeded:
      answer->text += "  not needed: everything fits " + FormatBytes(options.budget_bytes) + "\n";
      break;
    case Verdict::kFits:
      DescribeSettings(graphs, planned, options, answer, json);
      break;
    case Verdict::kCannotFit:
      answer->text += "  cannot fit: floor is " + floor + "\n";
      break;
    case Verdict::kUnknown:
      answer->text += "  cannot be told: some sizes are unknown; give --batch-size\n";
      break;
    case Verdict::kDeclined:
      answer->text += "  left alone: " + planned.report.reason + "\n";
      break;
    default:
      answer->text += "  no plan found that fits\n" +
                      FormatLine("best peak", FormatBytes(planned.memory.peak_bytes)) +
                      FormatLine("floor", floor);
  }
  if (planned.map.unknown_size_tensors > 0) {
    answer->text += FormatLine("note", Count(planned.map.unknown_size_tensors, "tensor") +
                                           " of unknown size are not counted");
  }
  if (IsBad(verdict) || verdict == Verdict::kUnknown) answer->exit = kNotSatisfied;
}

Attempt<Answer> Run(const Arguments& arguments) {
  if (arguments.options.budget_bytes == 0) {
    return Failure{kUsage, "tune: expected a budget, as in --budget-bytes 4GiB"};
  }
  return DescribeDevices(arguments, &DescribeDevice);
}

}  // namespace

Command TuneCommand() {
  return {"tune",
          "Searches for settings that fit a budget: not needed, fits, or cannot fit",
          "Exit status 1 when it cannot fit, no plan that fits was found, or it cannot be told.\n"
          "Example: tflms tune step.pb --budget-bytes 360MiB",
          {GraphArgument()},
          &Run};
}

}  // namespace tflms::cli
