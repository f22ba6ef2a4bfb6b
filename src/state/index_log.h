#pragma once
// The index log: one compacted topic with one partition, the durable and ordered form of the index. Its
// records (little endian except for the key; docs/formats.md shows how they work together):
//
//   key                          value: u8 kind, u32 CRC32C of key, kind and the rest; then
//   u64 big endian: a number     'R' an original
//                                    u64 fingerprint of the data scheme
//                                    u8  flags: bit 0: it has slices; bit 1: its payload is known
//                                    16  digest, low half first
//                                    u64 id tag
//                                    u32 the payload's bits, if known
//                                    i64 record time that expiry trusts, in milliseconds; the least i64: none
//                                    varint mask words, that many u32
//                                    varint length of the slices, the slices
//                                    string metadata, string coded set (varint length, bytes)
//                                'X' it was removed; i64 its record time, as above
//                                null: it has been dead for long (housekeeping; never needed)
//   expire                       'L' varint lowest live number, varint first number whose removal was not
//                                    announced yet, string clock of expiry
//   progress/TOPIC/PARTITION     'Q' varint next offset, i32 incarnation of the topic (-1: the first), i64
//                                    timestamp of the record before, i64 highest timestamp: where a restart
//                                    resumes; varint moved, string id of the topic, string id of the topic
//                                    before, i64 time of writing, varint count of records that were read, and
//                                    for each varint how far before the next offset, i64 timestamp, u32
//                                    checksum
//                                'P' the same up to the highest timestamp (earlier versions)
//                                null: the progress is forgotten
//   missing/TOPIC/PARTITION/OFFSET
//                                'M' string why the document that this record points to could not be read
//   shown/NUMBER                 'S' string the better copy that the cluster of this original shows
//                                (records/metadata.h)
//                                null: the original is gone
//   epoch                        'E' 16 UUID, string cluster, string data scheme, varint num_perm, varint
//                                    mask_words, u8 complete (0: a rebuild is running), string what it is
//                                    rebuilt from
//   rule                         'U' string rule
//   owner                        'O' string the process that writes now: its claim (docs/adr/0018); a '/'
//                                    before its name means that it has ended, and the log is free
//                                    (docs/adr/0021)
//                                'W' the same, string its settings that a standby must have, too
//   cut                          'C' string generation, varint how many batches of this generation were
//                                    decided: answers of other processes name both (engine/answer.h)
//   batch                        'B' varint how many records its transaction wrote here, including this one
//
// A batch is one transaction: originals (ascending), missing documents, better copies, removals, expire, the
// progress of the partitions that moved, and at its end the number of its records.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "engine/bodies.h"
#include "engine/resolved.h"
#include "state/columns.h"

namespace doppel {

struct LogRow {  // the views point into the record
  Seq seq = 0;
  uint64_t scheme = 0;
  Digest digest;
  uint64_t id_tag = 0;
  uint32_t payload = 0;
  int64_t trusted_ms = kNoTime;
  BandMask mask;
  std::string_view slices;  // empty: the text is shorter than one shingle
  Body body;
};
struct LogRemoved {
  Seq seq = 0;
  int64_t trusted_ms = kNoTime;
};
struct LogDropped {
  Seq seq = 0;
};
struct LogShown {
  Seq seq = 0;
  std::string copy;  // empty: none any more
};
struct LogExpire {
  Seq lowest_live = 0;
  Seq announced = 0;  // the removal of all originals below it was announced
  std::string clock;
};
struct LogProgress {
  std::string topic;
  int32_t partition = 0;
  int64_t next = 0;
  uint32_t incarnation = 1;  // how many topics of this name were created, as far as doppel has seen
  int64_t last_ms = -1;
  int64_t highest_ms = -1;
  bool forgotten = false;  // nothing of the partition counts as read
  // How many incarnations before this one are the same topic. Such an incarnation begins where the same
  // offsets hold other records from somewhere on: the brokers lost the topic's tail, or the index moved to
  // another cluster.
  uint32_t moved = 0;
  std::string topic_id;    // as the brokers report it; empty: unknown
  std::string former_id;   // of the topic of this name that was deleted last
  int64_t written_ms = 0;  // the machine's clock; 0: unknown
  // Some of the records that were read, ascending: the last one, and fewer the farther back. They show up to
  // where a topic is still the same.
  struct Sample {
    int64_t offset = 0, timestamp_ms = -1;
    uint32_t checksum = 0;  // kafka/same_topic.h
    bool operator==(const Sample&) const = default;
  };
  std::vector<Sample> samples;
};
// Adds the record that was read last, and removes samples that are too many.
void add_sample(std::vector<LogProgress::Sample>& samples, const LogProgress::Sample& last);
// Adds some of `count` records that were read one after the other: the last one, and few before it. `sample`
// makes one of a record's number.
template <typename MakeSample>
void add_samples(std::vector<LogProgress::Sample>& samples, size_t count, const MakeSample& sample) {
  size_t back = 1;
  while (back * 4 < count) back *= 4;
  for (; back > 0; back /= 4)
    if (back < count) add_sample(samples, sample(count - 1 - back));
  add_sample(samples, sample(count - 1));
}
// The members of a progress record, without topic and partition.
void put_progress(std::string& out, const LogProgress& progress);
void take_progress(ByteReader& in, LogProgress& progress);
struct LogMissing {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  std::string reason;
};
struct LogEpoch {
  Epoch epoch{};
  std::string cluster;
  std::string data_scheme;
  uint32_t num_perm = 0;
  uint32_t mask_words = 0;
  bool complete = true;
  std::string rebuilt_from;
};
struct LogRule {
  std::string rule;
};
struct LogOwner {
  std::string owner;
  std::string settings = {};  // lines "KEY=VALUE"; empty: unknown, and a record of kind 'O'
};
struct LogCut {
  std::string generation;
  uint64_t cut = 0;
};
struct LogBatch {
  uint64_t records = 0;
};
using LogRecord = std::variant<LogRow, LogRemoved, LogDropped, LogShown, LogExpire, LogProgress, LogMissing,
                               LogEpoch, LogRule, LogOwner, LogCut, LogBatch>;

// Each function appends key and value to `out` and returns their offsets. It copies the body's views.
struct LogPlace {
  size_t key = 0, value = 0, end = 0;
};
LogPlace put_log_row(std::string& out, const StoredRow& row, int num_perm, int mask_words, uint64_t scheme,
                     const Body& body);
LogPlace put_log_removed(std::string& out, const LogRemoved& record);
LogPlace put_log_shown(std::string& out, const LogShown& record);
LogPlace put_log_expire(std::string& out, const LogExpire& record);
LogPlace put_log_progress(std::string& out, const LogProgress& record);
LogPlace put_log_missing(std::string& out, const LogMissing& record);
LogPlace put_log_epoch(std::string& out, const LogEpoch& record);
LogPlace put_log_rule(std::string& out, const LogRule& record);
LogPlace put_log_owner(std::string& out, const LogOwner& record);
LogPlace put_log_cut(std::string& out, const LogCut& record);
LogPlace put_log_batch(std::string& out, const LogBatch& record);
// Appends the key of a null value (LogDropped).
void put_log_key(std::string& out, Seq seq);

// Converts an incarnation to its stored form: the first one is -1, as in earlier versions.
int32_t stored_incarnation(uint32_t incarnation);
uint32_t incarnation_of(int32_t stored);

// has_value is false for a null value. DataLoss: the record is damaged, or does not belong to an index log.
absl::StatusOr<LogRecord> parse_log_record(std::string_view key, std::string_view value, bool has_value);

namespace kafka {

// The position of a snapshot in its index log. Commits of the state directory store it as their source
// position.
struct KafkaPosition {
  std::string cluster;
  std::string index_log;
  int64_t log_offset = 0;     // everything before it is covered
  int64_t covered_ms = 0;     // machine's clock: the log had nothing more at this time
  int64_t epoch_offset = -1;  // of the record that identifies the complete index; -1: unknown
  LogExpire expire;
  LogCut cut;         // of an index on several machines; no generation: none
  std::string owner;  // of the last claim, as in its record; empty: unknown
  std::string owner_settings;
  std::map<std::pair<std::string, int32_t>, LogProgress> progress;

  std::vector<LogProgress> progress_list() const;
};

std::string encode_position(const KafkaPosition& position);
absl::StatusOr<KafkaPosition> decode_position(std::string_view bytes);
// Whether the bytes are a Kafka position, not one of files.
bool is_kafka_position(std::string_view bytes);

}  // namespace kafka
}  // namespace doppel
