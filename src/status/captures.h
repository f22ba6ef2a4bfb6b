#pragma once
// The last capture of each URL among the WARC records that came lately, in bounded memory: what crawlers ask
// a CDX server before they store a response once more. It begins empty with the process. The pipeline's
// thread adds batches; any thread may ask.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "pipeline/pipeline.h"

namespace doppel {

struct Capture {
  int64_t date_ms = 0;
  std::array<char, 32> digest{};  // of the payload: SHA-1 in Base32
};

class Captures {
 public:
  // Keeps up to `most` URLs, and the last half of them at least; 60 bytes for each.
  explicit Captures(size_t most = 1'000'000) : most_(most) {}

  // Revisit records are no captures: they have no payload of their own.
  void observe(const Decided& decided);
  void add(std::string_view url, const Capture& capture);
  std::optional<Capture> last(std::string_view url) const;

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  // By the hash of the URL's key (SURT). The young replace the old when they are half of all.
  absl::flat_hash_map<uint64_t, Capture> young_, old_;
};

}  // namespace doppel
