#pragma once
// Documents that come by HTTP where Kafka is the input (kafka.produce_from_http). They go to the input topic,
// so the topic holds all documents, in the order in which they are judged. A request is answered when the
// transactions with the verdicts of its documents are committed. No thread waits for that.
//
// A client that heard nothing sends its request again. A document that is on its way, or was answered lately
// by this process, is not produced a second time: the client hears the same answer. Otherwise the topic gets
// it a second time, with the header kHttpHeader (session/same_document.h). If the first one became an
// original, the pipeline skips the second one as repeated, and the answer is that of the first.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "formats/decoder.h"
#include "http/server.h"
#include "kafka/cluster.h"
#include "pipeline/pipeline.h"
#include "records/events.h"

namespace doppel {

struct TopicIntakeOptions {
  FormatOptions format;
  std::string topic;
};

class TopicIntake : public std::enable_shared_from_this<TopicIntake> {
 public:
  explicit TopicIntake(TopicIntakeOptions options);
  ~TopicIntake();
  TopicIntake(const TopicIntake&) = delete;
  TopicIntake& operator=(const TopicIntake&) = delete;

  // Adds the routes. Until open(), and after close(), the answer is 503. The routes keep this object.
  void route(http::Server& server);
  // `cluster` lives until close(). May be called again after close().
  void open(kafka::Cluster& cluster, EventContext context);
  // Requests that are not answered get 503.
  void close();
  // For Pipeline::observe, on the pipeline's thread: answers what the batch decided.
  void settled(const Decided& decided);

 private:
  // A request that waits for documents.
  struct Waiting {
    http::Reply reply;
    std::vector<std::string> lines;
    size_t left = 0, rejected = 0;  // documents without an answer; without a verdict
    std::optional<http::Response> failed;
  };
  struct Answer {
    std::string line;
    std::string rejected;                        // or why there is no verdict
    int status = 422;                            // of that
    std::optional<Seq> original = std::nullopt;  // the line holds while it is in the index; nullopt: for ever
  };
  // A document that was not answered, or was answered lately.
  struct Document {
    std::optional<std::string> key;
    std::string value;
    std::vector<std::pair<std::shared_ptr<Waiting>, size_t>> waiting;  // with their lines
    std::optional<Answer> answer;
  };
  using Name = std::string;                   // of a document: a digest of its key and its value
  using Place = std::pair<int32_t, int64_t>;  // partition and offset
  using Done = std::vector<std::shared_ptr<Waiting>>;
  enum class State { starting, open, closed };

  void insert(const http::Request& request, std::optional<std::string_view> id, http::Reply reply);
  std::optional<http::Response> take(const http::Request& request, std::optional<std::string_view> id,
                                     Waiting& waiting, std::vector<std::optional<Document>>& documents) const;
  void feed();
  absl::Status send(std::vector<std::pair<Name, std::shared_ptr<Document>>>& batch,
                    std::vector<Place>& places);
  absl::Status send_together(std::span<const std::pair<Name, std::shared_ptr<Document>>> batch,
                             std::span<Place> places);
  std::optional<Answer> answer_to(const Decided& decided, size_t i) const;
  void give(const Name& name, const std::shared_ptr<Document>& document, Answer answer, Done& done);
  void fail(const Name& name, const std::shared_ptr<Document>& document, const http::Response& why,
            Done& done);
  static void reply(const Done& done);

  const TopicIntakeOptions options_;
  const std::string token_;  // of this process, in kHttpHeader
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::starting;
  kafka::Cluster* cluster_ = nullptr;
  EventContext context_;
  std::deque<std::pair<Name, std::shared_ptr<Document>>> queue_;  // not produced yet
  absl::flat_hash_map<Name, std::shared_ptr<Document>> known_;
  std::deque<Name> answered_;  // the oldest first
  bool producing_ = false;     // the places of some documents are not known yet
  std::map<Place, std::pair<Name, std::shared_ptr<Document>>> places_;  // produced, not decided
  std::map<Place, Answer> early_;  // decided before the broker's answer to the producer was heard
  Seq lowest_live_ = 0;
  std::unique_ptr<kafka::TransactionalProducer> producer_;  // used by thread_ alone
  std::thread thread_;
};

}  // namespace doppel
