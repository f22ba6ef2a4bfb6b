#pragma once
// The steps from an index log and a state directory to an index that is restored: what open_kafka_index()
// does once.

#include <memory>
#include <string>

#include "base/clock.h"
#include "kafka/log/identity.h"
#include "kafka/log/kafka_index.h"
#include "kafka/log/restorer.h"
#include "kafka/log_reader.h"
#include "open/setup.h"

namespace doppel {

class KafkaOpening {
 public:
  explicit KafkaOpening(const KafkaIndexOptions& options)
      : options_(options), o_(options.options), log_name_(options.plan.index_log.name) {}

  absl::StatusOr<std::unique_ptr<KafkaIndex>> open();

 private:
  absl::Status begin_index(kafka::LogReader& log);
  bool another() const;
  bool another_index();
  WantedLog wanted_log() const;
  absl::Status compare_topics();
  void close_index();
  absl::StatusOr<bool> is_our_turn();
  absl::Status stand_by(kafka::LogReader& log);
  absl::Status read_log(kafka::LogReader& log);
  absl::Status end_restore();
  absl::Status check_rule(const std::string& rule);
  uint32_t mask_words() const { return static_cast<uint32_t>(engine_options_.rule.banding.mask_words()); }
  bool stands_by() const { return options_.standby != nullptr && options_.standby->stands_by(); }

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  // Unavailable means that another process uses the directory. Unlike Kafka, that is not worth waiting for.
  static absl::Status in_use(const absl::Status& opened) {
    return absl::IsUnavailable(opened) ? absl::FailedPreconditionError(opened.message()) : opened;
  }

  // kafka_snapshot.cc: the snapshot in the state directory
  std::string scheme_of_directory() const;
  StateOptions state_options() const;
  absl::Status open_snapshot(kafka::LogReader& log);
  absl::StatusOr<std::string> unusable_because(kafka::LogReader& log);
  absl::StatusOr<bool> has_records(kafka::LogReader& log, int64_t from) const;
  absl::Status begin_restore();
  absl::Status refuse_lost_log();
  absl::Status lost_log(int64_t log_offset) const;

  KafkaIndexOptions options_;
  const Options& o_;
  const std::string& log_name_;
  EngineOptions engine_options_;
  std::string scheme_text_, rule_text_;
  kafka::Watermarks bounds_;  // the log's, as of the last look
  WantedLog wanted_;
  LogIdentity identity_;
  Clock::time_point start_;
  double snapshot_seconds_ = 0;
  bool known_here_ = false;  // the state directory already held a part of this index
  std::unique_ptr<KafkaIndex> index_ = std::make_unique<KafkaIndex>();
  std::unique_ptr<LogRestorer> restorer_;  // refers to members of index_
};

}  // namespace doppel
