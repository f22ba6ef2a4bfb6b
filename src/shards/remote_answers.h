#pragma once
// The resolver's side of the topic of answers. For each batch it waits for the answers of matchers that
// together have every shard exactly once.

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
#include "kafka/cluster.h"
#include "pipeline/pipeline.h"
#include "shards/answers_topic.h"
#include "shards/resolver_watch.h"

namespace doppel {

class RemoteAnswers final : public Answering {
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
