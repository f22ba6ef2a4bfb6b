#pragma once
// What matchers and the resolver of an index on many machines say to each other, and the resolver's side of
// it.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/answer.h"
#include "engine/engine.h"
#include "engine/resolve.h"
#include "kafka/cluster.h"
#include "kafka/producer.h"
#include "pipeline/pipeline.h"
#include "shards/resolver_watch.h"

namespace doppel {

// The topic between matchers and the resolver of an index on many machines. Partition 0 has the resolver's
// questions, partition 1 the matchers' answers (engine/answer.h). An answer depends only on the order,
// the index log and a cut. So repeated, late and competing answers do no harm, and no transactions are
// needed.
inline constexpr int32_t kQuestions = 0, kAnswers = 1;  // partitions

// A question of the resolver with this generation. Without an id it means: answer the order from offset
// `from` on again. With an id it means: answer only the document at `from`, as if the originals in `deaths`
// were dead; the answer then has the generation answered_as().
struct Question {
  std::string generation;
  uint64_t from = 0;  // offset in the order
  uint64_t id = 0;    // 0: none
  Cut least = 0;      // the answer must not be as of an earlier cut
  Deaths deaths;
  RelateHint hint;
  std::string signed_record;

  std::string answered_as() const;
};

// Writes to one partition of the topic.
class AnswersOut {
 public:
  static absl::StatusOr<std::unique_ptr<AnswersOut>> open(kafka::Cluster& cluster, const std::string& topic,
                                                          int32_t partition, std::function<bool()> stop);
  // Returns once the broker has stored the record. Retries until `stop`.
  absl::Status send(const std::string& record);

 private:
  AnswersOut(kafka::Cluster& cluster, std::string topic, int32_t partition, std::function<bool()> stop);

  const std::string topic_;
  const int32_t partition_;
  const std::function<bool()> stop_;
  kafka::Outbox outbox_;
  kafka::Producer producer_;
};

// Reads the records that are written to one partition after open().
class AnswersIn {
 public:
  static absl::StatusOr<std::unique_ptr<AnswersIn>> open(kafka::Cluster& cluster, const std::string& topic,
                                                         int32_t partition,
                                                         const std::function<bool()>& stop);
  // Visits the records that have arrived. Waits up to `wait_ms` for the first one.
  absl::Status take(int wait_ms, const std::function<void(std::string_view)>& visit);

 private:
  std::unique_ptr<kafka::Consumer> consumer_;
  std::vector<kafka::Incoming> incoming_;
};

std::string encode_question(const Question& question);
std::optional<Question> decode_question(std::string_view bytes);

// For each batch it waits for the answers of matchers that together have every shard exactly once.
class RemoteAnswers final : public AnswerSource {
 public:
  struct Options {
    std::string topic;
    std::string generation;  // of our decisions; answers of other generations are ignored
    const Engine& engine;    // the engine that decides
    std::function<bool()> stop;
    // Called while answers are missing. If another resolver has taken over they never come, and without this
    // the resolver would notice only when it writes. An error ends the waiting.
    std::function<absl::Status()> still_ours;
    ResolverWatch& watch;
  };
  static absl::StatusOr<std::unique_ptr<RemoteAnswers>> open(kafka::Cluster& cluster, Options options);

  // Waits for answers from every shard. Logs which are missing and asks for them again. Cancelled: stopped.
  absl::Status answer(const Batch& batch, Work& work) override;
  // Unavailable: matchers with other shards have replaced those that answered the batch.
  absl::Status answer_again(const Batch& batch, size_t i, const Deaths& deaths, const RelateHint& hint,
                            Work& work) override;

 private:
  struct Matcher {  // stands for all matchers with the same shards
    ShardSet shards;
    std::deque<AnswerRecord> blocks;  // in order of arrival
  };

  explicit RemoteAnswers(Options options) : options_(std::move(options)) {}
  void take(std::string_view bytes);
  bool take_again(Work& work, size_t i);
  void drop_below(uint64_t offset);
  const AnswerRecord* block(const Matcher& matcher, uint64_t offset) const;
  bool covers(const Matcher& matcher, const Batch& batch) const;
  bool choose(const Batch& batch);
  bool others_answer() const;
  absl::Status wait(const Batch& batch);
  std::string missing(const Batch& batch) const;
  std::string answered(const Batch& batch) const;
  void fill(const Batch& batch, Work& work);

  const Options options_;
  std::unique_ptr<AnswersIn> in_;
  std::unique_ptr<AnswersOut> out_;
  std::map<std::string, Matcher> matchers_;  // by their shards
  std::vector<std::string> chosen_;          // shards of the matchers whose answers the batch uses
  std::optional<Question> question_;         // the open question about one document
  std::map<std::string, Answer> again_;      // the answers to it, by shards
  uint64_t questions_ = 0;
  Cut covered_ = 0;
  std::map<std::string, Clock::time_point> complained_;
};

}  // namespace doppel
