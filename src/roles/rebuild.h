#pragma once
// Making an index again: from its log, from its state directory, or from the documents.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace doppel {

namespace kafka {
class Cluster;
}

struct RebuildOptions {
  enum class From { log, state, documents } from = From::log;
  int64_t since_offset = 0;  // documents: of every partition
  int64_t since_ms = -1;     // documents: or by record time
  bool publish = false;      // documents: events too
  // documents: what cannot be read any more from WARC files ends the rebuild, or is left out and counted.
  bool missing_stops = true;
  // documents: an index log whose documents that could not be read are not tried again; empty: none.
  std::string missing_as_in;
  // state: where the input continues on another cluster. "keep": where it was, because the topics hold the
  // same records at the same offsets; else a file of chosen offsets (kafka/log/chosen_offsets.h).
  std::string offsets;
  std::function<bool()> stop = [] { return false; };
  bool real = false;  // a real cluster, whose brokers may be away
};

// Cancelled: interrupted; the same call goes on where it was.
absl::Status rebuild(const Config& config, kafka::Cluster& cluster, const RebuildOptions& options);

}  // namespace doppel
