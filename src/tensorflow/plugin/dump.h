// SPDX-License-Identifier: Apache-2.0
//
// Option dump_dir: every graph before and after, and its reports, as files.

#ifndef TFLMS_TENSORFLOW_PLUGIN_DUMP_H_
#define TFLMS_TENSORFLOW_PLUGIN_DUMP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "src/tensorflow/plugin/optimize.h"
#include "tflms/status.h"

namespace tflms {

// Writes <dir>/tflms-<process>-<number>.before.pb. The folder is made when it is not there.
Status DumpInput(const std::string& dir, int64_t number, std::string_view before);

// Writes beside it, unless empty: .before.txt (text form, with the sizes and placements the planner
// saw) and .after.pb; and .report.json and .plan.json, lists of the reports and of their plans.
Status DumpResult(const std::string& dir, int64_t number, const OptimizedGraph& result);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_DUMP_H_
