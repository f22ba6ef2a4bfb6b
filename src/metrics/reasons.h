#pragma once
// Labels for the reasons why records are rejected or skipped. The text of a reason names sizes and fields, so
// as a label it would create a series for each. Its beginning selects one of a few kinds.

#include <cstddef>
#include <span>
#include <string_view>

namespace doppel {

struct ReasonKind {
  std::string_view begins;  // how the reason's text begins
  std::string_view label;
};

// The first kind that matches counts. The last one matches every reason ("other").
std::span<const ReasonKind> reject_kinds();
std::span<const ReasonKind> skip_kinds();

// The index of the reason's kind.
size_t kind_of(std::span<const ReasonKind> kinds, std::string_view reason);

}  // namespace doppel
