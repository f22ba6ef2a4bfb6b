#pragma once
// The topic between matchers and the resolver of an index on many machines. Partition 0 has the resolver's
// questions, partition 1 the matchers' answers (engine/answer_record.h). Answers depend on the order, the
// index log and a cut alone: repeated, late and competing ones do no harm, so nothing here is transactional.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/answer_record.h"
#include "engine/resolve.h"
#include "kafka/cluster.h"
#include "kafka/producer.h"

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

}  // namespace doppel
