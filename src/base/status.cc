// SPDX-License-Identifier: Apache-2.0
//
// Names and text of Status.

#include "tflms/status.h"

namespace tflms {

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kLawBroken:
      return "law broken";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kDeadline:
      return "deadline passed";
    case StatusCode::kInternal:
      return "internal fault";
  }
  return "unknown status";
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return std::string(StatusCodeName(code_)) + ": " + message_;
}

}  // namespace tflms
