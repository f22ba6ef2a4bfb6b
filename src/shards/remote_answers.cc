#include "shards/remote_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/checksums.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "kafka/topics/named_topics.h"

namespace doppel {
namespace {

constexpr int kPollMs = 100;
constexpr std::chrono::seconds kPatience(5);  // before asking for the answers of a batch again
constexpr std::chrono::seconds kAskAgain(2);  // before repeating a question about one document
constexpr std::chrono::minutes kSayAgain(1);

const Answer& nothing(Cut as_of) {
  thread_local Answer answer;
  answer.as_of = as_of;
  return answer;
}

bool choose_rest(const std::vector<ShardSet>& sets, std::vector<bool>& taken,
                 std::vector<std::string>& chosen) {
  const auto shard = static_cast<uint32_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
  if (shard == taken.size()) return true;
  for (const ShardSet& set : sets) {
    const std::vector<uint32_t>& own = set.own();
    if (set.of() != taken.size() || own.front() != shard ||
        std::any_of(own.begin(), own.end(), [&](uint32_t s) { return taken[s]; }))
      continue;
    for (const uint32_t s : own) taken[s] = true;
    chosen.push_back(set.text());
    if (choose_rest(sets, taken, chosen)) return true;
    chosen.pop_back();
    for (const uint32_t s : own) taken[s] = false;
  }
  return false;
}

// Chooses sets that together have every shard once, and returns their texts in `chosen`. Returns false if
// there are none.
bool choose_each_shard_once(const std::vector<ShardSet>& sets, std::vector<std::string>& chosen) {
  std::set<uint32_t> numbers;  // how many shards there are; matchers may disagree
  for (const ShardSet& set : sets) numbers.insert(set.of());
  return std::any_of(numbers.begin(), numbers.end(), [&](uint32_t shard_count) {
    chosen.clear();
    std::vector<bool> taken(shard_count);
    return choose_rest(sets, taken, chosen);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteAnswers>> RemoteAnswers::open(kafka::Cluster& cluster, Options options) {
  std::unique_ptr<RemoteAnswers> out(new RemoteAnswers(std::move(options)));
  const Options& o = out->options_;
  ASSIGN_OR_RETURN(out->in_, AnswersIn::open(cluster, o.topic, kAnswers, o.stop));
  ASSIGN_OR_RETURN(out->out_, AnswersOut::open(cluster, o.topic, kQuestions, o.stop));
  return out;
}

absl::Status RemoteAnswers::answer(const Batch& batch, Work& work) {
  work.covered = covered_;
  if (batch.records.empty()) {
    work.owners = Owners();
    work.answers.clear();
    return absl::OkStatus();
  }
  drop_below(batch.records.front().offset);
  RETURN_IF_ERROR(wait(batch));
  fill(batch, work);
  options_.watch.decides(batch.records.back().offset + 1, options_.engine.cut(),
                         options_.engine.window_originals(), chosen_);
  return absl::OkStatus();
}

absl::Status RemoteAnswers::wait(const Batch& batch) {
  const auto begun = Clock::now();
  auto asked = begun, logged = begun;
  std::string said_of;  // what was missing at the last message
  int wait_ms = 0;
  while (true) {
    RETURN_IF_ERROR(in_->take(wait_ms, [this](std::string_view bytes) { take(bytes); }));
    if (choose(batch)) return absl::OkStatus();
    wait_ms = kPollMs;
    const std::string lacks = missing(batch);
    options_.watch.waits(lacks);
    if (options_.stop()) return absl::CancelledError("stopped while waiting for answers");
    const auto now = Clock::now();
    if (now - begun >= kPatience && (lacks != said_of || now - logged > kSayAgain)) {
      logged = now;
      said_of = lacks;
      log::warn("waiting for the answers of shards; every shard needs a matcher",
                {{"missing", lacks}, {"answered", answered(batch)}, {"topic", options_.topic}});
    }
    if (now - asked < kPatience) continue;
    asked = now;
    RETURN_IF_ERROR(options_.still_ours());
    options_.watch.asked_batch();
    RETURN_IF_ERROR(out_->send(
        encode_question({.generation = options_.generation, .from = batch.records.front().offset})));
  }
}

absl::Status RemoteAnswers::answer_again(const Batch& batch, size_t i, const Deaths& deaths,
                                         const RelateHint& hint, Work& work) {
  const Record& record = batch.records[i];
  question_ = Question{.generation = options_.generation,
                       .from = record.offset,
                       .id = ++questions_,
                       .least = covered_,
                       .deaths = deaths,
                       .hint = hint,
                       .signed_record = std::string(record.value)};
  again_.clear();
  const auto start = Clock::now();
  auto asked = start - kPatience, logged = start;
  while (!take_again(work, i)) {
    const auto now = Clock::now();
    if (options_.stop()) return absl::CancelledError("stopped while waiting for answers");
    if (now - start > kPatience && others_answer())
      return absl::UnavailableError(fmt::format(
          "the matchers of {} ended in the middle of a batch, and others have their shards; start again",
          absl::StrJoin(chosen_, " ")));
    if (now - logged > kSayAgain) {
      logged = now;
      log::warn("waiting for the answers of shards", {{"asked", absl::StrJoin(chosen_, " ")}});
    }
    if (now - asked >= kAskAgain) {
      if (now - start > kAskAgain) RETURN_IF_ERROR(options_.still_ours());
      RETURN_IF_ERROR(out_->send(encode_question(*question_)));
      options_.watch.asked_document();
      asked = now;
    }
    RETURN_IF_ERROR(in_->take(kPollMs, [this](std::string_view bytes) { take(bytes); }));
  }
  question_.reset();
  return absl::OkStatus();
}

// Whether every shard has answered the question, but by other matchers than the batch.
bool RemoteAnswers::others_answer() const {
  std::vector<ShardSet> sets;
  sets.reserve(again_.size());
  for (const auto& [shards, answer] : again_) sets.push_back(*parse_shards(shards));
  std::vector<std::string> chosen;
  return choose_each_shard_once(sets, chosen);
}

// Takes the answers to the question if all matchers that answered the batch have sent theirs.
bool RemoteAnswers::take_again(Work& work, size_t i) {
  for (const std::string& shards : chosen_)
    if (!again_.contains(shards)) return false;
  for (size_t owner = 0; owner < chosen_.size(); ++owner)
    work.answers[i * chosen_.size() + owner] = again_.at(chosen_[owner]);
  return true;
}

void RemoteAnswers::take(std::string_view bytes) {
  AnswerRecord record;
  absl::Status status = decode_answers(bytes, record);
  const bool to_question = question_ && record.generation == question_->answered_as();
  if (status.ok() && record.generation != options_.generation && !to_question) return;
  for (const auto& [offset, answer] : record.answers)
    for (const BandCount& count : answer.counts)
      if (count.band >= options_.engine.options().rule.banding.bands)
        status = invalid("the answers are for an index with more bands");
  const absl::StatusOr<ShardSet> shards = status.ok() ? parse_shards(record.shards) : status;
  if (!shards.ok()) {
    const std::string what(shards.status().message());
    Clock::time_point& complained = complained_[what];
    if (Clock::now() - complained > kSayAgain)
      log::error("ignoring a record that is not an answer", {{"topic", options_.topic}, {"says", what}});
    complained = Clock::now();
    return;
  }
  if (record.as_of < covered_) return;  // a slow matcher: earlier batches were decided as of a later cut
  if (to_question) {
    Answer& answer = again_[record.shards];
    if (record.answers.empty()) {
      answer = nothing(record.as_of);
    } else {
      answer = std::move(record.answers.front().second);
    }
    return;
  }
  options_.watch.heard(*shards, record.end, record.as_of);
  Matcher& matcher = matchers_.try_emplace(record.shards, Matcher{*shards, {}}).first->second;
  matcher.blocks.push_back(std::move(record));
}

void RemoteAnswers::drop_below(uint64_t offset) {
  for (auto& [name, matcher] : matchers_)
    std::erase_if(matcher.blocks,
                  [&](const AnswerRecord& block) { return block.end <= offset || block.as_of < covered_; });
  std::erase_if(matchers_, [](const auto& named) { return named.second.blocks.empty(); });
}

const AnswerRecord* RemoteAnswers::block(const Matcher& matcher, uint64_t offset) const {
  for (const AnswerRecord& block : matcher.blocks)
    if (block.begin <= offset && offset < block.end) return &block;
  return nullptr;
}

bool RemoteAnswers::covers(const Matcher& matcher, const Batch& batch) const {
  const AnswerRecord* at = nullptr;
  for (const Record& record : batch.records) {
    if (at != nullptr && record.offset >= at->begin && record.offset < at->end) continue;
    at = block(matcher, record.offset);
    if (at == nullptr) return false;
  }
  return true;
}

// Chooses matchers that have answered the whole batch and together have every shard once.
bool RemoteAnswers::choose(const Batch& batch) {
  std::vector<ShardSet> complete;
  for (const auto& [name, matcher] : matchers_)
    if (covers(matcher, batch)) complete.push_back(matcher.shards);
  return choose_each_shard_once(complete, chosen_);
}

// Lists the shards for which no matcher has answered the whole batch.
std::string RemoteAnswers::missing(const Batch& batch) const {
  std::map<uint32_t, std::vector<bool>> answered;  // by how many shards there are
  for (const auto& [name, matcher] : matchers_) {
    if (!covers(matcher, batch)) continue;
    std::vector<bool>& shards = answered.try_emplace(matcher.shards.of(), matcher.shards.of()).first->second;
    for (const uint32_t shard : matcher.shards.own()) shards[shard] = true;
  }
  std::string out;
  for (const auto& [shard_count, shards] : answered) {
    std::vector<uint32_t> none;
    for (uint32_t shard = 0; shard < shard_count; ++shard)
      if (!shards[shard]) none.push_back(shard);
    if (!out.empty()) out += " or ";
    out += none.empty() ? fmt::format("shards of {} that overlap", shard_count)
                        : ShardSet(shard_count, none).text();
  }
  return out.empty() ? "all" : out;
}

// Lists the shards of the matchers that have answered the whole batch.
std::string RemoteAnswers::answered(const Batch& batch) const {
  std::vector<std::string> out;
  for (const auto& [name, matcher] : matchers_)
    if (covers(matcher, batch)) out.push_back(name);
  return absl::StrJoin(out, " ");
}

void RemoteAnswers::fill(const Batch& batch, Work& work) {
  std::vector<ShardSet> sets;
  sets.reserve(chosen_.size());
  for (const std::string& shards : chosen_) sets.push_back(matchers_.at(shards).shards);
  const Owners owners(sets);
  work.answers.resize(batch.records.size() * owners.count());
  Cut covered = std::numeric_limits<Cut>::max();
  for (size_t owner = 0; owner < chosen_.size(); ++owner) {
    const AnswerRecord* at = nullptr;
    for (size_t i = 0; i < batch.records.size(); ++i) {
      const uint64_t offset = batch.records[i].offset;
      if (at == nullptr || offset < at->begin || offset >= at->end)
        at = block(matchers_.at(chosen_[owner]), offset);
      DOPPEL_CHECK(at != nullptr, "who was chosen has answered", owner, offset);
      covered = std::min(covered, at->as_of);
      const auto found = std::lower_bound(at->answers.begin(), at->answers.end(), offset,
                                          [](const auto& named, uint64_t o) { return named.first < o; });
      work.answers[i * owners.count() + owner] =
          found != at->answers.end() && found->first == offset ? found->second : nothing(at->as_of);
    }
  }
  work.owners = owners;
  covered_ = std::max(covered_, covered);
  work.covered = covered_;
}

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
  const kafka::TopicPartition place{topic, partition};
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
