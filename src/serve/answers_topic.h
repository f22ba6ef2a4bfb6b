#pragma once
// The topic between matchers and the resolver of an index on many machines. Partition 0 has the resolver's
// questions, partition 1 the matchers' answers (engine/answer_record.h). Answers depend on the order, the
// index log and a cut alone: repeated, late and competing ones do no harm, so nothing here is transactional.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/answer_record.h"
#include "serve/resolver_watch.h"
#include "stream/kafka/cluster.h"
#include "stream/kafka/producer.h"
#include "stream/pipeline.h"

namespace doppel {

inline constexpr int32_t kQuestions = 0, kAnswers = 1;  // partitions

// Of a resolver, by its generation. Without an id: "answer what is in the order from here on again". With
// one: "answer this one document, as if these were dead"; the answer's generation is answered_as() then.
struct Question {
  std::string generation;
  uint64_t from = 0;  // offset in the order
  uint64_t id = 0;
  Cut least = 0;  // not as of an earlier cut
  Deaths deaths;
  std::string signed_record;

  std::string answered_as() const;
};

// A producer into one partition of the topic.
class AnswersOut {
 public:
  static absl::StatusOr<std::unique_ptr<AnswersOut>> open(kafka::Cluster& cluster, const std::string& topic,
                                                          int32_t partition, std::function<bool()> stop);
  // Returns when the broker has it.
  absl::Status send(const std::string& record);

 private:
  AnswersOut(kafka::Cluster& cluster, std::string topic, int32_t partition, std::function<bool()> stop);

  const std::string topic_;
  const int32_t partition_;
  const std::function<bool()> stop_;
  kafka::Outbox outbox_;
  kafka::Producer producer_;
};

// What comes into one partition from now on.
class AnswersIn {
 public:
  static absl::StatusOr<std::unique_ptr<AnswersIn>> open(kafka::Cluster& cluster, const std::string& topic,
                                                         int32_t partition,
                                                         const std::function<bool()>& stop);
  // Waits `wait_ms` for the first.
  absl::Status take(int wait_ms, const std::function<void(std::string_view)>& visit);

 private:
  std::unique_ptr<kafka::Consumer> consumer_;
  std::vector<kafka::Incoming> incoming_;
};

std::string encode_question(const Question& question);
std::optional<Question> decode_question(std::string_view bytes);

// The resolver's side.
class RemoteAnswers final : public Answering {
 public:
  struct Options {
    std::string topic;
    std::string generation;  // of our decisions: answers of other ones are passed over
    const Engine& engine;    // that decides
    std::function<bool()> stop;
    // Asked while answers do not come: they never will if another resolver has taken over, which this one
    // would only see when it writes. An error ends the waiting.
    std::function<absl::Status()> still_ours;
    ResolverWatch& watch;
  };
  static absl::StatusOr<std::unique_ptr<RemoteAnswers>> open(kafka::Cluster& cluster, Options options);

  // Waits for answers that together come from every shard, each once. Says which are missing, and asks for
  // them again. Cancelled: stopped meanwhile.
  absl::Status answer(const Batch& batch, Work& work) override;
  // Unavailable: those who answered the batch have been replaced by matchers of other shards.
  absl::Status answer_again(const Batch& batch, size_t i, const Deaths& deaths, Work& work) override;

 private:
  struct Matcher {  // all that have the same shards
    ShardSet shards;
    std::deque<AnswerRecord> blocks;  // in the order in which they came
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
  std::vector<std::string> chosen_;          // their shards
  std::optional<Question> question_;         // that is open, of one document
  std::map<std::string, Answer> again_;      // to it, by shards
  uint64_t questions_ = 0;
  Cut covered_ = 0;
  std::map<std::string, Clock::time_point> complained_;
};

}  // namespace doppel
