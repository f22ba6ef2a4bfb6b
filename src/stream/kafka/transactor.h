#pragma once
// One transaction after the other, each exactly once. What makes it so: a batch stays encoded until its
// commit is known, and the progress records in the index log tell whether it is.

#include <atomic>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "stream/kafka/log_reader.h"
#include "stream/kafka/outbox.h"

namespace doppel::kafka {

struct TransactorOptions {
  ClientOptions client;
  std::string transactional_id;
  std::string index_log;
  std::string owner;  // of this process, unique
  int transaction_timeout_ms = 60'000;
  int commit_deadline_ms = 30'000;  // after it the producer is given up, and the log is asked
  int64_t message_bytes_max = 1'000'000;
};

class Transactor {
 public:
  // Fences whoever used the id before and settles its open transaction. Waits for the broker as long as
  // `stop` says no.
  static absl::StatusOr<std::unique_ptr<Transactor>> open(const TransactorOptions& options,
                                                          std::function<bool()> stop);
  ~Transactor();

  // For lag tools only: the group's offsets go with each transaction from now on. `consumer` outlives this.
  void send_offsets_of(rd_kafka_t* consumer) { consumer_ = consumer; }
  // Where the index log is read on when it must be asked.
  void start_at(int64_t log_offset) { log_offset_ = log_offset; }

  // Returns when the outbox is known to be committed, once. Aborted: another process has taken over; whatever
  // else comes must stop the process too.
  absl::Status commit(const Outbox& outbox);

  // Behind the last record of the index log that was committed here.
  int64_t log_offset() const { return log_offset_; }
  // Asks the topic's metadata, so that the first transaction does not wait for it.
  void know_topic(const std::string& topic);

  struct Stats {
    std::atomic<uint64_t> commits{0};
    std::atomic<uint64_t> recoveries{0};   // it was unknown whether a transaction is committed
    std::atomic<uint64_t> resent{0};       // it was not: aborted, and sent again
    std::atomic<uint64_t> fenced{0};       // somebody (or the broker's time-out) took our place
    std::atomic<double> last_commit_s{0};  // how long the last commit took, all attempts together
  };
  const Stats& stats() const { return stats_; }

 private:
  explicit Transactor(TransactorOptions options, std::function<bool()> stop)
      : options_(std::move(options)), stop_(std::move(stop)) {}
  absl::Status init();
  absl::Status send(const Outbox& outbox);
  absl::Status produce(const Outbox& outbox);
  absl::Status send_offsets(const Outbox& outbox);
  absl::Status await_offsets();
  absl::Status commit_until_known();
  absl::StatusOr<bool> recover(const Outbox& outbox, bool fenced);
  absl::StatusOr<bool> is_in_log(const Outbox& outbox);
  absl::Status refuse_if_taken_over();
  absl::Status read_on(const std::function<void(const LogRecord&)>& visit);
  static void delivered(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque);

  TransactorOptions options_;
  std::function<bool()> stop_;
  Client producer_;
  rd_kafka_t* consumer_ = nullptr;
  int64_t log_offset_ = 0;
  // Set by delivery reports, on the thread that commits.
  int64_t delivered_log_offset_ = -1;
  size_t without_offset_ = 0;
  Stats stats_;
};

}  // namespace doppel::kafka
