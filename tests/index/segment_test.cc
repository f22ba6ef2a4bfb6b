// What a segment costs, and what is said of a damaged one.

#include "index/segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "memory_segments.h"
#include "random_documents.h"

namespace doppel {
namespace {

using index_test::MemorySink;
using index_test::MemorySource;
using index_test::prints_of;
using index_test::Random;
using index_test::Unique;
using testing::HasSubstr;

std::string segment_of(const CandidateIndexOptions& options, Seq first, uint64_t rows,
                       uint32_t columns = kFilterColumns) {
  Unique documents(options);
  SegmentBuilder builder(options, first);
  for (Seq seq = first; seq < first + rows; ++seq) {
    documents.take(seq);
    builder.add(documents.row(), documents.band_keys());
    if (options.track_prints) builder.add_prints(seq - first, prints_of(seq));
  }
  MemorySink sink;
  EXPECT_TRUE(builder.write(columns, sink).ok());
  return sink.take();
}

struct Set {
  explicit Set(uint64_t segments, uint64_t rows) : set(options, reader) {
    for (uint64_t s = 0; s < segments; ++s)
      set.add(index_test::opened(options, segment_of(options, s * rows, rows)));
  }
  Found lookup(const Query& query, SegmentCounters& counters) {
    Found found;
    EXPECT_TRUE(set.lookup({&query, 1}, {&found, 1}, counters).ok());
    return found;
  }
  CandidateIndexOptions options;
  PageReader reader;
  SegmentSet set;
};

TEST(SegmentTest, ACopyTakesTwoReadsAndAUniqueDocumentNearlyNone) {
  Set s(3, 20'000);
  Unique document(s.options);
  SegmentCounters exact;
  SegmentCounters near;
  SegmentCounters unique;
  constexpr uint64_t kAsked = 2'000;
  for (uint64_t i = 0; i < kAsked; ++i) {
    const Seq seq = i * 29;
    document.take(seq);
    ASSERT_EQ(s.lookup(document.query(), exact).exact, seq);
    document.change_slice(i % 44);
    const Found found = s.lookup(document.query(), near);
    ASSERT_EQ(found.candidates.size(), 1u);
    ASSERT_EQ(found.candidates[0], (Candidate{seq, 127}));
    ASSERT_EQ(found.counts.size(), 10u);
    document.take(uint64_t{1} << 40 | i);
    ASSERT_TRUE(s.lookup(document.query(), unique).candidates.empty());
  }
  EXPECT_LT(static_cast<double>(exact.reads()) / kAsked, 2.3);
  EXPECT_LT(static_cast<double>(near.reads()) / kAsked, 2.3);
  EXPECT_LT(static_cast<double>(unique.reads()) / kAsked, .1);
}

TEST(SegmentTest, EachPageThatIsReadIsCounted) {
  CandidateIndexOptions options;
  options.track_ids = options.track_payloads = options.track_prints = true;
  options.passage = 50;
  uint64_t bytes_read = 0;
  auto segment =
      Segment::open(options, std::make_unique<MemorySource>(segment_of(options, 0, 2'000), &bytes_read));
  ASSERT_TRUE(segment.ok());
  PageReader reader;
  SegmentSet set(options, reader);
  set.add(*std::move(segment));
  bytes_read = 0;
  SegmentStats before = set.stats();
  const auto expect_counted = [&](const char* what, bool keys, bool rows) {
    const SegmentStats now = set.stats();
    const uint64_t key_pages = now.key_pages - before.key_pages, row_pages = now.row_pages - before.row_pages;
    EXPECT_EQ((key_pages + row_pages) * kSegmentPage, bytes_read) << what;
    EXPECT_EQ(key_pages != 0, keys) << what;
    EXPECT_EQ(row_pages != 0, rows) << what;
    before = now;
    bytes_read = 0;
  };
  Unique document(options);
  document.take(700);
  const Query query = document.query();
  Found found;
  SegmentCounters counters;
  ASSERT_TRUE(set.lookup({&query, 1}, {&found, 1}, counters).ok());
  EXPECT_EQ(counters.reads() * kSegmentPage, bytes_read);
  const auto kinds = static_cast<uint64_t>(options.banding.bands) + 1;  // and the digest
  EXPECT_GE(counters.filter_hits, kinds);
  EXPECT_LE(counters.filter_hits, kinds + 5);  // some by chance
  expect_counted("lookup", true, true);
  ASSERT_EQ(*set.find_id(1'001), std::vector<Seq>{1'000});
  expect_counted("find_id", true, true);
  ASSERT_EQ(*set.find_payload(1'301), std::vector<Seq>{1'300});
  expect_counted("find_payload", true, true);
  ASSERT_EQ(*set.count_listed(3, query.band_keys[3], query.slices), 1);
  expect_counted("count_listed", true, true);
  std::string bytes;
  ASSERT_TRUE(set.row(20, bytes).ok());
  expect_counted("row", false, true);
  PrintsFound prints;
  ASSERT_TRUE(set.find_prints(prints_of(900), 1, 2, prints).ok());
  ASSERT_EQ(prints.listings.size(), prints_of(900).size());
  expect_counted("find_prints", true, false);
}

TEST(SegmentTest, MemoryForAnOriginalIsItsFilterAndLittleMore) {
  Set s(1, 50'000);
  EXPECT_LT(static_cast<double>(s.set.memory_bytes()) / 50'000, 12 * 1.1 * kFilterColumns / 8 + .3);
}

// Whatever byte changes: whoever reads it says which page it is in.
void expect_damage_to_be_named(const CandidateIndexOptions& options) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  constexpr uint64_t kRows = 700;
  const std::string file = segment_of(options, 0, kRows);
  const SegmentHeader header = index_test::opened(options, file)->header();
  for (int round = 0; round < 300; ++round) {
    std::string damaged = file;
    const uint64_t at = random() % file.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    auto segment = Segment::open(options, std::make_unique<MemorySource>(damaged));
    const auto in = [&](uint64_t begin, uint64_t end) { return at >= begin && at < end; };
    const auto in_pages_of = [&](const KeyPart& part) { return in(part.page_at(0), part.directory_at()); };
    const auto in_loaded = [&](const KeyPart& part) {
      return in(part.at, part.at + part.filter.bytes()) || in(part.directory_at(), part.end());
    };
    const bool with_prints = options.track_prints;
    const bool in_pages = in(kSegmentPage, header.counts_at()) || in_pages_of(header.keys) ||
                          (with_prints && in_pages_of(header.prints));
    if (at < kSegmentPage || in_loaded(header.keys) ||
        (with_prints && (in_loaded(header.prints) || in(header.counts_at(), header.counts_at() + kRows)))) {
      ASSERT_FALSE(segment.ok()) << at;
      EXPECT_THAT(std::string(segment.status().message()), HasSubstr("segment-of-test"));
      continue;
    }
    ASSERT_TRUE(segment.ok()) << segment.status();
    PageReader reader;
    SegmentSet set(options, reader);
    set.add(*std::move(segment));
    Unique document(options);
    absl::Status status;
    SegmentCounters counters;
    for (Seq seq = 0; seq < kRows && status.ok(); ++seq) {
      document.take(seq);
      const Query query = document.query();
      Found found;
      status = set.lookup({&query, 1}, {&found, 1}, counters);
      for (int band = 0; status.ok() && band < options.banding.bands; ++band)
        status = set.count_listed(band, query.band_keys[band], query.slices).status();
      PrintsFound prints;
      if (status.ok() && with_prints) status = set.find_prints(prints_of(seq), 1, 2, prints);
    }
    ASSERT_EQ(status.ok(), !in_pages) << at;
    if (status.ok()) continue;
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("segment-of-test: the page at offset " + std::to_string(at / 4096 * 4096)));
  }
}

TEST(SegmentTest, DamageIsNamed) { expect_damage_to_be_named({}); }

TEST(SegmentTest, DamageOfPrintsIsNamed) {
  CandidateIndexOptions options;
  options.track_prints = true;
  options.passage = 50;
  expect_damage_to_be_named(options);
}

TEST(SegmentTest, OfAnotherIndexIsRefused) {
  const std::string file = segment_of({}, 0, 10);
  CandidateIndexOptions other;
  other.key = {1, 2};
  const auto segment = Segment::open(other, std::make_unique<MemorySource>(file));
  ASSERT_TRUE(absl::IsFailedPrecondition(segment.status()));
  EXPECT_THAT(std::string(segment.status().message()), HasSubstr("another key"));
  CandidateIndexOptions with_prints;
  with_prints.track_prints = true;
  EXPECT_TRUE(
      absl::IsFailedPrecondition(Segment::open(with_prints, std::make_unique<MemorySource>(file)).status()));
}

// Equal keys fill several pages.
TEST(SegmentTest, AKeyOfManyPagesIsFoundWhole) {
  CandidateIndexOptions options;
  options.min_equal = 1;
  constexpr uint64_t kRows = 3'000;
  Unique document(options);
  SegmentBuilder builder(options, 0);
  for (Seq seq = 0; seq < kRows; ++seq) {
    document.take(7);
    builder.add(document.row(), document.band_keys());
  }
  MemorySink sink;
  ASSERT_TRUE(builder.write(kFilterColumns, sink).ok());
  PageReader reader;
  SegmentSet set(options, reader);
  set.add(index_test::opened(options, sink.take()));
  for (int band = 0; band < options.banding.bands; ++band)
    EXPECT_EQ(*set.count_listed(band, document.band_keys()[band], document.query().slices), int{kRows});
  const Query query = document.query();
  Found found;
  SegmentCounters counters;
  ASSERT_TRUE(set.lookup({&query, 1}, {&found, 1}, counters).ok());
  EXPECT_EQ(found.candidates.size(), kRows);
  EXPECT_EQ(found.exact, 0u);
}

// Of more pages than a merge reads at once.
TEST(SegmentTest, MergedSegmentsAreTheOneThatIsBuiltAtOnce) {
  CandidateIndexOptions options;
  options.track_prints = true;
  options.passage = 50;
  const auto first = index_test::opened(options, segment_of(options, 0, 20'000));
  const auto second = index_test::opened(options, segment_of(options, 20'000, 9'000));
  const Segment* const parts[] = {first.get(), second.get()};
  MemorySink sink;
  ASSERT_TRUE(merge_segments(options, parts, kFilterColumns, sink).ok());
  EXPECT_TRUE(sink.take() == segment_of(options, 0, 29'000));
}

// Files that exist depend on it.
TEST(Segment, AnOrdinalHasNoMoreBitsThanItNeeds) {
  const auto bits = [](uint64_t rows) { return SegmentHeader{.rows = rows}.ordinal_bits(); };
  EXPECT_EQ(bits(1), 1);
  EXPECT_EQ(bits(2), 1);
  for (int n = 2; n < 28; ++n) {
    const uint64_t most = uint64_t{1} << n;
    EXPECT_EQ(bits(most - 1), n) << most;
    EXPECT_EQ(bits(most), n) << most;
    EXPECT_EQ(bits(most + 1), n + 1) << most;
  }
}

TEST(Segment, SizesAreAsComputed) {
  for (const auto& [banding, with_prints] :
       {std::pair(Banding{11, 4}, false), std::pair(Banding{14, 5}, false),
        std::pair(Banding{11, 4}, true)}) {
    CandidateIndexOptions options;
    options.banding = banding;
    options.track_prints = with_prints;
    options.passage = 100;
    constexpr uint64_t kRows = 50'000;
    const std::string file = segment_of(options, 0, kRows);
    const SegmentBytesEach each = segment_bytes_each(options);
    EXPECT_NEAR(static_cast<double>(file.size()) / kRows / each.disk, 1, .02);
    const auto segment = index_test::opened(options, file);
    EXPECT_NEAR(static_cast<double>(segment->memory_bytes()) / kRows / each.memory, 1, .02);
  }
}

}  // namespace
}  // namespace doppel
