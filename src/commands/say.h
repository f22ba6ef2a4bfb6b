#pragma once
// What commands say on stdout and stderr. fmt::print() throws where nobody listens or the disk is full; these
// do not.

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
