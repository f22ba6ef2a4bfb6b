#pragma once
// Why records are rejected or skipped, as a label: a reason in words names sizes and fields and would make a
// series of each; its beginning gives one of a few kinds.

#include <cstddef>
#include <span>
#include <string_view>

namespace doppel {

struct ReasonKind {
  std::string_view begins;  // the reason in words
  std::string_view label;
};

// In order; the last one begins with nothing and fits all others ("other").
std::span<const ReasonKind> reject_kinds();
std::span<const ReasonKind> skip_kinds();

// Index of the kind.
size_t kind_of(std::span<const ReasonKind> kinds, std::string_view reason);

}  // namespace doppel
