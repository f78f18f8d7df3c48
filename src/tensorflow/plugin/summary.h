// SPDX-License-Identifier: Apache-2.0
//
// A report as one log line.

#ifndef TFLMS_TENSORFLOW_PLUGIN_SUMMARY_H_
#define TFLMS_TENSORFLOW_PLUGIN_SUMMARY_H_

#include <string>

#include "src/tensorflow/plugin/log.h"
#include "tflms/report.h"

namespace tflms {

// "graph 3: 123 tensors (4.5 GiB) swapped, predicted peak 6.1 GiB -> 3.9 GiB of 4.0 GiB budget".
std::string SummaryLine(const Report& report);

// Level at which the line is shown: warning when tflms gave up on the graph; info when it changed
// the graph or the graph is large enough to be a training step; else debug.
LogLevel SummaryLevel(const Report& report);

}  // namespace tflms

#endif  // TFLMS_TENSORFLOW_PLUGIN_SUMMARY_H_
