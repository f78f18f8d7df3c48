// SPDX-License-Identifier: Apache-2.0
//
// Seeded random problems for property tests of simulator and planners.

#ifndef TFLMS_TESTS_CORE_RANDOM_PROBLEM_H_
#define TFLMS_TESTS_CORE_RANDOM_PROBLEM_H_

#include <cstdint>

#include "src/sim/problem.h"

namespace tflms {

// A problem of `ops` ops on the device, each making one buffer of 1 .. 9 bytes and reading up to
// three earlier ones, with some ops off the device between them. The same seed gives the same
// problem.
Problem RandomProblem(uint32_t seed, int ops);

// A problem in the shape of a training step: a chain of `layers` forward ops, then a chain of
// backward ops that read the forward outputs in reverse, each with a leaf (the weight's gradient).
Problem TrainingProblem(int layers, int64_t activation_bytes, int64_t gradient_bytes);

}  // namespace tflms

#endif  // TFLMS_TESTS_CORE_RANDOM_PROBLEM_H_
