// The pipeline with parts that fail: it returns the error of any part unchanged, and commits nothing after
// it.
#include "pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "records/metadata.h"

namespace doppel {
namespace {

std::string text_of(int number) {
  std::string out;
  for (int i = 0; i < 40; ++i) out += "w" + std::to_string(number / 2 * 1000 + i) + " ";
  return out + (number % 2 == 1 ? "end" : "");
}

// Numbered documents; every second one is a near-copy of the previous one.
class NumberedSource : public Source {
 public:
  NumberedSource(int count, int per_batch) : count_(count), per_batch_(per_batch) {}

  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    if (at_ == fail_at) return absl::DataLossError("the source is torn");
    auto lines = std::make_shared<std::vector<std::string>>();
    for (int i = 0; i < per_batch_ && at_ < count_; ++i, ++at_) {
      lines->push_back(R"({"id":")" + std::to_string(at_) + R"(","text":")" + text_of(at_) + "\"}");
      lines->back().reserve(lines->back().size() + kRecordPadding);
    }
    for (const std::string& line : *lines) {
      batch.records.push_back({.value = line, .source = "numbers", .offset = batch.records.size()});
      batch.bytes += line.size();
    }
    batch.memory.push_back(lines);
    batch.position = std::to_string(at_);
    return !batch.records.empty();
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

  int fail_at = -1;

 private:
  int count_, per_batch_, at_ = 0;
};

struct ListingSink : Sink {
  absl::Status write(const Decided& decided) override {
    if (static_cast<int>(lines.size()) >= fail_after) return absl::ResourceExhaustedError("the sink is full");
    for (size_t i = 0; i < decided.batch.records.size(); ++i) {
      Metadata document, original;
      const Outcome& outcome = decided.work.resolved.outcomes[i];
      RETURN_IF_ERROR(decode_metadata(decided.work.sign.documents[i].metadata, document));
      std::string line = document.name();
      if (outcome.verdict == Verdict::duplicate) {
        RETURN_IF_ERROR(decode_metadata(outcome.original, original));
        line += "=" + original.name();
      }
      lines.push_back(line);
    }
    return absl::OkStatus();
  }
  std::string position() const override { return std::to_string(lines.size()); }

  std::vector<std::string> lines;
  int fail_after = 1 << 30;
};

struct ListingJournal : Journal {
  absl::Status commit(const Batch& batch, const Resolved&, std::string sink_position) override {
    if (static_cast<int>(commits.size()) == fail_at) return absl::UnavailableError("the journal is gone");
    commits.push_back(batch.position + "/" + sink_position);
    return absl::OkStatus();
  }
  std::vector<std::string> commits;
  int fail_at = -1;
};

// Bodies in memory with one operation that fails.
class FailingBodies : public Bodies {
 public:
  absl::StatusOr<BodyRef> append(const Body& body) override {
    if (appends++ == fail_append) return absl::ResourceExhaustedError("no room for bodies");
    return memory_->append(body);
  }
  absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const override {
    if (fail_reads) return absl::DataLossError("a body is damaged");
    return memory_->read(ref, buffer);
  }
  absl::Status flush() override { return memory_->flush(); }
  uint64_t bytes() const override { return memory_->bytes(); }
  uint64_t reads() const override { return memory_->reads(); }

  int appends = 0, fail_append = -1;
  bool fail_reads = false;

 private:
  std::unique_ptr<Bodies> memory_ = memory_bodies();
};

class PipelineTest : public ::testing::TestWithParam<int> {
 protected:
  absl::StatusOr<Counters> run() {
    EngineOptions options;
    options.rule = make_rule(0.8, 0.995, 128).value();
    Engine engine(options, bodies);
    Pipeline pipeline{.source = source,
                      .engine = engine,
                      .sink = sink,
                      .journal = &journal,
                      .threads = GetParam(),
                      .stop = [this] { return stop; },
                      .progress = [this](const Counters& c) { stop |= c.records >= stop_after; }};
    return run_pipeline(pipeline);
  }

  NumberedSource source{100, 7};
  ListingSink sink;
  ListingJournal journal;
  FailingBodies bodies;
  bool stop = false;
  uint64_t stop_after = 1'000'000;
};

TEST_P(PipelineTest, JudgesInOrderAndCommitsEachBatch) {
  absl::StatusOr<Counters> counters = run();
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_EQ(counters->records, 100u);
  EXPECT_EQ(counters->unique, 50u);
  EXPECT_EQ(counters->near, 50u);
  ASSERT_EQ(sink.lines.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    std::string name = std::to_string(i);
    EXPECT_EQ(sink.lines[i], i % 2 == 0 ? name : name + "=" + std::to_string(i - 1));
  }
  ASSERT_EQ(journal.commits.size(), 15u);
  EXPECT_EQ(journal.commits[0], "7/7");
  EXPECT_EQ(journal.commits[14], "100/100");
}

TEST_P(PipelineTest, StopsBetweenBatches) {
  stop_after = 20;
  ASSERT_TRUE(run().ok());
  EXPECT_GE(journal.commits.size(), 3u);
  EXPECT_LE(journal.commits.size(), 5u);
  EXPECT_EQ(std::to_string(sink.lines.size()) + "/" + std::to_string(sink.lines.size()),
            journal.commits.back());
}

TEST_P(PipelineTest, AFailingSourceStopsIt) {
  source.fail_at = 21;
  EXPECT_EQ(run().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(journal.commits.size(), 3u);
}

TEST_P(PipelineTest, AFailingSinkStopsIt) {
  sink.fail_after = 21;
  EXPECT_EQ(run().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(journal.commits.size(), 3u);
}

TEST_P(PipelineTest, AFailingJournalStopsIt) {
  journal.fail_at = 2;
  EXPECT_EQ(run().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(journal.commits.size(), 2u);
}

TEST_P(PipelineTest, BodiesThatCannotBeWrittenStopIt) {
  bodies.fail_append = 9;
  EXPECT_EQ(run().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(journal.commits.size(), 2u);
}

TEST_P(PipelineTest, BodiesThatCannotBeReadStopIt) {
  bodies.fail_reads = true;
  // Document 7 repeats document 6 of the previous batch.
  EXPECT_EQ(run().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(journal.commits.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Threads, PipelineTest, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace doppel
