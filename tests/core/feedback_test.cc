// SPDX-License-Identifier: Apache-2.0

#include "src/cost/feedback.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tflms {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

Expected Predicted() { return {100, 200, {{"a", 1000}, {"b", 3000}, {"c", 100}}}; }

// Copies out and in at these rates, on top of `before`.
LaneCounts After(const LaneCounts& before, double out_rate, double in_rate) {
  LaneCounts counts = before;
  counts.out_bytes += 16 * kMiB;
  counts.out_busy_us += std::llround(16 * kMiB / out_rate);
  counts.in_bytes += 16 * kMiB;
  counts.in_busy_us += std::llround(16 * kMiB / in_rate);
  return counts;
}

TEST(FeedbackTest, NothingMeasuredOrNothingExpectedIsNoCorrection) {
  Feedback feedback;
  EXPECT_EQ(Learn(After({}, 10, 10), {{"a", {5, 9}}}, &feedback), Corrections());
  Expect(Predicted(), &feedback);
  EXPECT_EQ(Learn({}, {}, &feedback), Corrections());
}

TEST(FeedbackTest, FactorsAreMeasuredOverPredicted) {
  Feedback feedback;
  Expect(Predicted(), &feedback);
  const Corrections factors =
      Learn(After({}, 50, 100), {{"a", {4, 8000}}, {"b", {4, 24000}}}, &feedback);
  EXPECT_NEAR(factors.link_out, 0.5, 0.5 * 0.025);
  EXPECT_NEAR(factors.link_in, 0.5, 0.5 * 0.025);
  EXPECT_NEAR(factors.compute, 2, 2 * 0.025);
}

TEST(FeedbackTest, TheSameAgainGivesTheSame) {
  Feedback feedback;
  Expect(Predicted(), &feedback);
  LaneCounts lanes = After({}, 37, 430);
  const Corrections first = Learn(lanes, {{"b", {4, 60000}}}, &feedback);
  for (int round = 0; round < 10; ++round) {
    lanes = After(lanes, 37, 430);
    EXPECT_EQ(Learn(lanes, {{"b", {4, 60000}}}, &feedback), first);
  }
}

TEST(FeedbackTest, NoiseWithinOneStepChangesNothing) {
  Feedback feedback;
  Expect(Predicted(), &feedback);
  LaneCounts lanes = After({}, 96, 208);
  EXPECT_EQ(Learn(lanes, {{"b", {4, 12400}}}, &feedback), Corrections());
  lanes = After(lanes, 50, 208);
  const Corrections half = Learn(lanes, {}, &feedback);
  lanes = After(lanes, 51.5, 208);
  EXPECT_EQ(Learn(lanes, {}, &feedback), half);
}

TEST(FeedbackTest, FactorsStayWithinTheirBounds) {
  Feedback feedback;
  Expect(Predicted(), &feedback);
  const Corrections factors =
      Learn(After({}, 1, 1e6), {{"a", {2, 2000000}}, {"b", {2, 2000000}}}, &feedback);
  EXPECT_NEAR(factors.link_out, kLeastFactor, kLeastFactor * 0.025);
  EXPECT_EQ(factors.link_in, 1) << "16 MiB in 16 us: too short to be told";
  EXPECT_NEAR(factors.compute, kMostFactor, kMostFactor * 0.025);
}

TEST(FeedbackTest, LittleEvidenceIsKeptForLater) {
  Feedback feedback;
  Expect(Predicted(), &feedback);
  LaneCounts lanes;
  lanes.out_bytes = 5 * kMiB;
  lanes.out_busy_us = 5 * kMiB / 50;
  // One run, and the one operation that ran twice is a fraction of the whole.
  EXPECT_EQ(Learn(lanes, {{"b", {1, 9000}}, {"c", {9, 9000}}}, &feedback), Corrections());
  lanes.out_bytes *= 2;
  lanes.out_busy_us *= 2;
  const Corrections factors = Learn(lanes, {{"b", {1, 9000}}}, &feedback);
  EXPECT_NEAR(factors.link_out, 0.5, 0.5 * 0.025);
  EXPECT_NEAR(factors.compute, (9000.0 + 1000) / 3100, 0.1);
}

TEST(FeedbackTest, ANameWithTwoTimesIsLeftOut) {
  Feedback feedback;
  Expect(Predicted(), &feedback);
  Expect({100, 200, {{"b", 6000}, {"a", 1000}}}, &feedback);
  const Corrections factors =
      Learn({}, {{"a", {4, 8000}}, {"b", {4, 400000}}, {"other", {4, 400000}}}, &feedback);
  EXPECT_NEAR(factors.compute, 2, 2 * 0.025);
}

TEST(FeedbackTest, AnUnpredictedLinkIsNeverCorrected) {
  Feedback feedback;
  Expected expected = Predicted();
  expected.out_bytes_per_us = 0;
  Expect(expected, &feedback);
  const Corrections factors = Learn(After({}, 10, 50), {}, &feedback);
  EXPECT_EQ(factors.link_out, 1);
  EXPECT_NEAR(factors.link_in, 0.25, 0.25 * 0.025);
}

}  // namespace
}  // namespace tflms
