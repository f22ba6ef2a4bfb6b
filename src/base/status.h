#pragma once
// absl::Status is our error type. Abseil's string_view is not std::string_view on every platform that we
// build on, so messages are built with fmt or std::string and passed through these helpers.

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace doppel {

inline absl::string_view absl_sv(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view std_sv(absl::string_view s) { return {s.data(), s.size()}; }

inline absl::Status invalid(const std::string& message) { return absl::InvalidArgumentError(message); }
// An error of a system call: "what: strerror (errno)".
inline absl::Status io_error(const std::string& what, int error = errno) {
  return absl::ErrnoToStatus(error, what);
}

}  // namespace doppel

#define RETURN_IF_ERROR(expr)          \
  do {                                 \
    absl::Status status_ = (expr);     \
    if (!status_.ok()) return status_; \
  } while (false)

#define DOPPEL_CONCAT_(a, b) a##b
#define DOPPEL_CONCAT(a, b) DOPPEL_CONCAT_(a, b)
#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_(DOPPEL_CONCAT(statusor_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_(tmp, lhs, expr)        \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)
