// Deliberately broken contracts of the pipeline and of its results.
#include "base/check.h"

#include <gtest/gtest.h>

#include "fetch/fetch_pool.h"
#include "pipeline/pipeline.h"
#include "records/events.h"
#include "records/metadata.h"

namespace doppel {
namespace {

using testing::ExitedWithCode;

// Returns the same record repeatedly, one in each batch.
class RepeatingSource : public Source {
 public:
  RepeatingSource(int times, int32_t partition) : left_(times), partition_(partition) {
    line_ = R"({"id":"a","text":"one two three four five six seven eight nine ten"})";
    line_.reserve(line_.size() + kRecordPadding);
  }
  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    if (left_-- == 0) return false;
    batch.records.push_back({.value = line_, .source = "topic", .partition = partition_, .offset = 41});
    return true;
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  std::string line_;
  int left_;
  int32_t partition_;
};

// Prints a word when it is called; writes no events.
struct SayingSink : Sink {
  absl::Status write(const Decided&) override {
    std::fputs("written.", stderr);
    return absl::OkStatus();
  }
  std::string position() const override { return {}; }
};

absl::StatusOr<Counters> run(Source& source) {
  EngineOptions options;
  options.rule = make_rule(0.8, 0.995, 128).value();
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  SayingSink sink;
  Pipeline pipeline{.source = source, .engine = engine, .sink = sink};
  return run_pipeline(pipeline);
}

// The input was moved back: the second record is the original itself, not a copy.
TEST(RepeatedRecord, OfKafkaIsSkipped) {
  RepeatingSource source(2, 3);
  const absl::StatusOr<Counters> counters = run(source);
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_EQ(counters->unique, 1u);
  EXPECT_EQ(counters->duplicates(), 0u);
  EXPECT_EQ(counters->skipped_by.at("repeated"), 1u);
}

// A file may be named twice, or be replaced, so its places may repeat.
TEST(RepeatedRecord, OfAFileIsACopy) {
  RepeatingSource source(2, -1);
  const absl::StatusOr<Counters> counters = run(source);
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_EQ(counters->exact, 1u);
}

TEST(BrokenStreamDeathTest, NoEventSaysThatADocumentCopiesItself) {
  const Metadata document{.source = "topic", .partition = 3, .offset = 41, .id = "a"};
  const Outcome outcome{.verdict = Verdict::duplicate, .kind = Kind::exact, .similarity = {1, 1}};
  std::string out;
  EXPECT_EXIT(append_duplicate_of(out, {}, document, document, outcome), ExitedWithCode(kBrokenExitCode),
              "not its own document\n(.|\n)*= topic, 3, 41");
  EXPECT_EXIT(append_verdict(out, document, document, outcome, {}), ExitedWithCode(kBrokenExitCode),
              "not its own document");
  for (const Metadata& original : {Metadata{.source = "other", .partition = 3, .offset = 41},
                                   {.source = "topic", .partition = 4, .offset = 41},
                                   {.source = "topic", .partition = 3, .offset = 40}}) {
    append_duplicate_of(out, {}, document, original, outcome);
    append_verdict(out, document, original, outcome, {});
  }
}

TEST(BrokenStream, MetadataKnowsItsRecord) {
  std::string record, encoded;
  encode_metadata({.source = "topic", .partition = 3, .offset = 41}, record);
  const auto is_it = [&](const Metadata& metadata) {
    encode_metadata(metadata, encoded);
    return is_same_record(encoded, record, false);
  };
  EXPECT_TRUE(is_it({.source = "topic", .partition = 3, .offset = 41, .id = "x", .url = "y"}));
  EXPECT_FALSE(is_it({.source = "topics", .partition = 3, .offset = 41}));
  EXPECT_FALSE(is_it({.source = "topic", .partition = 2, .offset = 41}));
  EXPECT_FALSE(is_it({.source = "topic", .partition = 3, .offset = 42}));
  EXPECT_FALSE(is_it({.source = "topic", .offset = 41}));
  EXPECT_FALSE(is_same_record("", record, true));
  EXPECT_FALSE(is_same_record("", "", true));
  // Of two incarnations that are the same topic, only an equal text makes it the same record.
  const std::string earlier = record;
  encode_metadata({.source = "topic", .partition = 3, .incarnation = 2, .moved = 1, .offset = 41}, record);
  EXPECT_TRUE(is_same_record(earlier, record, true));
  EXPECT_FALSE(is_same_record(earlier, record, false));
  encode_metadata({.source = "topic", .partition = 3, .incarnation = 2, .offset = 41}, record);
  EXPECT_FALSE(is_same_record(earlier, record, true));
}

TEST(BrokenStreamDeathTest, OnlyWhatIsFetchedIsTaken) {
  // The child needs its threads.
  const auto take = [](size_t count) {
    std::vector<Fetch> fetches(2);  // nothing is wanted
    FetchPool pool({}, nullptr, {.parallel = 1}, std::make_shared<std::atomic<bool>>(false));
    pool.start(fetches, 1000);
    fetches[0].record = "never held";
    pool.taken(count);
  };
  EXPECT_EXIT(take(1), ExitedWithCode(kBrokenExitCode), "what is taken was held");
  EXPECT_EXIT(take(3), ExitedWithCode(kBrokenExitCode), "only what is done is taken");
}

}  // namespace
}  // namespace doppel
