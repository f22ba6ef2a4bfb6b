#pragma once
// The main loop of a matcher. It follows the index log and answers the documents of the order in turn, at
// most cluster.ahead documents beyond the last commit.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/monitor.h"
#include "daemon/web.h"
#include "kafka/log/kafka_index.h"
#include "kafka/log_reader.h"
#include "kafka/source.h"
#include "kafka/topics/plan.h"
#include "metrics/families.h"
#include "metrics/stream_metrics.h"
#include "pipeline/sign_record.h"
#include "session/stages.h"
#include "shards/remote_answers.h"
#include "status/cluster_status.h"

namespace doppel {

class Matching {
 public:
  // The references outlive this object.
  Matching(const Options& options, const KafkaPlan& plan, KafkaIndex& index, Monitor& monitor);

  // Call it before run().
  absl::Status open();
  // Returns when monitor.stop() returns true, or with the error that must stop the process.
  absl::Status run(Web& web);

  // ---- any thread
  MatcherStatus status() const;
  void collect(Families& out) const;

 private:
  absl::Status follow_log();
  absl::Status take_questions(int wait_ms);
  absl::Status answer_one(const Question& question);
  LogProgress order_progress() const;
  size_t documents_ahead(uint64_t committed);
  absl::Status place_in_order(const LogProgress& committed);
  void go_to(uint64_t offset);
  absl::Status answer();
  absl::Status send_answers();
  absl::Status send(const AnswerRecord& record);
  void show(const std::function<void(MatcherStatus&)>& change);

  const Options& o_;
  kafka::Cluster& cluster_;
  const KafkaPlan& plan_;
  KafkaIndex& index_;
  Monitor& monitor_;
  const std::string shards_;
  Stages stages_;
  std::vector<RecordSigner> signers_;
  std::unique_ptr<AnswersIn> questions_;
  std::unique_ptr<AnswersOut> answers_;
  std::optional<kafka::LogReader> log_;
  std::unique_ptr<kafka::KafkaSource> source_;
  std::string generation_;
  uint64_t next_ = 0;  // offset in the order to answer next
  struct Answered {
    uint64_t end;
    size_t documents;
  };
  std::deque<Answered> ahead_;  // batches that may not be committed yet
  Batch batch_;
  Work work_;
  AnswerRecord record_;
  std::string encoded_;

  mutable std::mutex shown_mutex_;  // guards the members below
  MatcherStatus shown_;
  std::shared_ptr<const kafka::LatestStatistics> statistics_;
  SettledPartition answered_to_;  // how far the order is answered
};

}  // namespace doppel
