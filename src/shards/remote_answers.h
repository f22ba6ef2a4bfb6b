#pragma once
// The resolver's side of the topic of answers: for each batch it waits until matchers have answered that
// together have every shard once.

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
#include "engine/answer_record.h"
#include "engine/engine.h"
#include "kafka/cluster.h"
#include "pipeline/pipeline.h"
#include "shards/answers_topic.h"
#include "shards/resolver_watch.h"

namespace doppel {

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
