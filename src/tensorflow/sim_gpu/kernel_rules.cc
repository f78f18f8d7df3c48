// SPDX-License-Identifier: Apache-2.0
//
// See kernel_rules.h. All tables are sorted; a look-up is a binary search.
#include "kernel_rules.h"

#include <algorithm>
#include <array>

namespace tflms::sim_gpu {
namespace {

template <size_t n>
constexpr bool IsSorted(const std::array<std::string_view, n>& names) {
  for (size_t i = 1; i < n; ++i) {
    if (!(names[i - 1] < names[i])) return false;
  }
  return true;
}

template <size_t n>
bool Contains(const std::array<std::string_view, n>& sorted, std::string_view key) {
  return std::binary_search(sorted.begin(), sorted.end(), key);
}

constexpr std::array<std::string_view, 39> kHostInputs = {
    "alg",
    "algorithm",
    "axis",
    "begin",
    "block_shape",
    "concat_dim",
    "crop_size",
    "crops",
    "delta",
    "depth",
    "dim",
    "dimension",
    "dims",
    "end",
    "fft_length",
    "filter_sizes",
    "image_size",
    "input_sizes",
    "k",
    "multiples",
    "num_cols",
    "num_lower",
    "num_rows",
    "num_samples",
    "num_segments",
    "num_upper",
    "orig_input_shape",
    "output_shape",
    "paddings",
    "perm",
    "reduction_indices",
    "seed",
    "seq_len_max",
    "shape",
    "shift",
    "size",
    "size_splits",
    "split_dim",
    "strides",
};

constexpr std::array<std::string_view, 15> kHostWhenInt32 = {
    "BroadcastTo", "Concat", "ConcatV2",  "Fill",  "Max",          "Min", "Pad",       "PadV2",
    "Prod",        "Range",  "ReverseV2", "Slice", "StridedSlice", "Sum", "Transpose",
};

constexpr std::array<std::string_view, 9> kTemporaryOutputs = {
    "All", "Any", "Einsum", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum",
};

// Parts of names of operations over files, tables, queues and Python, all of them the host's.
constexpr std::array<std::string_view, 12> kHostOpParts = {
    "Barrier", "Dataset", "HashTable", "Iterator", "LookupTable", "MutableDense",
    "PyFunc",  "Queue",   "Reader",    "Summary",  "__Mkl",       "_Mkl",
};

static_assert(IsSorted(kHostInputs) && IsSorted(kHostWhenInt32) && IsSorted(kTemporaryOutputs));

}  // namespace

bool StaysOnCpu(std::string_view op) {
  return std::any_of(kHostOpParts.begin(), kHostOpParts.end(), [op](std::string_view part) {
    return op.find(part) != std::string_view::npos;
  });
}

bool IsHostInput(std::string_view input) { return Contains(kHostInputs, input); }

bool IsHostWhenInt32(std::string_view op) { return Contains(kHostWhenInt32, op); }

bool BuildsOutputsAsTemporaries(std::string_view op) { return Contains(kTemporaryOutputs, op); }

}  // namespace tflms::sim_gpu
