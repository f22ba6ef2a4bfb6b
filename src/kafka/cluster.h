#pragma once
// All that doppel asks of Kafka. Two implementations: librdkafka/ speaks to a real cluster, and the tests
// simulate one that decides everything by a seed.
//
// What an error means, whichever call returns it:
//   Unavailable        it may pass; the same call may be made again
//   DeadlineExceeded   it may pass, but this producer has to be given up: its transaction failed, or its
//                      outcome is unknown
//   Aborted            the producer is fenced: another one uses its transactional id, or the broker ended a
//                      transaction that took too long
//   NotFound           the broker knows no such topic or partition (now: metadata may lag behind)
//   OutOfRange         the offset is not in the partition (deleted, or never written)
//   ResourceExhausted  a record is larger than the client or the topic takes
//   PermissionDenied   the cluster's access rules forbid it
//   InvalidArgument    the configuration is wrong
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

struct Place {  // a partition
  std::string topic;
  int32_t partition = 0;
  auto operator<=>(const Place&) const = default;
};

enum class Isolation { committed, uncommitted };

// The first offset, and the end of what readers of that isolation see.
struct Watermarks {
  int64_t low = 0, high = 0;
};

struct TopicPartitions {
  std::string topic;
  std::vector<int32_t> partitions;  // ascending
};

struct TopicSpec {
  std::string name;
  std::string purpose;  // as a message says it: "events"
  int partitions = 1;
  int replication = -1;  // -1: the broker's default
  std::vector<std::pair<std::string, std::string>> configs;
};

// Where a group stands, and what its committer noted with that.
struct GroupOffset {
  int64_t offset = -1;  // -1: nowhere
  std::string note;
};

// Who commits offsets of a group: a member (Membership::credentials()), or, where these are empty, anybody
// while the group has no members.
struct Committer {
  std::string group;
  std::string credentials;
};

// A transactional producer. One thread at a time. It may be destroyed at any moment; its open transaction is
// then ended by the next init() with the same id, or by the broker's time-out.
class TransactionalProducer {
 public:
  virtual ~TransactionalProducer() = default;

  // Fences every other producer with this id and ends its open transaction. Once, before all else.
  virtual absl::Status init() = 0;
  virtual absl::Status begin() = 0;
  // Takes messages of the outbox that are not seen yet, from the one at `from` on, and keeps views into it
  // until flush() returns or the producer is destroyed. Returns the first one that it did not take: flush()
  // comes before the rest. Where it took all, their number.
  virtual absl::StatusOr<size_t> produce(Outbox& outbox, size_t from) = 0;
  // One record without a value. The caller does not learn where it was stored.
  virtual absl::Status produce_key(const Place& place, std::string_view key) = 0;
  // How far a group has read, as a part of the transaction, with notes (group_note.h). FailedPrecondition:
  // who commits is not, or no longer, the member that it was; the transaction failed.
  virtual absl::Status send_offsets(const Committer& by, const std::vector<LogProgress>& progress) = 0;
  // OK: each message has its delivery report. Otherwise the first report of a failure. After
  // ResourceExhausted, from here or from produce(), messages that are `refused` were too large.
  virtual absl::Status flush() = 0;
  // After Unavailable only commit() may be called.
  virtual absl::Status commit() = 0;
  virtual absl::Status abort() = 0;
  // Asks for the topic's metadata, so that the first transaction does not wait for it.
  virtual void know_topic(const std::string& topic) = 0;
  // Whether a connection broke since the last call.
  virtual bool take_trouble() = 0;
};

struct TransactionalOptions {
  // Empty: there are no transactions. begin(), commit() and abort() do nothing, and what flush() saw stored
  // is seen by all.
  std::string id;
  int transaction_timeout_ms = 60'000;
  int64_t batch_bytes_max = 1'000'000;  // of the topic that takes the smallest batches
  // Copies of records that were compressed may only fit if they are compressed again.
  std::set<std::string> compressed_topics;
};

// One record, or the end of a partition. Views live until release().
struct Incoming {
  uint32_t tag = 0;  // of its partition, as assign() got it
  bool end = false;  // no record: nothing is left before `offset`
  bool null_value = false;
  int64_t offset = 0;
  int64_t timestamp_ms = -1;
  std::optional<std::string_view> key;
  std::string_view value;
  void* handle = nullptr;  // of the consumer
  size_t bytes() const { return value.size() + (key ? key->size() : 0); }
};

// Reads partitions that are assigned to it; no group decides. One thread at a time, but for known_end().
class Consumer {
 public:
  virtual ~Consumer() = default;

  struct Assignment {
    Place place;
    int64_t from = 0;
    uint32_t tag = 0;
  };
  // In addition to what was assigned before.
  virtual absl::Status assign(const std::vector<Assignment>& more) = 0;
  virtual void unassign() = 0;

  // Appends `max` records, or those that came within `wait_ms`. With `tag`: of this partition alone (only
  // where ConsumerOptions::separate). What was appended before an error is good. Unavailable: the consumer
  // goes on by itself.
  virtual absl::Status poll(size_t max, int wait_ms, std::vector<Incoming>& out,
                            std::optional<uint32_t> tag = std::nullopt) = 0;
  // Appends the record's headers.
  virtual void headers(const Incoming& record, std::vector<Header>& out) = 0;
  // Every record that poll() appended goes back here, before the consumer ends.
  virtual void release(std::span<const Incoming> records) = 0;

  // The end of a partition as far as it is known; asks nobody. -1: unknown. Any thread.
  virtual int64_t known_end(const Place& place) = 0;
  virtual absl::StatusOr<std::vector<GroupOffset>> group_offsets(const std::vector<Place>& places,
                                                                 int wait_ms) = 0;
  // For lag tools: moves the group, which has no members. Nobody waits for it.
  virtual void move_group(const std::vector<std::pair<Place, GroupOffset>>& to) = 0;
};

struct ConsumerOptions {
  std::string group;
  Isolation isolation = Isolation::committed;
  bool ends = false;            // the ends of partitions are reported, as soon as the broker says so
  bool separate = false;        // partitions are polled one by one
  bool single_records = false;  // few are wanted of each partition: no more than needed are fetched
  size_t queue_bytes = 256 << 20;
  bool check_crcs = false;
  LatestStatistics* statistics = nullptr;  // gets them once a second; outlives the consumer
};

// A member of a group: its coordinator spreads the partitions of some topics over the members, and takes
// them away from one that it has not heard of for a session's time. One thread at a time.
class Membership {
 public:
  // A member with a name does not leave the group: the next process under this name goes on with what it had.
  virtual ~Membership() = default;
  // What is ours, as far as is known, ascending; waits `wait_ms` for news. Nothing is taken from us but in
  // this call, unless the coordinator has given us up. PermissionDenied, InvalidArgument: a person must
  // change something. AlreadyExists: another process uses our name.
  virtual absl::StatusOr<std::vector<Place>> ours(int wait_ms) = 0;
  // The names of all members that the coordinator takes for alive, in an order that is the same for all.
  virtual absl::StatusOr<std::vector<std::string>> members() = 0;
  // What proves that we are the member which ours() spoke of last. Empty: there is no group yet.
  virtual std::string credentials() = 0;
};

struct MembershipOptions {
  std::string group;
  std::string member;               // our name, the same after a restart; empty: none
  std::vector<std::string> topics;  // '^' begins an expression, as in Inputs
  std::string purpose;              // who the members are, as a message says it
  int session_timeout_ms = 10'000;
  bool may_be_silent = false;  // for a day between two calls; else for five minutes
};

class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual absl::StatusOr<std::string> id() = 0;
  // Every topic with a partition that we may see, ascending.
  virtual absl::StatusOr<std::vector<TopicPartitions>> topics() = 0;
  virtual absl::Status create_topic(const TopicSpec& spec) = 0;
  // Settings of a topic that are in effect, in the order of `names`; empty where the broker does not know
  // one.
  virtual absl::StatusOr<std::vector<std::string>> topic_configs(const std::string& topic,
                                                                 const std::vector<std::string>& names) = 0;
  virtual absl::StatusOr<Watermarks> watermarks(const Place& place, Isolation isolation) = 0;
  // The first record that is not older; -1: there is none.
  virtual absl::StatusOr<int64_t> offset_at(const Place& place, int64_t timestamp_ms) = 0;

  virtual absl::StatusOr<std::unique_ptr<TransactionalProducer>> producer(
      const TransactionalOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<Consumer>> consumer(const ConsumerOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<Membership>> join(const MembershipOptions& options) = 0;
};

}  // namespace doppel::kafka
