// SPDX-License-Identifier: Apache-2.0
//
// peers_bench: published rules of other tools and our planners on one problem, in one simulator.
//
//   peers_bench [GRAPH.txt | PROBLEM.json] [--machine NAME] [--link GB_PER_S] [--budgets LIST]
//               [--policies LIST | ?] [--order best|given] [--json FILE]
//
// Without a file: a generated training step of 2,000 nodes. Budgets are bytes, or parts of the peak
// without any plan when they end in '%' (default 80%,60%,40%). --link overrides the machine's link,
// both ways; 0 = no limit. Times are simulated; ratios to the step without a limit (T0) are what
// counts. Exits with 1 when a policy gives an illegal plan.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/core/peers/compare.h"
#include "bench/core/peers/problem_file.h"
#include "bench/core/training_graph.h"

namespace tflms {
namespace {

constexpr int32_t kGeneratedNodes = 2000;

struct Flags {
  std::string file, machine = "v100-pcie3", link, json, order = "best";
  std::vector<std::string> budgets = {"80%", "60%", "40%"}, policies = PolicyNames();
};

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> words;
  size_t from = 0;
  for (size_t comma; (comma = text.find(',', from)) != std::string::npos; from = comma + 1) {
    words.push_back(text.substr(from, comma - from));
  }
  words.push_back(text.substr(from));
  return words;
}

Result<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      flags.file = word;
      continue;
    }
    if (i + 1 == argc) return InvalidArgument(word + " needs a value");
    const std::string value = argv[++i];
    if (word == "--machine") {
      flags.machine = value;
    } else if (word == "--link") {
      flags.link = value;
    } else if (word == "--budgets") {
      flags.budgets = Split(value);
    } else if (word == "--policies") {
      flags.policies = Split(value);
    } else if (word == "--order") {
      flags.order = value;
    } else if (word == "--json") {
      flags.json = value;
    } else {
      return InvalidArgument(word + " is no flag");
    }
  }
  return flags;
}

int64_t BudgetBytes(const std::string& text, int64_t peak_bytes) {
  const double number = std::strtod(text.c_str(), nullptr);
  return static_cast<int64_t>(text.ends_with("%") ? number / 100 * static_cast<double>(peak_bytes)
                                                  : number);
}

void Print(const CompareRow& row) {
  if (!row.fault.empty()) {
    std::printf("  %-16s %s\n", row.policy.c_str(), row.fault.c_str());
    return;
  }
  const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  std::printf("  %-16s %-4s %10.1f %11.3f %8.1f %% %9.1f %9.1f %8.1f %% %8.2f\n",
              row.policy.c_str(), row.fits ? "yes" : "no", mib(row.result.peak_bytes),
              static_cast<double>(row.result.time_us) / 1e6, 100 * row.overhead(),
              mib(row.result.out_bytes), mib(row.result.in_bytes),
              100.0 * static_cast<double>(row.recompute_us) / static_cast<double>(row.compute_us),
              row.plan_seconds);
}

nlohmann::json ToJson(const CompareRow& row) {
  return {{"policy", row.policy},
          {"budget_bytes", row.budget_bytes},
          {"fault", row.fault},
          {"fits", row.fits},
          {"peak_bytes", row.result.peak_bytes},
          {"time_us", row.result.time_us},
          {"compute_us", row.compute_us},
          {"recompute_us", row.recompute_us},
          {"out_bytes", row.result.out_bytes},
          {"in_bytes", row.result.in_bytes},
          {"plan_seconds", row.plan_seconds}};
}

Result<PeerInput> ReadInput(const Flags& flags, const MachineProfile& machine) {
  if (!flags.file.empty()) return ReadPeerInput(flags.file, machine);
  return InputFromGraph(TrainingGraph(kGeneratedNodes), machine);
}

// Runs all; the exit status.
Result<int> Run(const Flags& flags) {
  if (flags.policies == std::vector<std::string>{"?"}) {
    for (const std::string& name : PolicyNames()) std::printf("%s\n", name.c_str());
    return 0;
  }
  Result<MachineProfile> machine = FindMachine(flags.machine);
  if (!machine.ok()) return machine.status();
  const Result<PeerInput> input = ReadInput(flags, *machine);
  if (!input.ok()) return input.status();
  const Problem& problem = input->problem;
  PeerOptions options;
  options.machine = {machine->out_bytes_per_us, machine->in_bytes_per_us};
  if (!flags.link.empty()) {
    const double rate = std::strtod(flags.link.c_str(), nullptr) * 1000;
    options.machine = {rate, rate};
  }
  options.order = PeerOrder(problem, flags.order == "best");
  options.layers = input->layers;
  if (options.order.empty()) return InvalidArgument("the ops cannot be ordered");
  const int64_t peak = PlannedMemory(problem, {options.order, false, {}}).peak_bytes;
  nlohmann::json rows = nlohmann::json::array();
  bool faulty = false;
  for (const std::string& budget : flags.budgets) {
    options.budget_bytes = BudgetBytes(budget, peak);
    std::printf("budget %.1f MiB, %.0f %% of the peak without a plan\n",
                static_cast<double>(options.budget_bytes) / (1 << 20),
                100 * static_cast<double>(options.budget_bytes) / static_cast<double>(peak));
    std::printf("  %-16s %-4s %10s %11s %10s %9s %9s %10s %8s\n", "policy", "fits", "peak MiB",
                "time s", "over T0", "out MiB", "in MiB", "recompute", "plan s");
    for (const std::string& policy : flags.policies) {
      const CompareRow row = Compare(problem, options, policy);
      Print(row);
      faulty = faulty || !row.fault.empty();
      rows.push_back(ToJson(row));
    }
  }
  if (!flags.json.empty()) {
    std::ofstream(flags.json) << nlohmann::json{{"peak_bytes", peak}, {"rows", rows}} << "\n";
  }
  return faulty ? 1 : 0;
}

}  // namespace
}  // namespace tflms

int main(int argc, char** argv) {
  const tflms::Result<tflms::Flags> flags = tflms::ParseFlags(argc, argv);
  const tflms::Result<int> status = flags.ok() ? tflms::Run(*flags) : flags.status();
  if (status.ok()) return *status;
  std::fprintf(stderr, "%s\n", status.status().ToString().c_str());
  return 2;
}
