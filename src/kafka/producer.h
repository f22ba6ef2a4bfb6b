#pragma once
// One transaction after the other. What the answers mean is the Transactor's business: here a transaction is
// either taken by the broker or of unknown outcome.

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
  int commit_deadline_ms = 30'000;  // after it the producer is given up
};

// Whether waiting may cure this. NotFound: a broker that has just come back does not know its partitions for
// a moment.
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

  // A new one in place of the one before: fences the process that uses the id, and ends its open transaction.
  // Waits for the broker as long as `stop` says no. Aborted: another process fenced it at once.
  absl::Status reopen();
  // The limit of a topic changed. Used from the next reopen() on.
  void set_batch_bytes_max(int64_t bytes) { options_.transactions.batch_bytes_max = bytes; }

  // These offsets go with each transaction from now on.
  void send_offsets_as(Committer by) { committer_ = std::move(by); }
  // Asks the topic's metadata, so that the first transaction does not wait for it.
  void know_topic(const std::string& topic) { producer_->know_topic(topic); }

  // All messages of these that are not seen yet, in one transaction, with the progress of the last one. They
  // know then where they were stored. OK: the broker has taken the commit. After any error reopen() must
  // come; cluster.h says what the codes mean.
  absl::Status send(std::span<Outbox* const> outboxes);

  // Drops what hangs in these partitions, by an aborted transaction of ours. `before` is called before
  // anything is dropped, unless the broker says that we are fenced.
  absl::Status drop_hanging(
      const std::vector<Place>& partitions, const std::function<void()>& before = [] {});

  // Whether a connection to the broker broke since it was last forgotten.
  bool troubled();
  void forget_trouble() { troubled_ = false; }

 private:
  using Call = std::function<absl::Status()>;
  absl::Status produce(Outbox& outbox);
  absl::Status again_until_deadline(const Call& call, const char* slow = nullptr);

  Cluster& cluster_;
  ProducerOptions options_;
  std::function<bool()> stop_;
  std::unique_ptr<TransactionalProducer> producer_;
  Committer committer_;  // without a group: no offsets
  bool troubled_ = false;
};

}  // namespace doppel::kafka
