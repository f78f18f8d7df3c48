// SPDX-License-Identifier: Apache-2.0
//
// Text for people: aligned columns, bars, headings.

#ifndef TFLMS_CLI_TABLE_H_
#define TFLMS_CLI_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tflms::cli {

// Rows of cells with two blanks between columns, indented by two. Cells that begin with a digit are
// set flush right. No blank at the end of a line.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

// "  name                  value\n".
std::string FormatLine(const std::string& name, const std::string& value);

// A bar of '#' for `value` out of `most`, at most `width` long; at least one for any value > 0.
std::string Bar(int64_t value, int64_t most, int width);

// "1 tensor", "2 tensors".
std::string Count(int64_t number, const std::string& noun);

}  // namespace tflms::cli

#endif  // TFLMS_CLI_TABLE_H_
