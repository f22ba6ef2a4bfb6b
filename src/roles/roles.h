#pragma once
// What a process of doppel can be: a daemon on Kafka or on files, a matcher or a signer of an index on many
// machines, or a rebuild.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"

namespace doppel {

namespace kafka {
class Cluster;
}

// The daemon on Kafka: it reads documents, holds the index in memory and writes events, all of it exactly
// once.
struct ServeKafka {
  std::function<bool()> stop = [] { return false; };
  // Called with the error of a failed run before its parts are destroyed, which may take long.
  std::function<void(const absl::Status&)> ending = [](const absl::Status&) {};
  // For simulations: reading, commits and checkpoints happen on the caller's thread, one after the other.
  bool step_by_step = false;
  bool real = false;  // a real cluster: first check that it accepts us and which rights we have
  std::string owner;  // our unique name in the index log; empty: generate one
};

// Returns when `stop` returns true, after everything was committed and the state directory was checkpointed,
// or with the error that must stop the process. Aborted: another process has taken over the index.
// InvalidArgument, NotFound: the configuration is wrong; these only occur at the start.
absl::Status serve_kafka(const Config& config, kafka::Cluster& cluster, const ServeKafka& how);

// The daemon without Kafka. It follows files and writes events to a file. The state directory records the
// positions of both, so that processing from file to file is exactly once, whatever stops the process.
//
// Returns when `stop` returns true or the input ends (stdin), after everything was committed and
// checkpointed. InvalidArgument, NotFound: the configuration is wrong, and nothing was done. Any other error
// has stopped the stream; a new start continues behind the last commit.
absl::Status serve_files(const Config& config, const std::function<bool()>& stop);

// A matcher, one of the processes of an index on many machines. It keeps the originals of its shards in
// memory and in its state directory, follows the index log and the order of documents, and answers which of
// its originals each document resembles. It decides nothing, so no failure of it changes a verdict.
//
// Returns when stop() returns true, or with the error that must stop the process.
absl::Status serve_matcher(const Config& config, kafka::Cluster& cluster, const std::function<bool()>& stop);

// A signer, one of the processes of an index on many machines. It shares the partitions of the input with the
// other signers and writes signed records to cluster.order. It keeps no state, and no failure of it changes a
// verdict.
//
// Returns when stop() returns true, or with the error that must stop the process.
absl::Status serve_signer(const Config& config, kafka::Cluster& cluster, const std::function<bool()>& stop);

// Rebuilds an index from its log, from its state directory, or from the documents.
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
  // same records there. Otherwise the path of a file with chosen offsets (kafka/log/offsets.h).
  std::string offsets;
  // ---- for all
  std::function<bool()> stop = [] { return false; };
  bool real = false;  // a real cluster: check first that the brokers accept us
};

// Cancelled: the rebuild was interrupted; the same call continues it.
absl::Status rebuild(const Config& config, kafka::Cluster& cluster, const RebuildOptions& options);

}  // namespace doppel
