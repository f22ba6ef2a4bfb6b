#pragma once
// Reads records that an earlier process committed but that the broker forgot to mark as committed
// (docs/adr/0017), so that a start can publish them again.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kafka/cluster.h"
#include "kafka/outbox.h"
#include "kafka/visibility.h"

namespace doppel::kafka {

// Names the incarnation of the input topic in a dead letter, if the topic was created again.
inline constexpr std::string_view kIncarnationHeader = "doppel.incarnation";

struct InputPlace {
  std::string topic;
  int32_t partition = 0;
  uint32_t incarnation = 1;
  int64_t offset = 0;
};
// Whether the part of the index log that readers see covers the document at this place of the input.
using Covers = std::function<bool(const InputPlace&)>;
inline bool covers(const LogProgress& progress, const InputPlace& place) {
  return place.incarnation < progress.incarnation ||
         (place.incarnation == progress.incarnation && place.offset < progress.next);
}

// The document that a record of ours is about: an event names it in its id (Metadata::event_id()), a dead
// letter in headers. Nullopt: it names none.
std::optional<InputPlace> document_of(std::span<const Header> headers);

struct Hanging {
  bool log_is_whole = false;  // only whole batches hang in the log: our next commit there makes them visible
  std::vector<TopicPartition> drop;  // the partitions whose hanging records an abort of ours must discard
};

// Appends to `committed` the records that hang in `places` and whose transaction was committed, with their
// partitions and offsets. If the log hangs, its batches decide: whole batches were committed, an incomplete
// one was aborted. Otherwise a record counts as committed if the log covers the document that it is about, or
// if it names no document. Call it while no transaction of ours is open.
absl::StatusOr<Hanging> read_hanging(Cluster& cluster, const TopicPartition& log,
                                     const std::vector<TopicPartition>& places, const Covers& covers,
                                     Outbox& committed);

// The same while a transaction of ours may be open. Appends the batches that hang in the log and that another
// one follows, and adds their progress to `progress`: a batch begins when the one before is committed. The
// last one may be open.
absl::Status read_hanging_batches(Cluster& cluster, const TopicPartition& log, Outbox& committed,
                                  std::map<TopicPartition, LogProgress>& progress);
// Appends the records that hang in `places` and are about a document that the log covers. Returns whether
// each record that hangs names its document: copies of unique documents do not, nor do removals.
absl::StatusOr<bool> read_covered(Cluster& cluster, const std::vector<TopicPartition>& places,
                                  const Covers& covers, Outbox& committed);

// Returns the name of a process other than `us` whose claim hangs in the log in a whole batch. That claim may
// be committed, and readers may see its records in other topics.
absl::StatusOr<std::optional<std::string>> hanging_claim(Cluster& cluster, const TopicPartition& log,
                                                         const std::string& us);

}  // namespace doppel::kafka
