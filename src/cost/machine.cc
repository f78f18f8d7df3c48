// SPDX-License-Identifier: Apache-2.0
//
// The catalog of machines.
//
// Sources. Peaks and memory rates: the makers' public data sheets (NVIDIA V100, A100, H100, T4,
// GH200 data sheets; the Ampere GA102 and Ada AD102 white papers). Links: what large pinned copies
// reach in one direction, PCIe 3.0 x16 12 of 15.8 GB/s, PCIe 4.0 x16 25 of 31.5, PCIe 5.0 x16 50
// of 63, NVLink 2 (three bricks, POWER9) 66 of 75, NVLink-C2C 400 of 450. Sustained compute: about
// 70 % of the peak of plain 32-bit units, 40 to 45 % of that of matrix units (TF32 on Ampere and
// later, 16 bits), 85 % of the memory's rate: what convolution nets reach in public training
// benchmarks. Launch: the gap between two small kernels of one TensorFlow stream.

#include "src/cost/machine.h"

#include <array>

#include "src/cost/input_file.h"

namespace tflms {
namespace {

constexpr double kMillion = 1e6;   // 1 TFLOP/s is 1e6 operations a microsecond
constexpr double kThousand = 1e3;  // 1 GB/s is 1e3 bytes a microsecond
constexpr int64_t kGb = 1'000'000'000;

MachineProfile Gpu(const char* name, const char* summary, double tflops, double half_tflops,
                   double memory_gb_per_s, double link_gb_per_s, int64_t memory_gb) {
  return {.name = name,
          .summary = summary,
          .flops_per_us = tflops * kMillion,
          .half_flops_per_us = half_tflops * kMillion,
          .memory_bytes_per_us = memory_gb_per_s * kThousand,
          .launch_us = 5,
          .out_bytes_per_us = link_gb_per_s * kThousand,
          .in_bytes_per_us = link_gb_per_s * kThousand,
          .memory_bytes = memory_gb * kGb};
}

// A pair of server CPU cores running TensorFlow's kernels, 32-bit floats. Measured with
// tflms.record_profile on ResNet-50 at 64x64 pixels and on a small net with larger images:
// convolutions 80 to 130 GFLOP/s forward, 20 to 80 for their gradients; element-wise operations 9
// to 30 GB/s, by how much of it the caches hold; the smallest 1 to 3 us. 16-bit floats are
// converted on the way (estimate). The link is given by whoever starts the simulated GPU.
MachineProfile SimulatedMachine() {
  return {.name = "simulated",
          .summary = "the simulated GPU on two CPU cores; link as it was started with",
          .flops_per_us = 40e3,
          .half_flops_per_us = 12e3,
          .memory_bytes_per_us = 15e3,
          .launch_us = 3,
          .out_bytes_per_us = 0,
          .in_bytes_per_us = 0,
          .memory_bytes = 0,
          .library_workspace = false};
}

}  // namespace

std::span<const MachineProfile> MachineCatalog() {
  static const std::array<MachineProfile, 10> catalog = {
      Gpu("neutral", "a middle-aged data-centre GPU on PCIe, for cards that are not listed", 20, 60,
          900, 18, 0),
      Gpu("v100-pcie3", "V100 16 GB, PCIe 3.0 x16", 10, 45, 760, 12, 16),
      Gpu("v100-nvlink2", "V100 16 GB, NVLink 2 to the host (POWER9)", 10.5, 50, 760, 66, 16),
      Gpu("a100-pcie4", "A100 40 GB, PCIe 4.0 x16", 62, 130, 1320, 25, 40),
      Gpu("h100-pcie5", "H100 80 GB, PCIe 5.0 x16", 150, 310, 1700, 50, 80),
      Gpu("t4", "T4 16 GB, PCIe 3.0 x16", 4.5, 25, 270, 12, 16),
      Gpu("rtx3090", "GeForce RTX 3090 24 GB, PCIe 4.0 x16", 22, 35, 800, 25, 24),
      Gpu("rtx4090", "GeForce RTX 4090 24 GB, PCIe 4.0 x16", 50, 80, 860, 25, 24),
      Gpu("gh200", "GH200 96 GB, NVLink-C2C to the host", 200, 420, 3400, 400, 96),
      SimulatedMachine(),
  };
  return catalog;
}

Result<MachineProfile> FindMachine(std::string_view name_or_path) {
  std::string names;
  for (const MachineProfile& machine : MachineCatalog()) {
    if (machine.name == name_or_path) return machine;
    names += (names.empty() ? "" : ", ") + machine.name;
  }
  const std::string path(name_or_path);
  if (path.find('/') == std::string::npos && !path.ends_with(".json")) {
    return InvalidArgument("machine `" + path + "` is not known; expected one of " + names +
                           ", or the path of a JSON file (with a / or ending in .json)");
  }
  TFLMS_ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path, kMaxMachineFileBytes));
  Result<MachineProfile> machine = ParseMachine(text);
  if (!machine.ok()) return InvalidArgument(path + ": " + machine.status().message());
  return machine;
}

Machine LinkOf(const MachineProfile& machine) {
  return {machine.out_bytes_per_us, machine.in_bytes_per_us};
}

}  // namespace tflms
