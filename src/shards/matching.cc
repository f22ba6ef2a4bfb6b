#include "shards/matching.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "kafka/log/kafka_index.h"
#include "metrics/kafka_metrics.h"
#include "open/setup.h"

namespace doppel {
namespace {

constexpr int kPauseMs = 10;

}  // namespace

Matching::Matching(const Options& options, const KafkaPlan& plan, KafkaIndex& index, Monitor& monitor)
    : o_(options),
      cluster_(*plan.kafka),
      plan_(plan),
      index_(index),
      monitor_(monitor),
      shards_(index.engine->options().own->text()),
      stages_(*index.engine, thread_count(options)) {
  shown_.shards = shards_;
  shown_.ahead_most = static_cast<uint64_t>(options.cluster.ahead);
  const EngineOptions& engine = index.engine->options();
  for (int i = 0; i < stages_.threads(); ++i)
    signers_.emplace_back(engine.scheme, engine.with_sets(), options.input, key_policy(options));
  index.follower->follow(stages_.threads(), stages_.run_parts());
}

absl::Status Matching::open() {
  const auto stop = [this] { return monitor_.stop(); };
  const std::string topic = answers_topic(o_);
  ASSIGN_OR_RETURN(questions_, AnswersIn::open(cluster_, topic, kQuestions, stop));
  ASSIGN_OR_RETURN(answers_, AnswersOut::open(cluster_, topic, kAnswers, stop));
  ASSIGN_OR_RETURN(log_, kafka::LogReader::open(cluster_, {plan_.index_log.name, 0}));
  return absl::OkStatus();
}

absl::Status Matching::run(Web& web) {
  while (!monitor_.stop()) {
    RETURN_IF_ERROR(follow_log());
    RETURN_IF_ERROR(take_questions(0));
    monitor_.progress(*index_.engine, *index_.state);
    web.progress({});
    if (index_.position.cut.generation.empty()) {
      RETURN_IF_ERROR(take_questions(kPauseMs));  // no resolver has begun yet
      continue;
    }
    const LogProgress committed = order_progress();
    RETURN_IF_ERROR(place_in_order(committed));
    const size_t ahead = documents_ahead(static_cast<uint64_t>(committed.next));
    show([&](MatcherStatus& status) { status.ahead = ahead; });
    if (ahead >= static_cast<size_t>(o_.cluster.ahead)) {
      RETURN_IF_ERROR(take_questions(kPauseMs));  // far enough ahead
      continue;
    }
    ASSIGN_OR_RETURN(const bool more, source_->next(batch_));
    if (more && !batch_.records.empty()) RETURN_IF_ERROR(answer());
  }
  return absl::OkStatus();
}

MatcherStatus Matching::status() const {
  const std::lock_guard lock(shown_mutex_);
  return shown_;
}
void Matching::collect(Families& out) const {
  collect_matcher(out, status());
  const std::lock_guard lock(shown_mutex_);
  if (statistics_ != nullptr)
    collect_consumer(out, statistics_->get(), {answered_to_}, o_.kafka.fetch_queue, Clock::unix_ms());
}

void Matching::show(const std::function<void(MatcherStatus&)>& change) {
  const std::lock_guard lock(shown_mutex_);
  change(shown_);
}

// A resolver writes its progress before its generation. If there is none, the topic did not exist yet, and
// the resolver begins at the topic's beginning.
LogProgress Matching::order_progress() const {
  const auto at = index_.position.progress.find({o_.kafka.topics.front(), 0});
  if (at != index_.position.progress.end()) return at->second;
  return {.topic = o_.kafka.topics.front(), .partition = 0, .next = 0, .last_ms = -1};
}

// Counts documents, because transactions leave gaps between offsets.
size_t Matching::documents_ahead(uint64_t committed) {
  while (!ahead_.empty() && ahead_.front().end <= committed) ahead_.pop_front();
  size_t out = 0;
  for (const Answered& batch : ahead_) out += batch.documents;
  return out;
}

// Answers continue at this offset.
void Matching::go_to(uint64_t offset) {
  source_.reset();
  ahead_.clear();
  next_ = offset;
}

absl::Status Matching::follow_log() {
  const absl::StatusOr<kafka::Watermarks> bounds = log_->bounds();
  if (absl::IsUnavailable(bounds.status()) || absl::IsNotFound(bounds.status())) return absl::OkStatus();
  RETURN_IF_ERROR(bounds.status());
  show([&](MatcherStatus& status) { status.log_behind = bounds->high - index_.position.log_offset; });
  if (bounds->high <= index_.position.log_offset) {
    index_.position.covered_ms = Clock::unix_ms();  // the log has nothing newer
    return absl::OkStatus();
  }
  absl::Status read = index_.follower->restore(*log_, bounds->high, [](uint64_t) {});
  const std::optional<LogEpoch>& epoch = index_.follower->epoch();
  if (epoch && epoch->epoch != index_.epoch.epoch)
    return absl::FailedPreconditionError(
        fmt::format("{} is now the log of another index; start again", plan_.index_log.name));
  return read;
}

// Handles questions, and waits for the first one: a resolver that misses answers asks for them again.
absl::Status Matching::take_questions(int wait_ms) {
  absl::Status status;
  RETURN_IF_ERROR(questions_->take(wait_ms, [&](std::string_view bytes) {
    const std::optional<Question> question = decode_question(bytes);
    if (!question || question->generation != index_.position.cut.generation) return;
    if (question->id != 0) {
      const absl::Status answered = answer_one(*question);
      if (status.ok()) status = answered;
      return;
    }
    if (next_ <= question->from) return;
    log::info("answering again", {{"from", question->from}, {"until", next_}});
    go_to(question->from);
  }));
  return status;
}

// Answers one document of a batch, without the originals that died in that batch or before it.
absl::Status Matching::answer_one(const Question& question) {
  if (index_.position.cut.cut < question.least) return absl::OkStatus();  // the resolver will ask again
  Engine& engine = *index_.engine;
  const Record record{
      .value = question.signed_record, .source = o_.kafka.topics.front(), .offset = question.from};
  stages_.sign(work_, 1, [&](int worker, size_t, SignedDocument& out, uint8_t* slices) {
    signers_[static_cast<size_t>(worker)].sign(record, out, slices);
  });
  RETURN_IF_ERROR(engine.originals().match_without(question.deaths, [&] {
    MatchCounters counters;
    return engine.match(work_, 0, 1, counters, &question.hint);
  }));
  AnswerRecord answered{.generation = question.answered_as(),
                        .shards = shards_,
                        .as_of = index_.position.cut.cut,
                        .begin = question.from,
                        .end = question.from + 1};
  if (!work_.answers[0].is_empty()) answered.answers.emplace_back(question.from, work_.answers[0]);
  show([](MatcherStatus& status) { ++status.answered_again; });
  return send(answered);
}

absl::Status Matching::send(const AnswerRecord& record) {
  encoded_.clear();
  encode_answers(record, static_cast<size_t>(index_.engine->options().rule.max_checks), encoded_);
  return answers_->send(encoded_);
}

// Decides where answers continue: after the last answer, or after the last commit if another resolver has
// begun or other matchers were faster. Opens the source there if needed.
absl::Status Matching::place_in_order(const LogProgress& committed) {
  const auto first = static_cast<uint64_t>(committed.next);
  if (generation_ != index_.position.cut.generation) {
    generation_ = index_.position.cut.generation;
    show([this](MatcherStatus& status) { status.resolver = generation_; });
    go_to(first);
    log::info("answering", {{"shards", shards_}, {"resolver", generation_}, {"from", next_}});
  } else if (next_ < first) {
    go_to(first);
  }
  if (source_ != nullptr) return absl::OkStatus();
  kafka::KafkaSourceOptions options =
      kafka_source_options(o_, kafka_inputs(o_), [this] { return monitor_.stop(); });
  options.in_background = false;
  options.compare_offsets = false;
  options.idle_ms = 20;  // short, because the loop also waits for the log and for questions
  LogProgress from = committed;
  if (next_ != first) from = {.topic = committed.topic, .next = static_cast<int64_t>(next_)};
  ASSIGN_OR_RETURN(source_, kafka::KafkaSource::open(cluster_, options, {from}));
  const std::lock_guard lock(shown_mutex_);
  statistics_ = source_->statistics();
  answered_to_ = {.topic = committed.topic, .partition = committed.partition};
  answered_to_.next = static_cast<int64_t>(next_);
  return absl::OkStatus();
}

// Decodes the signed records (SIGN), looks them up in the index (MATCH) and sends the answers.
absl::Status Matching::answer() {
  stages_.sign(work_, batch_.records.size(),
               [this](int worker, size_t i, SignedDocument& out, uint8_t* slices) {
                 signers_[static_cast<size_t>(worker)].sign(batch_.records[i], out, slices);
               });
  MatchCounters counters;
  RETURN_IF_ERROR(stages_.match(work_, counters));
  return send_answers();
}

// Sends the answers in records of about 1 MiB, well below the topic's limit.
absl::Status Matching::send_answers() {
  constexpr size_t kEnough = kAnswerBytes / 8;
  record_ = {.generation = generation_, .shards = shards_, .as_of = index_.position.cut.cut, .begin = next_};
  size_t bytes = 0;
  for (size_t i = 0; i < batch_.records.size(); ++i) {
    const Answer& found = work_.answers[i];
    const uint64_t offset = batch_.records[i].offset;
    next_ = offset + 1;
    if (!found.is_empty()) {
      record_.answers.emplace_back(offset, found);
      bytes += found.bytes();
    }
    if (bytes < kEnough && i + 1 < batch_.records.size()) continue;
    record_.end = next_;
    RETURN_IF_ERROR(send(record_));
    record_.answers.clear();
    record_.begin = next_;
    bytes = 0;
  }
  ahead_.push_back({next_, batch_.records.size()});
  const auto found = std::count_if(work_.answers.begin(), work_.answers.end(),
                                   [](const Answer& answer) { return !answer.is_empty(); });
  const std::lock_guard lock(shown_mutex_);
  shown_.answered += batch_.records.size();
  shown_.found += static_cast<uint64_t>(found);
  answered_to_.next = static_cast<int64_t>(next_);
  answered_to_.last_ms = batch_.records.back().timestamp_ms;
  return absl::OkStatus();
}

}  // namespace doppel
