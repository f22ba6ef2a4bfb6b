#pragma once
// Print to stdout and stderr. Unlike fmt::print(), these do not throw if the reader is gone or the disk is
// full.

#include <utility>

#include "base/standard_streams.h"
#include "fmt/format.h"

namespace doppel {

template <typename... Values>
void print_out(fmt::format_string<Values...> format, Values&&... values) {
  write_out(fmt::format(format, std::forward<Values>(values)...));
}

template <typename... Values>
void print_err(fmt::format_string<Values...> format, Values&&... values) {
  write_err(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace doppel
