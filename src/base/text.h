// SPDX-License-Identifier: Apache-2.0
//
// Small text helpers: words that are quoted when they must be, whole-token numbers, and a cursor
// over one line that tells what it found when it did not find what was asked for.
//
//   word   = plain | quoted
//   plain  = one or more of A-Z a-z 0-9 _ . / < > -
//   quoted = '"' any bytes, with \" \\ \n \t \r and \xHH for what cannot stand for itself '"'

#ifndef TFLMS_BASE_TEXT_H_
#define TFLMS_BASE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tflms/status.h"

namespace tflms {

// True for the characters of a plain word.
bool IsPlain(char c);

// `text` as a word: as it is when it is plain, else quoted. LineCursor::Word gives `text` back.
std::string WordText(std::string_view text);

// The whole of `text` as a decimal integer with an optional '-'; nothing when it is not one or does
// not fit 64 bits.
std::optional<int64_t> ParseInt64(std::string_view text);

// `text` without spaces, tabs and carriage returns at its ends.
std::string_view Trim(std::string_view text);

// The lines of `text` without their newlines. A last line without a newline counts.
std::vector<std::string_view> SplitLines(std::string_view text);

// A shortened `text` in backquotes for messages, at most 40 bytes of it.
std::string Quoted(std::string_view text);

// Reads one line from left to right. Every function that reads skips blanks first. A '#' outside
// quotes ends the line.
class LineCursor {
 public:
  explicit LineCursor(std::string_view line) : rest_(line) {}

  bool AtEnd();
  // The next character, 0 at the end.
  char Peek();
  // Takes the next character when it is `c`.
  bool Take(char c);
  // A plain or quoted word; an error says what was found instead.
  Result<std::string> Word(std::string_view expected);
  // The run of characters up to a blank or one of `stops`; may be empty.
  std::string_view Token(std::string_view stops);
  // "expected X, found Y".
  Status Expected(std::string_view expected);

 private:
  void SkipBlanks();
  Result<std::string> QuotedWord();

  std::string_view rest_;
};

}  // namespace tflms

#endif  // TFLMS_BASE_TEXT_H_
