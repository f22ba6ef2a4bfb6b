#pragma once
// The topic between matchers and the resolver of an index on many machines. Partition 0 has the resolver's
// questions, partition 1 the matchers' answers (engine/answer.h). An answer depends only on the order,
// the index log and a cut. So repeated, late and competing answers do no harm, and no transactions are
// needed.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/answer.h"
#include "engine/resolve.h"
#include "kafka/cluster.h"
#include "kafka/producer.h"

namespace doppel {

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

}  // namespace doppel
