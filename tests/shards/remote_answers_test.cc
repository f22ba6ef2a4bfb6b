// Which answers a resolver accepts. They come through a topic that anybody may write to, late and repeated.
// An answer to an earlier resolver counts other batches, so it must change nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "engine/bodies.h"
#include "open/setup.h"
#include "shards/remote_answers.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr HashKey kKey{1, 2};

// The incoming and outgoing records, without the rest of Kafka.
struct Wire {
  std::deque<std::string> comes;
  std::vector<std::string> sent;
  std::function<void()> on_sent = [] {};
  int waited_ms = 0;
};

class FakeConsumer final : public kafka::Consumer {
 public:
  explicit FakeConsumer(Wire& wire) : wire_(wire) {}
  absl::Status assign(const std::vector<Assignment>&) override { return absl::OkStatus(); }
  void unassign() override {}
  absl::Status poll(size_t max, int wait_ms, std::vector<kafka::Incoming>& out,
                    std::optional<uint32_t>) override {
    for (; max > 0 && !wire_.comes.empty(); --max) {
      out.emplace_back().value = at_hand_.emplace_back(std::move(wire_.comes.front()));
      wire_.comes.pop_front();
    }
    if (max > 0) wire_.waited_ms += wait_ms;
    return absl::OkStatus();
  }
  void headers(const kafka::Incoming&, std::vector<Header>&) override {}
  void release(std::span<const kafka::Incoming>) override { at_hand_.clear(); }
  int64_t known_end(const kafka::TopicPartition&) override { return -1; }
  absl::StatusOr<std::vector<kafka::GroupOffset>> group_offsets(const std::vector<kafka::TopicPartition>&,
                                                                int) override {
    return absl::UnimplementedError("");
  }
  void move_group(const std::vector<std::pair<kafka::TopicPartition, kafka::GroupOffset>>&) override {}

 private:
  Wire& wire_;
  std::deque<std::string> at_hand_;
};

class FakeProducer final : public kafka::TransactionalProducer {
 public:
  explicit FakeProducer(Wire& wire) : wire_(wire) {}
  absl::Status init() override { return absl::OkStatus(); }
  absl::Status begin() override { return absl::OkStatus(); }
  absl::StatusOr<size_t> produce(kafka::Outbox& outbox, size_t from) override {
    for (size_t at = from; at < outbox.messages().size(); ++at) {
      kafka::Outbox::Message& m = outbox.messages()[at];
      m.offset = static_cast<int64_t>(wire_.sent.size());
      wire_.sent.emplace_back(outbox.view(*m.value));
    }
    wire_.on_sent();
    return outbox.messages().size();
  }
  absl::Status produce_key(const kafka::TopicPartition&, std::string_view) override {
    return absl::OkStatus();
  }
  absl::Status send_offsets(const kafka::Committer&, const std::vector<LogProgress>&) override {
    return absl::OkStatus();
  }
  absl::Status flush() override { return absl::OkStatus(); }
  absl::Status commit() override { return absl::OkStatus(); }
  absl::Status abort() override { return absl::OkStatus(); }
  void know_topic(const std::string&) override {}
  bool take_trouble() override { return false; }

 private:
  Wire& wire_;
};

class FakeCluster final : public kafka::Cluster {
 public:
  explicit FakeCluster(Wire& wire) : wire_(wire) {}
  absl::StatusOr<std::string> id() override { return std::string("fake"); }
  absl::StatusOr<std::vector<kafka::TopicPartitions>> topics() override {
    return absl::UnimplementedError("");
  }
  absl::Status create_topic(const kafka::TopicSpec&) override { return absl::UnimplementedError(""); }
  absl::StatusOr<std::vector<std::string>> topic_configs(const std::string&,
                                                         const std::vector<std::string>&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<kafka::Watermarks> watermarks(const kafka::TopicPartition&, kafka::Isolation) override {
    return kafka::Watermarks{};
  }
  absl::StatusOr<int64_t> offset_at(const kafka::TopicPartition&, int64_t) override { return -1; }
  absl::StatusOr<std::unique_ptr<kafka::TransactionalProducer>> producer(
      const kafka::TransactionalOptions&) override {
    return std::make_unique<FakeProducer>(wire_);
  }
  absl::StatusOr<std::unique_ptr<kafka::Consumer>> consumer(const kafka::ConsumerOptions&) override {
    return std::make_unique<FakeConsumer>(wire_);
  }
  absl::StatusOr<std::unique_ptr<kafka::Membership>> join(const kafka::MembershipOptions&) override {
    return absl::UnimplementedError("");
  }

 private:
  Wire& wire_;
};

class Answered : public testing::Test {
 protected:
  Answered() {
    EngineOptions options = engine_options({}, kKey).value();
    options.elsewhere = true;
    engine_.emplace(options, *bodies_);
    auto opened = RemoteAnswers::open(cluster_, {.topic = "answers",
                                                 .generation = "now",
                                                 .engine = *engine_,
                                                 .stop = [this] { return wire_.comes.empty() && !patient_; },
                                                 .still_ours = [] { return absl::OkStatus(); },
                                                 .watch = watch_});
    remote_ = std::move(opened).value();
  }

  // Returns an answer to the offsets 0 to 4; its matcher knows one original that resembles the document at
  // `offset`.
  AnswerRecord record(const std::string& generation, const std::string& shards, Seq original,
                      uint64_t offset = 0) const {
    AnswerRecord out{.generation = generation, .shards = shards, .begin = 0, .end = 5};
    Answer& answer = out.answers.emplace_back(offset, Answer()).second;
    answer.candidates.push_back({.seq = original, .equal = 100, .checked = true, .overlap = {9, 10}});
    return out;
  }
  void comes(const AnswerRecord& record) {
    std::string bytes;
    encode_answers(record, 1, bytes);
    wire_.comes.push_back(bytes);
  }
  absl::Status answer(std::vector<uint64_t> offsets) {
    batch_.records.clear();
    for (const uint64_t offset : offsets)
      batch_.records.push_back({.value = "a signed record", .offset = offset});
    return remote_->answer(batch_, work_);
  }
  // Returns the originals that the document resembles, from all owners.
  std::vector<Seq> resembles(size_t document) const {
    std::vector<Seq> out;
    const size_t owners = work_.owners.count();
    for (size_t owner = 0; owner < owners; ++owner)
      for (const Verified& c : work_.answers[document * owners + owner].candidates) out.push_back(c.seq);
    return out;
  }

  Wire wire_;
  FakeCluster cluster_{wire_};
  std::unique_ptr<Bodies> bodies_ = memory_bodies();
  std::optional<Engine> engine_;
  ResolverWatch watch_{100};
  std::unique_ptr<RemoteAnswers> remote_;
  Batch batch_;
  Work work_;
  bool patient_ = false;  // otherwise it stops when nothing comes
};

TEST_F(Answered, AnswersToAnEarlierResolverChangeNothing) {
  AnswerRecord stale = record("before", "0/1", 7);
  stale.as_of = 9;  // the cut of another resolver: more than we have decided
  comes(stale);
  comes(record("now", "0/1", 3));
  comes(stale);
  ASSERT_TRUE(answer({0, 1}).ok());
  EXPECT_THAT(resembles(0), ElementsAre(3));
  EXPECT_THAT(resembles(1), IsEmpty());
  EXPECT_EQ(work_.covered, 0U);
}

TEST_F(Answered, AnswersToAnEarlierResolverAreNotEnough) {
  comes(record("before", "0/1", 7));
  comes(record("", "0/1", 7));
  comes(record("now?1", "0/1", 7));  // to a question that is not open
  EXPECT_TRUE(absl::IsCancelled(answer({0, 1})));
  // For every shard, one answer that counts.
  comes(record("now", "0/2", 2));
  comes(record("before", "1/2", 7));
  EXPECT_TRUE(absl::IsCancelled(answer({0, 1})));
  comes(record("now", "1/2", 3));
  ASSERT_TRUE(answer({0, 1}).ok());
  EXPECT_THAT(resembles(0), ElementsAre(2, 3));
}

TEST_F(Answered, DamagedOnesAndThoseThatEndTooEarlyAreNotEnough) {
  comes(record("now", "0/1", 3));
  wire_.comes.back().back() ^= 1;
  wire_.comes.emplace_back("no answer");
  AnswerRecord part = record("now", "0/1", 3);
  part.end = 1;
  comes(part);
  EXPECT_TRUE(absl::IsCancelled(answer({0, 1})));
  comes(record("now", "0/1", 4, 1));
  ASSERT_TRUE(answer({0, 1}).ok());
  EXPECT_THAT(resembles(1), ElementsAre(4));
}

// Later answers cover decisions that were made meanwhile, and the window has dropped them.
TEST_F(Answered, AnswersThatAreOlderThanTheWindowChangeNothing) {
  AnswerRecord first = record("now", "0/1", 3);
  first.as_of = 2;
  first.end = 1;
  comes(first);
  ASSERT_TRUE(answer({0}).ok());
  EXPECT_EQ(work_.covered, 2U);
  AnswerRecord old = record("now", "0/1", 7, 1);
  old.as_of = 1;
  comes(old);
  EXPECT_TRUE(absl::IsCancelled(answer({1})));
  AnswerRecord fresh = record("now", "0/1", 4, 1);
  fresh.as_of = 2;
  comes(fresh);
  ASSERT_TRUE(answer({1}).ok());
  EXPECT_THAT(resembles(0), ElementsAre(4));
}

TEST_F(Answered, AQuestionTakesAnswersToItselfOnly) {
  comes(record("now", "0/1", 3));
  ASSERT_TRUE(answer({0, 1}).ok());
  patient_ = true;
  wire_.on_sent = [this] {
    const std::optional<Question> asked = decode_question(wire_.sent.back());
    ASSERT_TRUE(asked.has_value());
    EXPECT_EQ(asked->from, 1U);
    EXPECT_EQ(asked->signed_record, "a signed record");
    comes(record("before?1", "0/1", 7, 1));
    comes(record("now?0", "0/1", 7, 1));
    comes(record("now", "0/1", 7, 1));
    comes(record(asked->answered_as(), "0/1", 5, 1));
    comes(record("before?1", "0/1", 7, 1));
  };
  ASSERT_TRUE(remote_->answer_again(batch_, 1, {}, {}, work_).ok());
  EXPECT_EQ(wire_.waited_ms, 0) << "the answer is there";
  EXPECT_THAT(resembles(1), ElementsAre(5));
  EXPECT_THAT(resembles(0), ElementsAre(3));
}

TEST(Question, ComesAsItWasSent) {
  Question question{.generation = "now", .from = 7, .id = 3, .least = 2, .signed_record = "a signed record"};
  question.deaths = {.seqs = {5, 900}, .lowest_live = 4};
  for (const RelateHint& hint : {RelateHint{}, RelateHint{.anyway = true, .common = {}},
                                 RelateHint{.anyway = false, .common = {0, 1, 1}}}) {
    question.hint = hint;
    const std::optional<Question> read = decode_question(encode_question(question));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->answered_as(), "now?3");
    EXPECT_EQ(read->from, 7U);
    EXPECT_EQ(read->least, 2U);
    EXPECT_THAT(read->deaths.seqs, ElementsAre(5, 900));
    EXPECT_EQ(read->deaths.lowest_live, 4U);
    EXPECT_EQ(read->signed_record, "a signed record");
    EXPECT_EQ(read->hint, hint);
  }
}

}  // namespace
}  // namespace doppel
