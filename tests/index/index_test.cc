// What an index says about itself, and what it costs.

#include "index/index.h"

#include <gtest/gtest.h>

#include <vector>

#include "index/print_table.h"
#include "random_documents.h"

namespace doppel {
namespace {

using index_test::prints_of;
using index_test::Unique;

// Inserts documents that share nothing.
class Inserts {
 public:
  explicit Inserts(const CandidateIndexOptions& options) : index(options), document_(options) {}

  void one() {
    document_.take(index.next_seq());
    const std::vector<uint64_t> prints = prints_of(index.next_seq());
    Row row = document_.row();
    row.prints = prints;
    index.insert({&row, 1}, document_.band_keys());
  }

  CandidateIndex index;

 private:
  Unique document_;
};

CandidateIndexOptions with_all() {
  CandidateIndexOptions options;
  options.track_ids = options.track_payloads = options.track_prints = true;
  options.passage = 50;
  return options;
}

TEST(Index, CountsWhatItHas) {
  constexpr uint64_t kRows = 5'000;
  const CandidateIndexOptions options = with_all();
  Inserts inserts(options);
  for (uint64_t i = 0; i < kRows; ++i) inserts.one();
  IndexStats stats = inserts.index.stats();
  const uint64_t tables = static_cast<uint64_t>(options.banding.bands) + 3;  // digests, ids and payloads
  EXPECT_EQ(stats.rows, kRows);
  EXPECT_EQ(stats.live, kRows);
  EXPECT_EQ(stats.entries, tables * kRows);
  EXPECT_EQ(stats.inserts, tables * kRows);
  EXPECT_EQ(stats.prints, 14 * kRows);
  EXPECT_EQ(stats.print_bytes, inserts.index.prints().bytes());
  EXPECT_GT(stats.load, .4);
  EXPECT_LE(stats.load, 1);
  EXPECT_GT(stats.moved_entries_max, 0u);
  EXPECT_LE(stats.moved_entries_max, 4096u);
  EXPECT_LT(stats.spilled, stats.entries / 40);
  const BytesEach each = bytes_each(options);
  EXPECT_GE(static_cast<double>(stats.row_bytes), kRows * each.row);
  const auto table_bytes = static_cast<double>(stats.table_bytes - stats.print_bytes);
  EXPECT_GT(table_bytes, kRows * each.tables * .6);
  EXPECT_LT(table_bytes, kRows * each.tables * 1.6);

  EXPECT_TRUE(inserts.index.remove(7));
  EXPECT_FALSE(inserts.index.remove(7));
  inserts.index.expire_below(100);
  stats = inserts.index.stats();
  EXPECT_EQ(stats.rows, kRows - 100);
  EXPECT_EQ(stats.live, kRows - 100);
  EXPECT_TRUE(inserts.index.remove(200));
  EXPECT_EQ(inserts.index.stats().live, kRows - 101);
  inserts.index.revive(200);
  EXPECT_EQ(inserts.index.stats().live, kRows - 100);
  EXPECT_EQ(inserts.index.prints().prints_of(200), 14u);
}

TEST(Index, EachPartOfAnOriginalHasItsBytes) {
  CandidateIndexOptions options;
  const BytesEach least = bytes_each(options);
  EXPECT_EQ(least.prints, 0);
  options.track_ids = true;
  const BytesEach ids = bytes_each(options);
  options.track_payloads = true;
  const BytesEach payloads = bytes_each(options);
  const double entry = least.tables / (options.banding.bands + 1);
  EXPECT_NEAR(ids.tables, least.tables + entry, 1e-9);
  EXPECT_NEAR(payloads.tables, least.tables + 2 * entry, 1e-9);
  EXPECT_GE(ids.row, least.row + 4);
  EXPECT_GE(payloads.row, ids.row);
  options.track_prints = true;
  options.passage = 50;
  const BytesEach all = bytes_each(options);
  EXPECT_NEAR(all.prints, 1 + prints_each(50) * PrintTable::bytes_each(), 1e-9);
  EXPECT_DOUBLE_EQ(all.sum(), all.row + all.tables + all.prints);
  EXPECT_NEAR(prints_each(50), 2 * 613 / 51.0, 1e-9);
  EXPECT_NEAR(prints_each(5'000), 13.8, 1e-9);  // of pages with fewer shingles than a passage has
}

// A window slides over a stream without end: what has expired leaves all tables.
TEST(Index, StaysSmallWhereTheWindowSlides) {
  constexpr uint64_t kWindow = 2'000;
  const CandidateIndexOptions options = with_all();
  Inserts inserts(options);
  IndexStats early;
  for (uint64_t i = 0; i < 140'000; ++i) {
    inserts.one();
    if (i > kWindow && i % 50 == 0) inserts.index.expire_below(i - kWindow);
    if (i == 6'000) early = inserts.index.stats();
  }
  const IndexStats late = inserts.index.stats();
  EXPECT_LE(late.entries, early.entries * 3 / 2);
  EXPECT_LE(late.table_bytes, early.table_bytes * 3 / 2);
  // Rows are released in chunks of 65,536.
  EXPECT_LE(static_cast<double>(late.row_bytes), (kWindow + 65'536 + 50) * bytes_each(options).row);
}

// An ordinal is the lowest 28 bits of a number. Tables may still have entries of a gone row with the same
// ordinal and the same hash.
TEST(Index, ARowIsFoundOnceWhereAnEqualOneHadItsOrdinal) {
  const CandidateIndexOptions options = with_all();
  CandidateIndex index(options);
  Unique document(options);
  document.take(2);
  const Row row = document.row();
  constexpr Seq kAgain = kIndexRowsMax + 1;
  index.insert({&row, 1}, document.band_keys());
  index.expire_below(1);
  index.start_at(kAgain);
  index.insert({&row, 1}, document.band_keys());
  const auto bands = static_cast<size_t>(options.banding.bands);
  EXPECT_EQ(index.stats().entries, 2 * (bands + 3));
  EXPECT_EQ(index.find_id(3), std::vector<Seq>{kAgain});
  EXPECT_EQ(index.find_payload(3), std::vector<Seq>{kAgain});
  EXPECT_EQ(index.count_listed(0, document.band_keys()[0], row.slices), 1);
  const Query query = document.query();
  Found found;
  index.lookup({&query, 1}, {&found, 1});
  EXPECT_EQ(found.exact, kAgain);
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0], (Candidate{kAgain, options.num_perm}));
  ASSERT_EQ(found.counts.size(), bands);
  EXPECT_EQ(found.counts[0].listed, 1);
}

}  // namespace
}  // namespace doppel
