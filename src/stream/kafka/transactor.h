#pragma once
// One batch after the other, each published exactly once. What makes it so: a batch stays encoded until
// readers see it, and what they see is looked up wherever an answer of the broker is missing or may be wrong.

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "stream/kafka/log_reader.h"
#include "stream/kafka/outbox.h"
#include "stream/kafka/producer.h"

namespace doppel::kafka {

struct TransactorOptions {
  ProducerOptions producer;
  std::string index_log;
  std::string owner;  // of this process, unique
};

class Transactor {
 public:
  // Fences whoever used the id before and settles its open transaction: from then on the index log ends where
  // readers see its end. Waits for the broker as long as `stop` says no.
  static absl::StatusOr<std::unique_ptr<Transactor>> open(const TransactorOptions& options,
                                                          std::function<bool()> stop);

  // For lag tools only: the group's offsets go with each transaction from now on. `consumer` outlives this.
  void send_offsets_of(rd_kafka_t* consumer) { producer_.send_offsets_of(consumer); }
  // Where the index log is read on when it must be asked.
  void start_at(int64_t log_offset) { log_offset_ = log_offset; }

  // Returns when the outbox is known to be committed, once, and keeps what it holds: the caller has an older
  // one then, to be cleared. Aborted: another process has taken over; whatever else comes must stop the
  // process too.
  absl::Status commit(Outbox& outbox);
  // To be called now and then while there is nothing to commit: a batch that the broker has forgotten to mark
  // as committed would stay unseen until the next one. Does nothing unless a connection broke.
  absl::Status look_after();

  // Behind the last record of the index log that was committed here.
  int64_t log_offset() const { return log_offset_; }
  void know_topic(const std::string& topic) { producer_.know_topic(topic); }

  struct Stats {
    std::atomic<uint64_t> commits{0};
    std::atomic<uint64_t> recoveries{0};   // it was unknown whether a transaction is committed
    std::atomic<uint64_t> resent{0};       // it was not: aborted, and sent again
    std::atomic<uint64_t> fenced{0};       // somebody (or the broker's time-out) took our place
    std::atomic<double> last_commit_s{0};  // how long the last commit took, all attempts together
  };
  const Stats& stats() const { return stats_; }

 private:
  using Outboxes = std::span<Outbox* const>;

  explicit Transactor(TransactorOptions options, std::function<bool()> stop)
      : options_(std::move(options)), producer_(options_.producer, stop), stop_(std::move(stop)) {}
  absl::Status settle_log();
  absl::Status publish(Outboxes outboxes, absl::Status failed);
  absl::Status recover(Outboxes outboxes, bool fenced, bool& committed);
  absl::Status drop_what_hangs(Visibility& visibility, const std::set<std::string>& topics);
  absl::Status insist(const std::function<absl::Status()>& attempt);
  absl::Status await_readers(Outboxes outboxes);
  absl::Status refuse_if_taken_over();
  absl::Status read_on();

  TransactorOptions options_;
  Producer producer_;
  std::function<bool()> stop_;
  int64_t log_offset_ = 0;
  Outbox last_;  // the last one that was committed
  Stats stats_;
};

}  // namespace doppel::kafka
