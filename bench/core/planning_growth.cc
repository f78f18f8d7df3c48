// SPDX-License-Identifier: Apache-2.0
//
// planning_growth: how time and memory of rewriting grow with the graph.
//
//   planning_growth [--nodes LIST] [--long] [--planner NAME] [--part PART]
//
// One line of JSON for each number of nodes (default 1000,3000,10000,30000; --long adds 100000):
//
//   nodes        of the training step that came out of the generator
//   seconds      of the whole pipeline, graph -> problem -> plan -> rules -> verify -> report
//   grown_bytes  most resident memory while it ran, less that just before it
//   budget_bytes, peak_bytes_before, peak_bytes_after, swapped, recomputed, fits: the report's
//
// The budget is floor + (peak - floor) x PART (default 0.4, scenario.h). Free memory of the heap is
// given back to the system before each run, so that what the generator used is not taken for the
// pipeline's. Needs Linux (/proc/self). Exits with 1 when a graph is not rewritten or nothing is
// swapped. Cost: that of Rewrite.

#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/scenario.h"
#include "tflms/rewrite.h"

namespace tflms {
namespace {

struct Flags {
  std::vector<int32_t> nodes = {1000, 3000, 10000, 30000};
  std::string planner;  // "" = the default one
  double part = kRoomyPart;
};

Result<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--long") {
      flags.nodes.push_back(100000);
      continue;
    }
    if (i + 1 == argc) return InvalidArgument(std::string(word) + " is no flag or needs a value");
    const std::string value = argv[++i];
    if (word == "--planner") {
      flags.planner = value;
    } else if (word == "--part") {
      flags.part = std::strtod(value.c_str(), nullptr);
    } else if (word == "--nodes") {
      flags.nodes.clear();
      std::istringstream list(value);
      for (std::string item; std::getline(list, item, ',');) flags.nodes.push_back(std::stoi(item));
    } else {
      return InvalidArgument(std::string(word) + " is no flag");
    }
  }
  return flags;
}

// A line of /proc/self/status, such as "VmRSS", in bytes; 0 where there is none.
int64_t StatusBytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    return std::strtoll(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
  }
  return 0;
}

// Sets the peak of resident memory back to what is resident now. Bytes resident.
int64_t ResetPeak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
  return StatusBytes("VmRSS");
}

// Rewrites one training step and prints its line.
Status Measure(const Flags& flags, int32_t nodes) {
  Scenario scenario = MakeScenario(nodes, flags.part);
  if (!flags.planner.empty()) scenario.options.planner = flags.planner;
  Graph graph = scenario.graph;
  const int64_t before_bytes = ResetPeak();
  const auto began = std::chrono::steady_clock::now();
  const Result<std::vector<Report>> reports = Rewrite(scenario.options, "bench", &graph);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  const int64_t grown_bytes = StatusBytes("VmHWM") - before_bytes;
  if (!reports.ok()) return reports.status();
  const Report& report = reports->front();
  if (report.swapped_tensors == 0) return InvalidArgument("nothing was swapped: " + report.reason);
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  std::printf(
      "{\"nodes\": %lld, \"seconds\": %.3f, \"grown_bytes\": %lld, \"budget_bytes\": %lld, "
      "\"peak_bytes_before\": %lld, \"peak_bytes_after\": %lld, \"swapped\": %lld, "
      "\"recomputed\": %lld, \"fits\": %s}\n",
      number(report.nodes), seconds.count(), number(grown_bytes), number(report.budget_bytes),
      number(report.peak_bytes_before), number(report.peak_bytes_after),
      number(report.swapped_tensors), number(report.recomputed_tensors),
      report.peak_bytes_after <= report.budget_bytes ? "true" : "false");
  std::fflush(stdout);
  return Status();
}

}  // namespace
}  // namespace tflms

int main(int argc, char** argv) {
  const tflms::Result<tflms::Flags> flags = tflms::ParseFlags(argc, argv);
  if (!flags.ok()) {
    std::fprintf(stderr, "%s\n", flags.status().ToString().c_str());
    return 2;
  }
  for (int32_t nodes : flags->nodes) {
    const tflms::Status status = tflms::Measure(*flags, nodes);
    if (status.ok()) continue;
    std::fprintf(stderr, "%d nodes: %s\n", nodes, status.ToString().c_str());
    return 1;
  }
  return 0;
}
