// SPDX-License-Identifier: Apache-2.0
//
// Rows of the option table. See option_row.h.

#include "src/rewrite/option_row.h"

#include <utility>

namespace tflms::option_rows {

std::string Join(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

OptionRow AutoOrPositive(OptionRow row) {
  row.zero = false;
  return row;
}

OptionRow Number(std::string name, OptionMember member, std::string unit, double low, double high,
                 std::string range, std::string help) {
  return {std::move(name),  member,          std::move(unit), low, high, {},
          std::move(range), std::move(help), nullptr,         true};
}

OptionRow Choice(std::string name, OptionMember member, std::vector<std::string> choices,
                 std::string help) {
  std::string range = Join(choices, " | ");
  return {std::move(name),  member,          "",      0,   0, std::move(choices),
          std::move(range), std::move(help), nullptr, true};
}

OptionRow Text(std::string name, OptionMember member, std::string range, std::string help,
               Status (*check)(const std::string& value)) {
  return {std::move(name), member, "", 0, 0, {}, std::move(range), std::move(help), check, true};
}

}  // namespace tflms::option_rows
