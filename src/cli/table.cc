// SPDX-License-Identifier: Apache-2.0
//
// Columns and bars. O(length of the text).

#include "src/cli/table.h"

#include <algorithm>

namespace tflms::cli {

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(width[i] - row[i].size(), ' ');
      const bool right = !row[i].empty() && row[i][0] >= '0' && row[i][0] <= '9';
      line += (i == 0 ? " " : "  ") + (right ? blanks + row[i] : row[i] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string FormatLine(const std::string& name, const std::string& value) {
  constexpr size_t kColumn = 22;
  const std::string blanks(name.size() < kColumn ? kColumn - name.size() : 1, ' ');
  return "  " + name + blanks + value + "\n";
}

std::string Bar(int64_t value, int64_t most, int width) {
  if (value <= 0 || most <= 0) return "";
  const double part = static_cast<double>(value) / static_cast<double>(most);
  const int length = static_cast<int>(part * width + 0.5);
  return std::string(static_cast<size_t>(std::clamp(length, 1, width)), '#');
}

std::string Count(int64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

}  // namespace tflms::cli
