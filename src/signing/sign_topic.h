#pragma once
// A topic of signed records. It has one partition, whose order is the order in which documents are judged.
// Each batch is one transaction that includes the next offsets of its input.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "config/options.h"
#include "engine/signed_record.h"
#include "kafka/cluster.h"
#include "kafka/pace.h"
#include "kafka/producer.h"
#include "kafka/visibility.h"
#include "signing/sign_stream.h"

namespace doppel {

class SignedTopic final : public SignedOutput {
 public:
  struct To {
    std::string topic;
    std::string group;             // its offsets are part of each batch; "" stores no offsets
    std::string transactional_id;  // fences any other process that uses it
    int transaction_timeout_ms = 60'000;
    std::string scheme;           // description of the records' scheme
    int num_perm = 0;             // of the scheme; needed with a group
    kafka::Pace* pace = nullptr;  // learns how large the next batch may be; may be nullptr; outlives this
  };

  // Creates the topic if it is missing and the configuration allows it. InvalidArgument and NotFound mean
  // that the topic cannot be used; the message says what to do.
  static absl::StatusOr<std::unique_ptr<SignedTopic>> open(const Options& options, kafka::Cluster& cluster,
                                                           To to, const std::function<bool()>& stop);

  // Returns where the group continues in these partitions; omits partitions that it has never read.
  absl::StatusOr<std::vector<LogProgress>> progress(const std::vector<kafka::TopicPartition>& places);
  // Writes the start offsets of partitions that the group has never read.
  absl::Status begin(const std::vector<LogProgress>& beginnings);
  // Sets the credentials with which offsets are written from now on.
  void commit_as(std::string credentials);

  size_t bytes_max() const override;
  // FailedPrecondition: the group no longer accepts the credentials, and nothing of the batch is written;
  // call commit_as(), then write() again. Aborted: another process uses the transactional id.
  absl::Status write(const SignedBatchOut& out) override;
  // Looks once a second whether a transaction of a signer that is gone hides later records. A broker that is
  // killed may end a transaction without marking its records (docs/adr/0017), and nobody else would.
  void look_after();
  // The next offsets of the partitions of the last batch.
  const std::vector<LogProgress>& written() const { return outbox_.progress; }
  // Whether the last write() or begin() failed because of the credentials.
  bool refused() const { return refused_; }

 private:
  SignedTopic(kafka::Cluster& cluster, To to, int64_t most, std::function<bool()> stop);

  void add(const Record& record, const std::string& bytes);
  void advance(const Batch& batch);
  absl::Status send();
  absl::Status try_send();
  // Waits until readers see the last batch, which the broker accepted. False: it was discarded.
  absl::StatusOr<bool> await_readers();
  // Ends what a transaction left behind whose first record is at `offset`.
  absl::Status settle(int64_t offset);
  absl::StatusOr<bool> was_committed(int64_t offset, const SignedOrigin& origin,
                                     const std::vector<LogProgress>& group);
  static absl::StatusOr<std::vector<LogProgress>> progress_by(
      kafka::Consumer& reader, const std::vector<kafka::TopicPartition>& places);
  absl::Status explained(const absl::Status& status) const;
  absl::StatusOr<bool> is_committed();

  kafka::Cluster& cluster_;
  const To to_;
  const int64_t most_;
  const std::function<bool()> stop_;
  const kafka::TopicPartition order_;
  kafka::Visibility visibility_;
  kafka::Outbox outbox_;
  kafka::Producer producer_;
  std::string credentials_;
  // Both read the group's offsets: the first one waits until no transaction with some is open.
  std::unique_ptr<kafka::Consumer> decided_, committed_;
  bool refused_ = false;
  struct Hidden {
    int64_t from = -1;  // the first record that readers do not see; -1: they see all
    Clock::time_point since{};
  } hidden_;
  Clock::time_point next_look_{};
};

// Repeats the call while the brokers are unavailable. Returns Cancelled if `stop` returns true meanwhile.
absl::Status patiently(const std::function<bool()>& stop, const std::function<absl::Status()>& call);

}  // namespace doppel
