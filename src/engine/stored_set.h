#pragma once
// What is kept of the text of an original, in its body: the coded set; where the index knows relations, the
// prints that it lists behind it, so that everything that carries a body carries them.
//
//    .  coded set (compact_set.h)
//    .  prints, 6 bytes each, ascending
//    -4 u32 how many there are
//
// An original without a set has neither.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/pod_vector.h"

namespace doppel {

inline constexpr size_t kStoredPrintBytes = 6;

// Appends the prints to a coded set, unless that is empty. Sorts them.
void append_prints(std::span<uint64_t> prints, std::string& coded_set);

// The coded set of what was stored, and its prints. DataLoss: there is something else. Where `with_prints` is
// false, all of it is the coded set.
absl::StatusOr<std::string_view> split_stored_set(std::string_view stored, bool with_prints,
                                                  PodVector<uint64_t>* prints = nullptr);

}  // namespace doppel
