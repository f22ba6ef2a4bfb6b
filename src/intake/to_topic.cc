#include "intake/to_topic.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "absl/strings/numbers.h"
#include "base/checksums.h"
#include "base/log.h"
#include "base/reason.h"
#include "base/status.h"
#include "intake/body.h"
#include "kafka/outbox.h"
#include "records/metadata.h"
#include "session/same_document.h"

namespace doppel {
namespace {

using http::Request;
using http::Response;

constexpr size_t kProducedAtOnce = 4096, kProducedBytes = 8 << 20;
constexpr size_t kAnswered = 100'000;  // answers that are kept for clients that ask again

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// 20 bytes.
std::string digest_of(const std::optional<std::string>& key, std::string_view value) {
  Sha1 sha1;
  if (key) sha1.update(fmt::format("{} {}", key->size(), *key));
  sha1.update("\n");
  sha1.update(value);
  const Sha1::Digest digest = sha1.finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// In place of a partition: the topic does not take a document of this size.
constexpr int32_t kTooLarge = -2;

// The most bytes that the topic takes at a time.
int64_t most_bytes(kafka::Cluster& cluster, const std::string& topic) {
  constexpr int64_t kUnknown = 1'000'000;
  const auto values = cluster.topic_configs(topic, {"max.message.bytes"});
  int64_t most = 0;
  return values.ok() && absl::SimpleAtoi(values->front(), &most) && most > 0 ? most : kUnknown;
}

Response why_not_stored(const absl::Status& status, const std::string& topic) {
  if (absl::IsPermissionDenied(status))
    return http::error(500, "doppel may not write to the topic " + topic + "; it needs that right");
  return http::try_again(503, "the brokers have not confirmed these documents; send them again");
}

}  // namespace

TopicIntake::TopicIntake(TopicIntakeOptions options) : options_(std::move(options)), token_(random_token()) {}
TopicIntake::~TopicIntake() { close(); }

void TopicIntake::route(http::Server& server) {
  route_inserts(
      server, http::Access::token,
      [self = shared_from_this()](const Request& request, std::optional<std::string_view> id,
                                  http::Reply reply) { self->insert(request, id, std::move(reply)); });
}

void TopicIntake::open(kafka::Cluster& cluster, EventContext context) {
  const std::lock_guard lock(mutex_);
  cluster_ = &cluster;
  context_ = std::move(context);
  state_ = State::open;
  thread_ = std::thread([this] { feed(); });
}

void TopicIntake::close() {
  {
    const std::lock_guard lock(mutex_);
    state_ = State::closed;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  Done done;
  {
    const std::lock_guard lock(mutex_);
    const Response why = http::try_again(
        503, "the daemon stops, and has not judged these documents; send them again, to hear their verdicts");
    const auto known = std::exchange(known_, {});
    for (const auto& [name, document] : known) {
      if (!document->answer) fail(name, document, why, done);
    }
    queue_.clear();
    places_.clear();
    early_.clear();
    answered_.clear();
  }
  reply(done);
}

// Reads the documents of a request. Those without a document are rejected, and have their line.
std::optional<Response> TopicIntake::take(const Request& request, std::optional<std::string_view> id,
                                          Waiting& waiting,
                                          std::vector<std::optional<Document>>& documents) const {
  if (!is_json(request.header("content-type").value_or("")))
    return http::error(
        415, "where Kafka is the input, documents come as application/json or application/x-ndjson");
  if (request.query_value("url"))
    return http::error(400, "where Kafka is the input, the URL of a document is in the document itself");
  if (request.query_value("durability").value_or("commit") != "commit")
    return http::error(400, "where Kafka is the input, the brokers keep the documents: durability is commit");
  Batch batch;
  if (auto refused = read_body(request, options_.format, id, batch)) return refused;
  const std::unique_ptr<Decoder> decoder = make_decoder(options_.format);
  for (Record& record : batch.records) {
    const std::string_view named = std::exchange(record.sender, nullptr)->id;
    std::optional<Document>& document = documents.emplace_back();
    doppel::Document decoded;
    if (!named.empty()) record.key = named;
    if (const absl::Status status = decoder->decode(record, decoded); !status.ok()) {
      waiting.lines.push_back(rejected_line(record.line, std_sv(status.message())));
      ++waiting.rejected;
      continue;
    }
    if (!named.empty() && !decoded.id.empty() && decoded.id != named) {
      return http::error(400, fmt::format("the address says that the id is \"{}\", and the document \"{}\"",
                                          named, decoded.id));
    }
    waiting.lines.emplace_back();
    document.emplace();
    document->value = record.value;
    const std::string_view key = named.empty() ? std::string_view(decoded.id) : named;
    if (!key.empty()) document->key = key;
  }
  return std::nullopt;
}

void TopicIntake::insert(const Request& request, std::optional<std::string_view> id, http::Reply reply_to) {
  if (is_from_a_page(request))
    return reply_to(http::error(403, "pages of other sites may not insert documents"));
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open)
      return reply_to(http::try_again(
          503, state_ == State::starting ? "the daemon starts; try again" : "the daemon stops; try again"));
  }
  const auto waiting = std::make_shared<Waiting>();
  std::vector<std::optional<Document>> documents;
  if (auto refused = take(request, id, *waiting, documents)) return reply_to(*std::move(refused));
  waiting->reply = std::move(reply_to);
  Done done;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) {
      waiting->failed = http::try_again(503, "the daemon stops; try again");
      documents.clear();
    }
    for (size_t i = 0; i < documents.size(); ++i) {
      if (!documents[i]) continue;
      Name name = digest_of(documents[i]->key, documents[i]->value);
      std::shared_ptr<Document>& known = known_[name];
      if (known != nullptr && known->answer &&
          (!known->answer->original || *known->answer->original >= lowest_live_)) {
        waiting->lines[i] = known->answer->line;
        continue;
      }
      ++waiting->left;
      if (known == nullptr || known->answer) {
        known = std::make_shared<Document>(*std::move(documents[i]));
        queue_.emplace_back(std::move(name), known);
      }
      known->waiting.emplace_back(waiting, i);
    }
    if (waiting->left == 0) done.push_back(waiting);
  }
  changed_.notify_all();
  reply(done);
}

// Produces what waits, on a thread of its own.
void TopicIntake::feed() {
  std::vector<std::pair<Name, std::shared_ptr<Document>>> batch;
  std::vector<Place> places;
  while (true) {
    batch.clear();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return state_ == State::closed || !queue_.empty(); });
      if (state_ == State::closed) break;
      size_t bytes = 0;
      while (!queue_.empty() && batch.size() < kProducedAtOnce && bytes < kProducedBytes) {
        bytes += queue_.front().second->value.size();
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      producing_ = true;
    }
    const absl::Status sent = send(batch, places);
    if (!sent.ok()) {
      log::warn("documents from HTTP are not in the topic",
                {{"topic", options_.topic}, {"says", std_sv(sent.message())}});
      producer_.reset();
    }
    Done done;
    {
      const std::lock_guard lock(mutex_);
      producing_ = false;
      for (size_t i = 0; i < batch.size(); ++i) {
        auto& [name, document] = batch[i];
        if (places[i].first == kTooLarge) {
          give(name, document,
               {.rejected = fmt::format("the document is larger than the topic {} takes (max.message.bytes)",
                                        options_.topic),
                .status = 413},
               done);
        } else if (places[i].second < 0) {
          fail(name, document, why_not_stored(sent, options_.topic), done);
        } else if (const auto early = early_.find(places[i]); early != early_.end()) {
          give(name, document, std::move(early->second), done);
        } else {
          places_[places[i]] = batch[i];
        }
      }
      early_.clear();
    }
    reply(done);
  }
  producer_.reset();
}

// Sets the place of each document, which has the offset -1 if the brokers have not confirmed it. The brokers
// refuse what they got together, so those that were refused are sent again, one by one.
absl::Status TopicIntake::send(std::vector<std::pair<Name, std::shared_ptr<Document>>>& batch,
                               std::vector<Place>& places) {
  places.assign(batch.size(), {-1, -1});
  absl::Status status = send_together(batch, places);
  if (!absl::IsResourceExhausted(status)) {
    std::replace_if(
        places.begin(), places.end(), [](const Place& place) { return place.first == kTooLarge; },
        Place(-1, -1));
    return status;
  }
  status = absl::OkStatus();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (places[i].first != kTooLarge) continue;
    places[i] = {-1, -1};
    const absl::Status alone = send_together(std::span(batch).subspan(i, 1), std::span(places).subspan(i, 1));
    if (!alone.ok() && !absl::IsResourceExhausted(alone)) status = alone;
  }
  return status;
}

absl::Status TopicIntake::send_together(std::span<const std::pair<Name, std::shared_ptr<Document>>> batch,
                                        std::span<Place> places) {
  kafka::Outbox outbox;
  for (const auto& [name, document] : batch) {
    std::optional<kafka::Outbox::Span> key;
    if (document->key) key = outbox.put(*document->key);
    const kafka::Outbox::Span value = outbox.put(document->value);
    outbox.header(kHttpHeader, token_);
    outbox.add(options_.topic, key, value);
  }
  const auto produce = [&]() -> absl::Status {
    if (producer_ == nullptr) {
      ASSIGN_OR_RETURN(producer_,
                       cluster_->producer({.batch_bytes_max = most_bytes(*cluster_, options_.topic)}));
      RETURN_IF_ERROR(producer_->init());
    }
    RETURN_IF_ERROR(producer_->begin());
    for (size_t at = 0; at < batch.size();) {
      ASSIGN_OR_RETURN(at, producer_->produce(outbox, at));
      RETURN_IF_ERROR(producer_->flush());
    }
    return absl::OkStatus();
  };
  absl::Status status = produce();
  if (!status.ok()) producer_.reset();  // from here on nothing refers to the outbox
  for (size_t i = 0; i < batch.size(); ++i) {
    const kafka::Outbox::Message& sent = outbox.messages()[i];
    places[i] = {sent.refused ? kTooLarge : sent.stored_in, sent.refused ? -1 : sent.offset};
  }
  return status;
}

std::optional<TopicIntake::Answer> TopicIntake::answer_to(const Decided& decided, size_t i) const {
  const Outcome& outcome = decided.work.resolved.outcomes[i];
  const SignedDocument& document = decided.work.sign.documents[i];
  if (outcome.verdict == Verdict::rejected) return Answer{.rejected = document.reason};
  Metadata metadata, original;
  if (!decode_metadata(document.metadata, metadata).ok()) return std::nullopt;
  const bool has_original = decode_metadata(outcome.original, original).ok();
  Answer out;
  if (outcome.verdict == Verdict::skipped && has_original &&
      document.reason == message_of(Reason::repeated)) {
    append_any_verdict(out.line, context_, original, {}, {.verdict = Verdict::unique}, "");
    return out;
  }
  if (outcome.verdict == Verdict::duplicate && !has_original) return std::nullopt;
  append_any_verdict(out.line, context_, metadata, original, outcome, document.reason);
  if (outcome.verdict == Verdict::unique || outcome.verdict == Verdict::duplicate) out.original = outcome.seq;
  return out;
}

void TopicIntake::settled(const Decided& decided) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    lowest_live_ = decided.work.resolved.lowest_live;
    if (!decided.work.resolved.removed.empty()) {
      for (const Name& name : std::exchange(answered_, {})) known_.erase(name);
    }
    if (places_.empty() && !producing_) return;
    for (size_t i = 0; i < decided.batch.records.size(); ++i) {
      const Record& record = decided.batch.records[i];
      if (came_by_http(record).value_or("") != token_ || record.source != options_.topic) continue;
      const Place place(record.partition, static_cast<int64_t>(record.offset));
      const auto found = places_.find(place);
      if (found == places_.end() && !producing_) continue;  // its request was told to come again
      std::optional<Answer> answer = answer_to(decided, i);
      if (!answer) answer = Answer{.rejected = "its verdict cannot be shown"};
      if (found == places_.end()) {
        early_.emplace(place, *std::move(answer));
        continue;
      }
      const auto [name, document] = std::move(found->second);
      places_.erase(found);
      give(name, document, *std::move(answer), done);
    }
  }
  reply(done);
}

void TopicIntake::give(const Name& name, const std::shared_ptr<Document>& document, Answer answer,
                       Done& done) {
  for (auto& [waiting, line] : document->waiting) {
    if (answer.rejected.empty()) {
      waiting->lines[line] = answer.line;
    } else {
      waiting->lines[line] = rejected_line(line + 1, answer.rejected, answer.status);
      ++waiting->rejected;
    }
    if (--waiting->left == 0) done.push_back(waiting);
  }
  document->waiting.clear();
  document->value = {};
  const bool keeps = answer.rejected.empty() && answer.original;
  if (!keeps) {
    known_.erase(name);
    return;
  }
  document->answer = std::move(answer);
  answered_.push_back(name);
  if (answered_.size() <= kAnswered) return;
  if (const auto oldest = known_.find(answered_.front()); oldest != known_.end() && oldest->second->answer)
    known_.erase(oldest);
  answered_.pop_front();
}

void TopicIntake::fail(const Name& name, const std::shared_ptr<Document>& document, const Response& why,
                       Done& done) {
  for (auto& [waiting, line] : document->waiting) {
    waiting->failed = why;
    if (--waiting->left == 0) done.push_back(waiting);
  }
  document->waiting.clear();
  known_.erase(name);
}

void TopicIntake::reply(const Done& done) {
  for (const std::shared_ptr<Waiting>& waiting : done) {
    if (waiting->failed) {
      waiting->reply(*std::move(waiting->failed));
      continue;
    }
    waiting->reply(answer_of(waiting->lines, waiting->rejected));
  }
}

}  // namespace doppel
