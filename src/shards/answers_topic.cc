#include "shards/answers_topic.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/checksums.h"
#include "base/log.h"
#include "base/status.h"
#include "kafka/topics/named_topics.h"

namespace doppel {
namespace {

constexpr size_t kPollMost = 1000;
constexpr std::chrono::milliseconds kPause(200);

}  // namespace

AnswersOut::AnswersOut(kafka::Cluster& cluster, std::string topic, int32_t partition,
                       std::function<bool()> stop)
    : topic_(std::move(topic)),
      partition_(partition),
      stop_(std::move(stop)),
      producer_(cluster, {.transactions = {.id = {}, .batch_bytes_max = kAnswerBytes}}, stop_) {}

absl::StatusOr<std::unique_ptr<AnswersOut>> AnswersOut::open(kafka::Cluster& cluster,
                                                             const std::string& topic, int32_t partition,
                                                             std::function<bool()> stop) {
  std::unique_ptr<AnswersOut> out(new AnswersOut(cluster, topic, partition, std::move(stop)));
  RETURN_IF_ERROR(out->producer_.reopen());
  out->producer_.know_topic(topic);
  return out;
}

absl::Status AnswersOut::send(const std::string& record) {
  outbox_.clear();
  outbox_.add(topic_, std::nullopt, outbox_.put(record)).partition = partition_;
  kafka::Outbox* const all[] = {&outbox_};
  while (true) {
    absl::Status status = producer_.send(all);
    if (status.ok() || !kafka::may_pass(status)) return status;
    if (stop_()) return absl::CancelledError("stopped while waiting for Kafka");
    log::warn("sending answers again", {{"says", std_sv(status.message())}});
    RETURN_IF_ERROR(producer_.reopen());
    Clock::sleep(kPause);
  }
}

absl::StatusOr<std::unique_ptr<AnswersIn>> AnswersIn::open(kafka::Cluster& cluster, const std::string& topic,
                                                           int32_t partition,
                                                           const std::function<bool()>& stop) {
  const kafka::Place place{topic, partition};
  auto out = std::make_unique<AnswersIn>();
  ASSIGN_OR_RETURN(out->consumer_,
                   cluster.consumer({.group = "doppel-answers", .isolation = kafka::Isolation::uncommitted}));
  while (true) {
    const absl::StatusOr<kafka::Watermarks> marks = cluster.watermarks(place, kafka::Isolation::uncommitted);
    if (marks.ok()) {
      RETURN_IF_ERROR(out->consumer_->assign({{.place = place, .from = marks->high, .tag = 0}}));
      return out;
    }
    if (!kafka::may_pass(marks.status())) return marks.status();
    if (stop()) return absl::CancelledError("stopped while waiting for Kafka");
    Clock::sleep(kPause);
  }
}

absl::Status AnswersIn::take(int wait_ms, const std::function<void(std::string_view)>& visit) {
  incoming_.clear();
  // A poll for many records waits for all of them. So wait for one, then take the others without waiting.
  absl::Status polled = wait_ms == 0 ? absl::OkStatus() : consumer_->poll(1, wait_ms, incoming_);
  if (polled.ok()) polled = consumer_->poll(kPollMost, 0, incoming_);
  for (const kafka::Incoming& record : incoming_)
    if (!record.end && !record.null_value) visit(record.value);
  consumer_->release(incoming_);
  if (polled.ok() || absl::IsUnavailable(polled) || absl::IsNotFound(polled)) return absl::OkStatus();
  return polled;
}

std::string Question::answered_as() const { return fmt::format("{}?{}", generation, id); }

std::string encode_question(const Question& question) {
  std::string out(sizeof(uint32_t), '\0');
  put_string(out, question.generation);
  put_varint(out, question.from);
  put_varint(out, question.id);
  put_varint(out, question.least);
  put_varint(out, question.deaths.lowest_live);
  put_varint(out, question.deaths.seqs.size());
  for (const Seq seq : question.deaths.seqs) put_varint(out, seq);
  put_string(out, question.signed_record);
  if (question.hint != RelateHint{}) {
    put_fixed<uint8_t>(out, question.hint.anyway ? 1 : 0);
    put_string(out, std::string_view(reinterpret_cast<const char*>(question.hint.common.data()),
                                     question.hint.common.size()));
  }
  store(out.data(), crc32c(std::string_view(out).substr(sizeof(uint32_t))));
  return out;
}

std::optional<Question> decode_question(std::string_view bytes) {
  ByteReader in(bytes);
  const auto crc = in.fixed<uint32_t>();
  if (!in.ok() || crc != crc32c(in.rest())) return std::nullopt;
  Question out;
  out.generation = in.string();
  out.from = in.varint();
  out.id = in.varint();
  out.least = in.varint();
  out.deaths.lowest_live = in.varint();
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) out.deaths.seqs.push_back(in.varint());
  out.signed_record = in.string();
  if (in.ok() && !in.rest().empty()) {  // a resolver of an older version has none
    out.hint.anyway = in.fixed<uint8_t>() != 0;
    const std::string_view common = in.string();
    out.hint.common.assign(common.begin(), common.end());
  }
  if (!in.done()) return std::nullopt;
  return out;
}

}  // namespace doppel
