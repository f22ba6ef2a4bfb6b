#pragma once
// A file can claim any size. If the system refuses the memory, that is an error of the file, and the
// process continues.

#include <fmt/format.h>

#include <new>
#include <optional>

#include "absl/status/status.h"
#include "base/memory_limit.h"
#include "base/status.h"

namespace doppel {

// Calls work(), which returns a Status. Returns that, or ResourceExhausted if memory was refused.
template <typename Work>
absl::Status within_memory(const Work& work) {
  const MayFail here;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    const std::optional<uint64_t> limit = address_space_limit();
    return absl::ResourceExhaustedError(
        limit ? fmt::format("it takes more memory than there is (the limit of the address space is {} KiB: "
                            "ulimit -v)",
                            *limit / 1024)
              : "it takes more memory than there is");
  }
}

}  // namespace doppel
