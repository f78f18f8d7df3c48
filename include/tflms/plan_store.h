// SPDX-License-Identifier: Apache-2.0
//
// Where plans wait for the next process that asks for the same ones. The pipeline gives and takes
// texts and checks all it takes: a store that loses, mixes up or damages them costs time and
// nothing else.

#ifndef TFLMS_PLAN_STORE_H_
#define TFLMS_PLAN_STORE_H_

#include <optional>
#include <string>

namespace tflms {

class PlanStore {
 public:
  virtual ~PlanStore() = default;
  // What was stored last under `key`, 32 hexadecimal digits; nothing when there is none.
  virtual std::optional<std::string> Lookup(const std::string& key) = 0;
  virtual void Store(const std::string& key, const std::string& plan) = 0;
};

}  // namespace tflms

#endif  // TFLMS_PLAN_STORE_H_
