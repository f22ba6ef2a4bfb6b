#pragma once
// A topic of signed records: one partition, whose order is the order in which documents are decided. Each
// batch is one transaction with the offsets that say where its input goes on.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "kafka/cluster.h"
#include "kafka/producer.h"
#include "signing/sign_stream.h"

namespace doppel {

class SignedTopic final : public SignedOutput {
 public:
  struct To {
    std::string topic;
    std::string group;             // whose offsets go with a batch; empty: nothing is remembered
    std::string transactional_id;  // fences any other process with this one
    int transaction_timeout_ms = 60'000;
    std::string scheme;  // of the records, in words
  };

  // Makes the topic if it is missing and the configuration lets us. InvalidArgument, NotFound: it cannot be
  // used; the message says what to do.
  static absl::StatusOr<std::unique_ptr<SignedTopic>> open(const Options& options, kafka::Cluster& cluster,
                                                           To to, const std::function<bool()>& stop);

  // Where the group goes on with these partitions; those that it never read are left out.
  absl::StatusOr<std::vector<LogProgress>> progress(const std::vector<kafka::Place>& places);
  // Writes where partitions begin that the group never read.
  absl::Status begin(const std::vector<LogProgress>& beginnings);
  // As whom offsets are written from now on.
  void commit_as(std::string credentials);

  size_t bytes_max() const override;
  // FailedPrecondition: the group does not know these credentials any more, and nothing of the batch is
  // written; write() may be called again with others. Aborted: another process uses the transactional id.
  absl::Status write(const SignedBatchOut& out) override;
  // Where the partitions of the last batch go on.
  const std::vector<LogProgress>& written() const { return outbox_.progress; }
  // Whether that is why the last write() or begin() failed.
  bool refused() const { return refused_; }

 private:
  SignedTopic(kafka::Cluster& cluster, To to, int64_t most, std::function<bool()> stop);

  void add(const Record& record, const std::string& bytes);
  void advance(const Batch& batch);
  absl::Status send();
  absl::Status try_send();
  absl::Status explained(const absl::Status& status) const;
  absl::StatusOr<bool> is_committed();

  kafka::Cluster& cluster_;
  const To to_;
  const int64_t most_;
  const std::function<bool()> stop_;
  kafka::Outbox outbox_;
  kafka::Producer producer_;
  std::unique_ptr<kafka::Consumer> reader_;
  bool refused_ = false;
};

// Makes the call again while the brokers are away. Cancelled: stopped meanwhile.
absl::Status patiently(const std::function<bool()>& stop, const std::function<absl::Status()>& call);

}  // namespace doppel
