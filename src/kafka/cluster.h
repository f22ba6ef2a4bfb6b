#pragma once
// Every operation that doppel needs from Kafka. There are two implementations: librdkafka/ talks to a real
// cluster, and the tests simulate one whose every decision comes from a seed.
//
// The error codes mean the same for every call:
//   Unavailable        transient; the caller may repeat the call
//   DeadlineExceeded   transient, but the caller must give up this producer: its transaction failed, or the
//                      outcome is unknown
//   Aborted            the producer is fenced: another one uses its transactional id, or the broker ended a
//                      transaction that took too long
//   NotFound           the broker does not know the topic or partition, perhaps because its metadata is stale
//   OutOfRange         the partition does not contain the offset (deleted, or never written)
//   ResourceExhausted  a record is larger than the client or the topic accepts
//   PermissionDenied   the cluster's access rules forbid it
//   InvalidArgument    the configuration is wrong, for example the time-out of transactions is longer than
//                      the brokers allow
//   Internal           anything else

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/record.h"
#include "kafka/outbox.h"
#include "kafka/statistics.h"
#include "state/index_log.h"

namespace doppel::kafka {

struct TopicPartition {  // a partition
  std::string topic;
  int32_t partition = 0;
  auto operator<=>(const TopicPartition&) const = default;
};

enum class Isolation { committed, uncommitted };

// The first offset of a partition, and the end of what readers with the given isolation see.
struct Watermarks {
  int64_t low = 0, high = 0;
};

struct TopicPartitions {
  std::string topic;
  std::vector<int32_t> partitions;  // ascending
};

struct TopicSpec {
  std::string name;
  std::string purpose;  // for messages, such as "events"
  int partitions = 1;
  int replication = -1;  // -1: the broker's default
  std::vector<std::pair<std::string, std::string>> configs;
};

// The committed offset of a group, with the metadata that its committer stored.
struct GroupOffset {
  int64_t offset = -1;  // -1: the group has committed none
  std::string note;
};

// The identity under which offsets of a group are committed. With the credentials of a member
// (Membership::credentials()) the broker checks the membership. With empty credentials anyone may commit
// while the group has no members.
struct Committer {
  std::string group;
  std::string credentials;
};

// A transactional producer. One thread may use it at a time. It may be destroyed at any moment: the next
// init() with the same id, or the broker's time-out, then ends its open transaction.
class TransactionalProducer {
 public:
  virtual ~TransactionalProducer() = default;

  // Fences every other producer with this id and ends its open transaction. Call it once, before any other
  // function.
  virtual absl::Status init() = 0;
  virtual absl::Status begin() = 0;
  // Queues the messages of the outbox from index `from` that are not seen yet. Keeps views into the outbox
  // until flush() returns or the producer is destroyed. Returns the index of the first message that it did
  // not queue: call flush(), then produce() with that index. Returns the number of messages if it queued all.
  virtual absl::StatusOr<size_t> produce(Outbox& outbox, size_t from) = 0;
  // Queues one record without a value. The caller does not learn its offset.
  virtual absl::Status produce_key(const TopicPartition& place, std::string_view key) = 0;
  // Adds the group's progress, with notes (group_note.h), to the transaction. FailedPrecondition: the
  // committer is not, or no longer, a member of the group; the transaction failed.
  virtual absl::Status send_offsets(const Committer& by, const std::vector<LogProgress>& progress) = 0;
  // Waits for the delivery report of each message and returns the first failure. After ResourceExhausted
  // from here or from produce(), the messages with `refused` set were too large.
  virtual absl::Status flush() = 0;
  // After Unavailable only commit() may be called.
  virtual absl::Status commit() = 0;
  virtual absl::Status abort() = 0;
  // Requests the topic's metadata early, so that the first transaction does not wait for it.
  virtual void know_topic(const std::string& topic) = 0;
  // Whether a connection broke since the last call.
  virtual bool take_trouble() = 0;
  // How long broker quotas have throttled this producer so far, including the wait that was announced last.
  virtual std::chrono::milliseconds throttled() { return {}; }
};

struct TransactionalOptions {
  // Empty: the producer uses no transactions. begin(), commit() and abort() do nothing, and every reader sees
  // a record as soon as flush() reports it stored.
  std::string id;
  int transaction_timeout_ms = 60'000;
  int64_t batch_bytes_max = 1'000'000;  // of the topic that accepts the smallest batches
  // Topics that receive copies of records that were compressed: a copy may fit only if it is compressed, too.
  std::set<std::string> compressed_topics;
};

// One record, or the end of a partition. Views stay valid until release().
struct Incoming {
  uint32_t tag = 0;  // Consumer::Assignment::tag of its partition
  bool end = false;  // not a record: everything before `offset` has been delivered
  bool null_value = false;
  int64_t offset = 0;
  int64_t timestamp_ms = -1;
  std::optional<std::string_view> key;
  std::string_view value;
  void* handle = nullptr;  // for the consumer only
  size_t bytes() const { return value.size() + (key ? key->size() : 0); }
};

// Reads the partitions that the caller assigns; no group assigns any. One thread may use it at a time, except
// known_end().
class Consumer {
 public:
  virtual ~Consumer() = default;

  struct Assignment {
    TopicPartition place;
    int64_t from = 0;
    uint32_t tag = 0;
  };
  // Adds partitions to those assigned before.
  virtual absl::Status assign(const std::vector<Assignment>& more) = 0;
  virtual void unassign() = 0;

  // Appends up to `max` records; waits at most `wait_ms` for them. `tag` restricts the call to one partition
  // and needs ConsumerOptions::separate. Records that are appended are valid, with an error, too. After
  // Unavailable the consumer recovers by itself.
  virtual absl::Status poll(size_t max, int wait_ms, std::vector<Incoming>& out,
                            std::optional<uint32_t> tag = std::nullopt) = 0;
  // Appends the record's headers.
  virtual void headers(const Incoming& record, std::vector<Header>& out) = 0;
  // The caller must return every record that poll() appended before it destroys the consumer.
  virtual void release(std::span<const Incoming> records) = 0;

  // The cached end of a partition, or -1 if it is unknown. Sends no request. Any thread may call it.
  virtual int64_t known_end(const TopicPartition& place) = 0;
  virtual absl::StatusOr<std::vector<GroupOffset>> group_offsets(const std::vector<TopicPartition>& places,
                                                                 int wait_ms) = 0;
  // Commits offsets of the group, which has no members, for lag tools. Does not wait for the answer.
  virtual void move_group(const std::vector<std::pair<TopicPartition, GroupOffset>>& to) = 0;
};

struct ConsumerOptions {
  std::string group;
  Isolation isolation = Isolation::committed;
  bool ends = false;            // poll() also reports the ends of partitions
  bool separate = false;        // the caller polls partitions one by one
  bool single_records = false;  // the caller wants few records of each partition: fetch as little as possible
  size_t queue_bytes = 256 << 20;
  bool check_crcs = false;
  std::shared_ptr<LatestStatistics> statistics;  // updated once a second
};

// A member of a consumer group. The coordinator distributes the partitions of the topics over the members,
// and takes them from a member that was silent for the session time-out. One thread may use it at a time.
class Membership {
 public:
  // A named member stays in the group: the next process with this name keeps its partitions.
  virtual ~Membership() = default;
  // Our partitions in ascending order; waits up to `wait_ms` for a change. The coordinator takes partitions
  // from us only during this call, unless our session has expired. PermissionDenied, InvalidArgument: a
  // person must change something. AlreadyExists: another process uses our name.
  virtual absl::StatusOr<std::vector<TopicPartition>> ours(int wait_ms) = 0;
  // The names of all members that the coordinator considers alive, in the same order for every caller.
  virtual absl::StatusOr<std::vector<std::string>> members() = 0;
  // Proves membership as of the last ours(), for Committer. Empty: we are not a member yet.
  virtual std::string credentials() = 0;
};

struct MembershipOptions {
  std::string group;
  std::string member;               // our name, the same after a restart; may be empty
  std::vector<std::string> topics;  // '^' begins a regular expression, as in Inputs
  std::string purpose;              // what the members are, for messages
  int session_timeout_ms = 10'000;
  bool may_be_silent = false;  // allows a day between two calls instead of five minutes
};

class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual absl::StatusOr<std::string> id() = 0;
  // All topics that we may see and that have a partition, in ascending order.
  virtual absl::StatusOr<std::vector<TopicPartitions>> topics() = 0;
  // AlreadyExists: another process has made it, or we may not see it.
  virtual absl::Status create_topic(const TopicSpec& spec) = 0;
  // The effective values of these settings, in the order of `names`. A value is empty if the broker does not
  // know the setting.
  virtual absl::StatusOr<std::vector<std::string>> topic_configs(const std::string& topic,
                                                                 const std::vector<std::string>& names) = 0;
  // The brokers' ids of these topics, in order: another topic of the same name has another one. Empty: there
  // is no such topic, the library or the broker knows no ids, or we may not ask. For a moment after a topic
  // was created again, a broker may still report the id of the one before.
  virtual absl::StatusOr<std::vector<std::string>> topic_ids(const std::vector<std::string>& topics) {
    return std::vector<std::string>(topics.size());
  }
  virtual absl::StatusOr<Watermarks> watermarks(const TopicPartition& place, Isolation isolation) = 0;
  // The offset of the first record with this timestamp or a later one; -1: none.
  virtual absl::StatusOr<int64_t> offset_at(const TopicPartition& place, int64_t timestamp_ms) = 0;

  virtual absl::StatusOr<std::unique_ptr<TransactionalProducer>> producer(
      const TransactionalOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<Consumer>> consumer(const ConsumerOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<Membership>> join(const MembershipOptions& options) = 0;
};

}  // namespace doppel::kafka
