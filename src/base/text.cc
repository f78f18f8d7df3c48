// SPDX-License-Identifier: Apache-2.0
//
// Words, numbers and the line cursor. See text.h. Everything is linear in the text read.

#include "src/base/text.h"

#include <algorithm>
#include <charconv>

namespace tflms {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The value of a hexadecimal digit, or -1.
int HexValue(char c) {
  if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  const size_t at = kHexDigits.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

void AppendEscaped(char c, std::string* out) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    *out += {'\\', c};
  } else if (c == '\n') {
    *out += "\\n";
  } else if (c == '\t') {
    *out += "\\t";
  } else if (c == '\r') {
    *out += "\\r";
  } else if (byte < 0x20 || byte == 0x7f) {
    *out += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
  } else {
    *out += c;
  }
}

// Reads what follows a backslash at text[0]: its bytes, or 0 when it is no escape.
size_t TakeEscape(std::string_view text, std::string* out) {
  if (text.empty()) return 0;
  switch (text[0]) {
    case '"':
    case '\\':
      *out += text[0];
      return 1;
    case 'n':
      *out += '\n';
      return 1;
    case 't':
      *out += '\t';
      return 1;
    case 'r':
      *out += '\r';
      return 1;
    case 'x': {
      if (text.size() < 3) return 0;
      const int high = HexValue(text[1]), low = HexValue(text[2]);
      if (high < 0 || low < 0) return 0;
      *out += static_cast<char>(high * 16 + low);
      return 3;
    }
    default:
      return 0;
  }
}

}  // namespace

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '<' || c == '>' || c == '-';
}

std::string WordText(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlain)) return std::string(text);
  std::string out = "\"";
  for (char c : text) AppendEscaped(c, &out);
  return out + '"';
}

std::optional<int64_t> ParseInt64(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out = "`";
  for (char c : text.substr(0, kMost)) {
    if (c == '"' || c == '\\') {
      out += c;
    } else {
      AppendEscaped(c, &out);
    }
  }
  return out + (text.size() > kMost ? "...`" : "`");
}

void LineCursor::SkipBlanks() {
  while (!rest_.empty() && IsBlank(rest_.front())) rest_.remove_prefix(1);
  if (!rest_.empty() && rest_.front() == '#') rest_ = {};
}

bool LineCursor::AtEnd() {
  SkipBlanks();
  return rest_.empty();
}

char LineCursor::Peek() { return AtEnd() ? '\0' : rest_.front(); }

bool LineCursor::Take(char c) {
  if (AtEnd() || rest_.front() != c) return false;
  rest_.remove_prefix(1);
  return true;
}

Result<std::string> LineCursor::Word(std::string_view expected) {
  if (Peek() == '"' && !rest_.empty()) return QuotedWord();
  const auto* end = std::find_if_not(rest_.begin(), rest_.end(), IsPlain);
  const auto length = static_cast<size_t>(end - rest_.begin());
  if (length == 0) return Expected(expected);
  std::string word(rest_.substr(0, length));
  rest_.remove_prefix(length);
  return word;
}

Result<std::string> LineCursor::QuotedWord() {
  std::string word;
  size_t at = 1;  // behind the opening quote
  while (at < rest_.size() && rest_[at] != '"') {
    if (rest_[at] != '\\') {
      word += rest_[at++];
      continue;
    }
    const size_t taken = TakeEscape(rest_.substr(at + 1), &word);
    if (taken == 0) {
      return InvalidArgument("unknown escape " + Quoted(rest_.substr(at, 2)) +
                             R"(; allowed are \" \\ \n \t \r \xHH)");
    }
    at += 1 + taken;
  }
  if (at >= rest_.size()) return InvalidArgument("no closing quote in " + Quoted(rest_));
  rest_.remove_prefix(at + 1);
  return word;
}

std::string_view LineCursor::Token(std::string_view stops) {
  SkipBlanks();
  size_t length = 0;
  while (length < rest_.size() && !IsBlank(rest_[length]) &&
         stops.find(rest_[length]) == std::string_view::npos) {
    ++length;
  }
  const std::string_view token = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return token;
}

Status LineCursor::Expected(std::string_view expected) {
  const std::string found = AtEnd() ? "the end of the line" : Quoted(rest_);
  return InvalidArgument("expected " + std::string(expected) + ", found " + found);
}

}  // namespace tflms
