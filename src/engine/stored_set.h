#pragma once
// The part of an original's body that comes from its text: the coded set and, if the index knows relations,
// the prints that the original lists. A copy of a body has both.
//
//    .  coded set (compact_set.h)
//    .  prints, 6 bytes each, ascending
//    -4 u32 number of prints
//
// Empty for an original without a set.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/pod_vector.h"
#include "engine/bodies.h"

namespace doppel {

inline constexpr size_t kStoredPrintBytes = 6;

// Sorts the prints and appends them to a coded set, unless the set is empty.
void append_prints(std::span<uint64_t> prints, std::string& coded_set);

// Splits what a body stores into the coded set, which it returns, and the prints. If `with_prints` is false,
// all of it is the coded set. DataLoss: the prints are missing or damaged.
absl::StatusOr<std::string_view> split_stored_set(std::string_view stored, bool with_prints,
                                                  PodVector<uint64_t>* prints = nullptr);
// Reads a body and returns the prints that its original lists.
absl::Status read_prints(const Bodies& bodies, BodyRef ref, std::string& buffer, PodVector<uint64_t>& prints);

}  // namespace doppel
