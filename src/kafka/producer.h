#pragma once
// Sends transactions one after the other. A transaction either was accepted by the broker or has an unknown
// outcome; the Transactor handles both cases.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kafka/cluster.h"
#include "kafka/outbox.h"

namespace doppel::kafka {

struct ProducerOptions {
  TransactionalOptions transactions;
  int commit_deadline_ms = 30'000;  // how long to retry before giving up the producer
};

// Whether waiting may cure the error. NotFound counts because a broker that has just restarted does not know
// its partitions for a moment.
inline bool may_pass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsAborted(status) ||
         absl::IsNotFound(status);
}

class Producer {
 public:
  // `cluster` outlives it.
  Producer(Cluster& cluster, ProducerOptions options, std::function<bool()> stop)
      : cluster_(cluster), options_(std::move(options)), stop_(std::move(stop)) {}
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Replaces the producer by a new one. This fences any process that uses the id and ends its open
  // transaction. Waits for the broker until `stop` returns true. Aborted: another process fenced the new one
  // at once.
  absl::Status reopen();
  // Takes effect with the next reopen().
  void set_batch_bytes_max(int64_t bytes) { options_.transactions.batch_bytes_max = bytes; }

  // From now on each transaction commits the offsets of this group.
  void send_offsets_as(Committer by) { committer_ = std::move(by); }
  // Requests the topic's metadata early, so that the first transaction does not wait for it.
  void know_topic(const std::string& topic) { producer_->know_topic(topic); }

  // Sends all messages of the outboxes that are not seen yet in one transaction, with the progress of the
  // last outbox, and stores offset and partition in each message. OK: the broker accepted the commit. After
  // any error call reopen(); cluster.h explains the codes. `stored` is asked before the commit, and an error
  // prevents it: the messages have their offsets then.
  using Stored = std::function<absl::Status()>;
  absl::Status send(
      std::span<Outbox* const> outboxes, const Stored& stored = [] { return absl::OkStatus(); });

  // Discards the hanging records in these partitions by aborting a transaction that writes there. With
  // `progress`, discards the hanging offsets of the group, too. Calls `before` before it discards anything,
  // unless the broker reports that we are fenced.
  absl::Status drop_hanging(
      const std::vector<TopicPartition>& partitions, const std::vector<LogProgress>& progress = {},
      const std::function<void()>& before = [] {});

  // Whether a connection to the broker broke since the last forget_trouble().
  bool troubled();
  void forget_trouble() { troubled_ = false; }
  // How long broker quotas have throttled us so far. Any thread.
  std::chrono::milliseconds throttled() const { return std::chrono::milliseconds(throttled_ms_.load()); }

 private:
  using Call = std::function<absl::Status()>;
  absl::Status try_send(std::span<Outbox* const> outboxes, const Stored& stored);
  absl::Status produce(Outbox& outbox);
  void look_at_quotas();
  absl::Status again_until_deadline(const Call& call, const char* slow = nullptr);

  Cluster& cluster_;
  ProducerOptions options_;
  std::function<bool()> stop_;
  std::unique_ptr<TransactionalProducer> producer_;
  Committer committer_;  // an empty group: no offsets are committed
  bool troubled_ = false;
  int timeout_as_configured_ms_ = options_.transactions.transaction_timeout_ms;
  int64_t throttled_before_ms_ = 0;  // by producers before this one
  std::atomic<int64_t> throttled_ms_{0};
};

}  // namespace doppel::kafka
