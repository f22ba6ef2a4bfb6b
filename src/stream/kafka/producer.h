#pragma once
// One transaction after the other, as the library makes them. What the answers mean is the Transactor's
// business: here a transaction is either taken by the broker or of unknown outcome.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "stream/kafka/client.h"
#include "stream/kafka/outbox.h"
#include "stream/kafka/visibility.h"

namespace doppel::kafka {

struct ProducerOptions {
  ClientOptions client;
  std::string transactional_id;
  int transaction_timeout_ms = 60'000;
  int commit_deadline_ms = 30'000;  // after it the producer is given up
  int64_t message_bytes_max = 1'000'000;
};

class Producer {
 public:
  Producer(ProducerOptions options, std::function<bool()> stop)
      : options_(std::move(options)), stop_(std::move(stop)) {}
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // A new one in place of the one before: fences whoever uses the id, and ends its open transaction. Waits
  // for the broker as long as `stop` says no.
  absl::Status begin_anew();

  // For lag tools only: the group's offsets go with each transaction from now on. `consumer` outlives this.
  void send_offsets_of(rd_kafka_t* consumer) { consumer_ = consumer; }
  // Asks the topic's metadata, so that the first transaction does not wait for it.
  void know_topic(const std::string& topic);

  // All messages of these that are not seen yet, in one transaction, with the progress of the last one. They
  // know then where they were stored. OK: the broker has taken the commit. Aborted: another process has taken
  // over. After any error begin_anew() must come.
  absl::Status send(std::span<Outbox* const> outboxes);

  // Drops what hangs in these partitions, by an aborted transaction of ours.
  absl::Status drop_hanging(const std::vector<Visibility::Partition>& partitions);

  // Whether a connection to the broker broke since it was last forgotten.
  bool troubled();
  void forget_trouble() { troubled_ = false; }

 private:
  absl::Status produce(Outbox& outbox);
  absl::Status send_offsets(const std::vector<LogProgress>& progress);
  absl::Status flush();
  absl::Status commit_until_known();

  ProducerOptions options_;
  std::function<bool()> stop_;
  Client producer_;
  rd_kafka_t* consumer_ = nullptr;
  bool troubled_ = false;
};

}  // namespace doppel::kafka
