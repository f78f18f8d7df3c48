// SPDX-License-Identifier: Apache-2.0
//
// Status and Result: how every layer of tflms says that something went wrong.
//
// No function of tflms throws across a layer. A fault is a Status with a code and one line of text
// that says what, at which node, what was expected, what was found and what to try. A function
// that yields a value returns Result<T>: either the value or a Status that is not ok.

#ifndef TFLMS_STATUS_H_
#define TFLMS_STATUS_H_

#include <optional>
#include <string>
#include <utility>

namespace tflms {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,  // the caller's input (graph, option, text) is malformed
  kLawBroken,        // a graph or plan breaks one of the laws; the message names it
  kUnsupported,      // well-formed, but nothing tflms can work on
  kDeadline,         // a time limit ran out before an answer was found
  kInternal,         // a fault of tflms itself
};

// The code's name as it appears in messages: "invalid argument", "law broken", ...
const char* StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // One line, without a trailing newline; empty when ok.
  const std::string& message() const { return message_; }
  // "law broken: L4 node `a`: ..." or "ok".
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status InvalidArgument(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}
inline Status LawBroken(std::string message) {
  return Status(StatusCode::kLawBroken, std::move(message));
}
inline Status Unsupported(std::string message) {
  return Status(StatusCode::kUnsupported, std::move(message));
}
inline Status InternalError(std::string message) {
  return Status(StatusCode::kInternal, std::move(message));
}

// A value or the reason why there is none. `value()` may be called only when ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace tflms

#define TFLMS_CONCAT_INNER(a, b) a##b
#define TFLMS_CONCAT(a, b) TFLMS_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (a Status) is not ok.
#define TFLMS_RETURN_IF_ERROR(expr)                \
  do {                                             \
    ::tflms::Status tflms_status_ = (expr);        \
    if (!tflms_status_.ok()) return tflms_status_; \
  } while (false)

// Declares or assigns `lhs` from the value of `expr` (a Result), or returns its status.
#define TFLMS_ASSIGN_OR_RETURN(lhs, expr) \
  TFLMS_ASSIGN_OR_RETURN_IMPL(TFLMS_CONCAT(tflms_result_, __LINE__), lhs, expr)
#define TFLMS_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                \
  if (!tmp.ok()) return tmp.status();               \
  lhs = std::move(tmp.value())

#endif  // TFLMS_STATUS_H_
