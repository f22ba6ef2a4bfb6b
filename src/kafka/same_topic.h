#pragma once
// Is a topic still the one that was read? Its name does not tell: somebody may have deleted the topic and
// created it again, and brokers may have lost its last records. This is the table that decides;
// docs/kafka.md shows it.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"
#include "state/index_log.h"

namespace doppel::kafka {

// The id that the brokers report, beside the one of the topic that was read.
enum class IdIs {
  same,
  other,
  former,   // of the topic before: a broker's answer is stale
  unknown,  // the library or the broker knows no ids, or the index has recorded none
};

// What is at the place of the last record that was read. Of several partitions, the last of these counts.
enum class Found {
  same,     // the record
  removed,  // nothing: retention or compaction has removed the record
  another,  // another record
  hole,     // a marker, an aborted record or nothing, and no compaction explains it
  ended,    // the partition ends before
  gone,     // no such partition: brokers never take one from a topic
};
constexpr bool differs(Found found) { return found > Found::removed; }

// What our group's offsets tell. Brokers delete them together with the topic.
enum class Note {
  kept,     // they are there: the topic was not deleted, or a commit came after that
  gone,     // they were there a short time ago
  unclear,  // they are not there, but may have expired; or the broker does not tell
  never,    // there were none: the index has not read this topic on this cluster
};

// Whether the topic holds any record that was read, as far as some were kept for comparisons.
enum class Left { some, perhaps, none };

enum class SameTopic {
  go_on,
  read_again,  // another topic: the next incarnation, from its beginning
  read_all,    // perhaps the same, but nothing that was read is left: likewise, and it counts as the same
  wait,        // until all brokers know the new topic
  lost,        // the same topic, but the brokers have lost records that were judged
  unclear,     // another topic, or lost records
};

SameTopic is_same_topic(IdIs id, Found found, Left left, Note note);
// Whether the answer depends on the note.
constexpr bool needs_note(IdIs id, Found found) { return id == IdIs::unknown && found != Found::same; }

// Reads records again that were read before, and tells what is at their places now.
struct LastRead {
  TopicPartition place;
  int64_t offset = 0;
  int64_t timestamp_ms = -1;
  std::optional<uint32_t> checksum;  // checksum_of() the record; nullopt: unknown
};

// Covers key and value.
uint32_t checksum_of(std::string_view key, std::string_view value);
inline uint32_t checksum_of(const Incoming& record) {
  return checksum_of(record.key.value_or(std::string_view()), record.value);
}

class TopicComparer {
 public:
  static absl::StatusOr<std::unique_ptr<TopicComparer>> open(Cluster& cluster);

  // Returns one answer for each record, in order; each was true at some moment during the call. The records
  // are of different partitions. Unavailable: a broker does not answer. NotFound: a topic does not exist.
  absl::StatusOr<std::vector<Found>> compare(std::span<const LastRead> records);

 private:
  TopicComparer(Cluster& cluster, std::unique_ptr<Consumer> consumer)
      : cluster_(cluster), consumer_(std::move(consumer)) {}
  absl::Status read(std::span<const LastRead> records, std::vector<std::optional<Found>>& out);
  absl::Status find_outside(std::span<const LastRead> records, std::vector<std::optional<Found>>& out);
  absl::StatusOr<bool> is_compacted(const std::string& topic);

  Cluster& cluster_;
  std::unique_ptr<Consumer> consumer_;
};

// The note that doppel stores with a group's offset. It contains next, incarnation and last_ms of the
// progress, so that the offset can be attributed to a record and to one incarnation of the topic.
std::string group_note(const LogProgress& progress);
// Nullopt: another program wrote the note.
std::optional<LogProgress> parse_group_note(std::string_view note);

}  // namespace doppel::kafka
