#pragma once
// Rebuilds an index from its log, from its state directory, or from the documents.

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
  // ---- only from documents
  int64_t since_offset = 0;  // begin at this offset of every partition
  int64_t since_ms = -1;     // or, if not negative, at the first record with this timestamp or a later one
  bool publish = false;      // also write events
  // A document that can no longer be read from WARC files ends the rebuild; otherwise it is left out and
  // counted.
  bool missing_stops = true;
  // The name of an index log. Documents that its index could not read are not tried again. May be empty.
  std::string missing_as_in;
  // ---- only from the state directory
  // Where the input continues on another cluster. "keep": at the same offsets, because the topics hold the
  // same records there. Otherwise the path of a file with chosen offsets (kafka/log/chosen_offsets.h).
  std::string offsets;
  // ---- for all
  std::function<bool()> stop = [] { return false; };
  bool real = false;  // a real cluster: check first that the brokers accept us
};

// Cancelled: the rebuild was interrupted; the same call continues it.
absl::Status rebuild(const Config& config, kafka::Cluster& cluster, const RebuildOptions& options);

}  // namespace doppel
