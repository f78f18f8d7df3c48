// SPDX-License-Identifier: Apache-2.0
//
// One row of the option table as options.cc has it: a name bound to its member of Options, what
// values it takes and what they do. Internal to src/rewrite.

#ifndef TFLMS_REWRITE_OPTION_ROW_H_
#define TFLMS_REWRITE_OPTION_ROW_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tflms/options.h"
#include "tflms/status.h"

namespace tflms::option_rows {

using OptionMember = std::variant<int64_t Options::*, double Options::*, std::string Options::*>;

struct OptionRow {
  std::string name;
  OptionMember member;
  std::string unit;
  double low = 0, high = 0;          // numbers: both ends allowed
  std::vector<std::string> choices;  // strings: empty = any text
  std::string range;                 // for people
  std::string help;
  Status (*check)(const std::string& value) = nullptr;  // strings: what is wrong with it
  bool zero = true;                                     // numbers: whether 0 is allowed
};

// The words with `between` between them.
std::string Join(const std::vector<std::string>& words, const char* between);

// A number from `low` to `high`; both ends allowed.
OptionRow Number(std::string name, OptionMember member, std::string unit, double low, double high,
                 std::string range, std::string help);

// A number that may be -1 or 1 and more, but not 0.
OptionRow AutoOrPositive(OptionRow row);

// One of the choices; the first is not necessarily the default.
OptionRow Choice(std::string name, OptionMember member, std::vector<std::string> choices,
                 std::string help);

// Any text that `check` has nothing against.
OptionRow Text(std::string name, OptionMember member, std::string range, std::string help,
               Status (*check)(const std::string& value) = nullptr);

}  // namespace tflms::option_rows

#endif  // TFLMS_REWRITE_OPTION_ROW_H_
