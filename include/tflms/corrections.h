// SPDX-License-Identifier: Apache-2.0
//
// How far real runs were from what was predicted, as factors on predictions yet to come.

#ifndef TFLMS_CORRECTIONS_H_
#define TFLMS_CORRECTIONS_H_

namespace tflms {

// All 1: as predicted, or nothing was measured.
struct Corrections {
  double link_out = 1;  // measured / predicted rate of copies to the host
  double link_in = 1;   // of copies back
  double compute = 1;   // measured / predicted run time of operations

  friend bool operator==(const Corrections&, const Corrections&) = default;
};

}  // namespace tflms

#endif  // TFLMS_CORRECTIONS_H_
