// SPDX-License-Identifier: Apache-2.0
//
// Machines: the catalog, machine files, and each error of a file.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "src/cost/input_file.h"
#include "src/cost/machine.h"

namespace tflms {
namespace {

std::string Fault(const std::string& json) {
  const Result<MachineProfile> machine = ParseMachine(json);
  return machine.ok() ? "ok" : machine.status().message();
}

// A file in the test's own folder, with this text.
std::string FileWith(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(CostMachine, TheCatalogIsSane) {
  std::set<std::string> names;
  for (const MachineProfile& machine : MachineCatalog()) {
    EXPECT_TRUE(names.insert(machine.name).second) << machine.name;
    EXPECT_FALSE(machine.summary.empty());
    EXPECT_GT(machine.flops_per_us, 0);
    EXPECT_GT(machine.half_flops_per_us, 0);
    EXPECT_GT(machine.memory_bytes_per_us, 0);
    EXPECT_GE(machine.out_bytes_per_us, 0);
    const Result<MachineProfile> found = FindMachine(machine.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->flops_per_us, machine.flops_per_us);
  }
  for (const char* name : {"neutral", "v100-pcie3", "v100-nvlink2", "a100-pcie4", "h100-pcie5",
                           "t4", "rtx3090", "rtx4090", "gh200", "simulated"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_FALSE(FindMachine("simulated")->library_workspace);
  EXPECT_EQ(LinkOf(*FindMachine("v100-pcie3")).out_bytes_per_us, 12000);
}

TEST(CostMachine, AnUnknownNameListsTheMachines) {
  const Status status = FindMachine("v100").status();
  EXPECT_NE(status.message().find("`v100` is not known"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("v100-pcie3, v100-nvlink2"), std::string::npos);
}

TEST(CostMachine, AFileChangesWhatItNames) {
  const Result<MachineProfile> machine = ParseMachine(
      R"({"base": "a100-pcie4", "name": "ours", "out_bytes_per_us": 11000, "memory_bytes": 2e9})");
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  const MachineProfile base = *FindMachine("a100-pcie4");
  EXPECT_EQ(machine->name, "ours");
  EXPECT_EQ(machine->out_bytes_per_us, 11000);
  EXPECT_EQ(machine->in_bytes_per_us, base.in_bytes_per_us);
  EXPECT_EQ(machine->flops_per_us, base.flops_per_us);
  EXPECT_EQ(machine->memory_bytes, 2'000'000'000);
}

TEST(CostMachine, WithoutABaseTheRatesAreNeeded) {
  EXPECT_EQ(Fault("{}"), "key `flops_per_us` is missing; without `base` it is needed");
  EXPECT_EQ(Fault(R"({"flops_per_us": 5})"),
            "key `memory_bytes_per_us` is missing; without `base` it is needed");
  const auto machine = ParseMachine(R"({"flops_per_us": 5, "memory_bytes_per_us": 7})");
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->half_flops_per_us, 5);
  EXPECT_EQ(machine->out_bytes_per_us, 0);
}

TEST(CostMachine, EveryFaultNamesItsKeyAndWhatIsExpected) {
  const std::string kRates = R"({"flops_per_us": 5, "memory_bytes_per_us": 7, )";
  const std::pair<std::string, std::string> kCases[] = {
      {R"("flops": 1})", "key `flops` is not known; expected base, name, summary, flops_per_us"},
      {R"("launch_us": -1})", "key `launch_us`: expected a number from 0 to 1e+06, found `-1`"},
      {R"("launch_us": "5"})", "key `launch_us`: expected a number from 0 to 1e+06, found `\"5\"`"},
      {R"("launch_us": null})", "key `launch_us`: expected a number"},
      {R"("half_flops_per_us": 0})", "key `half_flops_per_us`: expected a number from 1 to 1e+12"},
      {R"("half_flops_per_us": 1e13})", "key `half_flops_per_us`: expected a number from 1"},
      {R"("out_bytes_per_us": -2})", "key `out_bytes_per_us`: expected a number from 0 to 1e+12"},
      {R"("in_bytes_per_us": [1]})", "key `in_bytes_per_us`: expected a number from 0 to 1e+12"},
      {R"("memory_bytes": 1e19})", "key `memory_bytes`: expected a number from 0 to 1e+18"},
      {R"("name": 3})", "key `name`: expected a text of at most 1000 bytes, found `3`"},
      {R"("summary": {}})", "key `summary`: expected a text of at most 1000 bytes, found `{}`"},
      {R"("base": "v100"})", "key `base`: expected one of neutral, v100-pcie3"},
      {R"("base": 1})", "key `base`: expected one of neutral"},
  };
  for (const auto& [rest, message] : kCases) {
    const std::string fault = Fault(kRates + rest);
    EXPECT_TRUE(fault.starts_with(message)) << rest << ": " << fault;
  }
  EXPECT_TRUE(
      Fault(R"({"flops_per_us": 0.5, "memory_bytes_per_us": 7})").starts_with("key `flops"));
  EXPECT_EQ(Fault("[]"), "expected a JSON object, found array");
  EXPECT_TRUE(
      Fault("{\"name\": }").starts_with("expected a JSON object; it is not JSON from byte"));
}

TEST(CostMachine, AFileCutShortAnywhereIsAnError) {
  const std::string text = R"({"base": "t4", "name": "cut", "launch_us": 3.5})";
  ASSERT_TRUE(ParseMachine(text).ok());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseMachine(text.substr(0, size)).ok()) << size;
  }
}

TEST(CostMachine, FilesThatAreNoneAreNamed) {
  const auto message = [](const std::string& path) { return FindMachine(path).status().message(); };
  EXPECT_EQ(message("no/such.json"), "no/such.json: there is no such file");
  EXPECT_EQ(message("/tmp"), "/tmp: expected a file, found a folder, device or pipe");
  EXPECT_EQ(message("/dev/null"), "/dev/null: expected a file, found a folder, device or pipe");
  const std::string path = FileWith("machine.json", R"({"base": "t4", "launch": 3})");
  EXPECT_TRUE(message(path).starts_with(path + ": key `launch` is not known")) << message(path);
  FileWith("machine.json", R"({"base": "t4", "launch_us": 3})");
  ASSERT_TRUE(FindMachine(path).ok());
  EXPECT_EQ(FindMachine(path)->launch_us, 3);
  FileWith("machine.json", std::string(kMaxMachineFileBytes + 1, ' '));
  EXPECT_EQ(message(path), path + ": expected at most 1048576 bytes, found more");
  std::remove(path.c_str());
}

TEST(CostMachine, AFileOfExactlyTheLimitIsRead) {
  const std::string path = FileWith("limit.txt", "12345");
  EXPECT_EQ(*ReadInputFile(path, 5), "12345");
  EXPECT_FALSE(ReadInputFile(path, 4).ok());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tflms
