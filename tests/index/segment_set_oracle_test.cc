// Segments against the simple, slow index, on random operations.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "index/banding.h"
#include "memory_segments.h"
#include "random_documents.h"
#include "reference_index.h"

namespace doppel {
namespace {

using index_test::Documents;
using index_test::expect_found;
using index_test::MemorySink;
using index_test::opened;
using index_test::Random;

struct Life {
  explicit Life(const CandidateIndexOptions& o, uint64_t seed)
      : options(o), keys(o.banding, o.key), reference(o), set(o, reader), random(seed) {}

  std::vector<uint64_t> keys_of(const std::vector<uint8_t>& slices) const {
    std::vector<uint64_t> out(static_cast<size_t>(options.banding.bands));
    for (size_t j = 0; j < out.size() && !slices.empty(); ++j)
      out[j] = keys.key(static_cast<int>(j), slices.data());
    return out;
  }

  ReferenceIndex::StoredRow row_of(Documents& documents) {
    ReferenceIndex::StoredRow row;
    if (random() % 16 != 0) row.slices = documents.slices();
    row.digest = documents.digest();
    row.id_tag = random() % 64;
    row.payload = static_cast<uint32_t>(random() % 7);
    row.body = {random() & ((uint64_t{1} << 40) - 1), static_cast<uint32_t>(random() & 0xffffff)};
    row.mask.assign(static_cast<size_t>(options.banding.mask_words()), 0);
    for (int j = 0; j < options.banding.bands && !row.slices.empty(); ++j) {
      if (random() % 8 != 0) row.mask[static_cast<size_t>(j) / 32] |= uint32_t{1} << (j % 32);
    }
    return row;
  }

  // New originals that become a segment; some are removed at once.
  void cut(Documents& documents) {
    const Seq first = reference.next_seq();
    SegmentBuilder builder(options, first);
    std::vector<Seq> removed;
    for (uint64_t n = 1 + random() % 120; n > 0; --n) {
      const ReferenceIndex::StoredRow row = row_of(documents);
      const Seq seq = reference.next_seq();
      reference.insert(row);
      if (random() % 10 == 0) removed.push_back(seq);
      builder.add({.slices = row.slices.empty() ? nullptr : row.slices.data(),
                   .digest = row.digest,
                   .id_tag = row.id_tag,
                   .payload = row.payload,
                   .body = row.body,
                   .mask = row.mask.data()},
                  keys_of(row.slices).data());
      listed.push_back(options.track_prints && random() % 8 != 0 ? some_prints() : std::vector<uint64_t>());
      if (!listed.back().empty()) builder.add_prints(builder.rows() - 1, listed.back());
    }
    MemorySink sink;
    ASSERT_TRUE(builder.write(columns(), sink).ok());
    add(sink.take());
    for (const Seq seq : removed) ASSERT_EQ(set.remove(seq), reference.remove(seq));
  }

  // Distinct prints. Many originals list the same ones, and some differ in their last bits only.
  std::vector<uint64_t> some_prints() {
    std::set<uint64_t> out;
    const uint64_t of = random() % 4 == 0 ? 130 : 20;
    for (uint64_t n = random() % of; n > 0; --n) out.insert(random_print());
    return {out.begin(), out.end()};
  }
  uint64_t random_print() {
    const uint64_t which = random() % (random() % 2 == 0 ? 5 : 400);
    return ((mix64(which + 1) >> (64 - kPrintBits)) & ~uint64_t{15}) | random() % (which % 3 + 1);
  }

  void expect_same_prints() {
    if (!options.track_prints) return;
    std::vector<uint64_t> asked;
    for (uint64_t n = random() % 60; n > 0; --n) asked.push_back(random_print());
    const auto most = static_cast<uint32_t>(random() % 30);
    const auto count_most = most + 1 + static_cast<uint32_t>(random() % 30);
    PrintsFound found;
    found.numbers.push_back(7);  // earlier content must not remain
    ASSERT_TRUE(set.find_prints(asked, most, count_most, found).ok());
    size_t at = 0;
    for (uint32_t i = 0; i < asked.size(); ++i) {
      std::vector<uint64_t> numbers;
      for (Seq seq = reference.lowest_live(); seq < reference.next_seq(); ++seq) {
        if (reference.live(seq) && std::binary_search(listed[seq].begin(), listed[seq].end(), asked[i]))
          numbers.push_back(seq);
      }
      if (numbers.empty()) continue;
      ASSERT_LT(at, found.listings.size());
      const PrintListing& listing = found.listings[at++];
      ASSERT_EQ(listing.asked, i);
      ASSERT_EQ(listing.count, std::min<size_t>(numbers.size(), count_most));
      if (numbers.size() > most) numbers.clear();
      ASSERT_EQ(
          std::vector<uint64_t>(found.numbers.begin() + listing.begin, found.numbers.begin() + listing.end),
          numbers);
    }
    ASSERT_EQ(at, found.listings.size());
    for (int i = 0; i < 20; ++i) {
      const Seq seq = random() % (reference.next_seq() + 2);
      ASSERT_EQ(set.prints_of(seq),
                reference.live(seq) ? std::min<size_t>(listed[seq].size(), kPrintsCounted) : 0);
    }
  }

  // Few columns give many false hits.
  uint32_t columns() { return random() % 2 == 0 ? 4 : kFilterColumns; }

  void add(std::string file) {
    auto segment = opened(options, std::move(file));
    ASSERT_NE(segment, nullptr);
    set.add(std::move(segment));
  }

  void merge() {
    if (set.size() < 2) return;
    const size_t count = 2 + random() % std::min<size_t>(3, set.size() - 1);
    const size_t first = random() % (set.size() - count + 1);
    std::vector<const Segment*> parts;
    for (size_t p = first; p < first + count; ++p) parts.push_back(&set.segment(p));
    MemorySink sink;
    ASSERT_TRUE(merge_segments(options, parts, columns(), sink).ok());
    auto merged = opened(options, sink.take());
    ASSERT_NE(merged, nullptr);
    set.replace(first, count, std::move(merged));
  }

  void remove_and_expire() {
    for (uint64_t n = random() % 20; n > 0; --n) {
      const Seq seq = random() % (reference.next_seq() + 2);
      ASSERT_EQ(set.remove(seq), reference.remove(seq));
      const Seq back = random() % (reference.next_seq() + 2);
      if (set.remove(back)) set.revive(back);
    }
    if (random() % 4 != 0) return;
    const Seq seq = reference.lowest_live() + random() % 150;
    set.expire_below(seq);
    reference.expire_below(seq);
  }

  void expect_same(Documents& documents) {
    std::vector<std::vector<uint8_t>> slices;
    std::vector<Digest> digests;
    for (int i = 0; i < 40; ++i) {
      if (random() % 2 == 0 && reference.lowest_live() < reference.next_seq()) {
        const auto& row = reference.row(reference.lowest_live() +
                                        random() % (reference.next_seq() - reference.lowest_live()));
        slices.push_back(row.slices);
        if (!slices.back().empty() && random() % 2 == 0)
          slices.back()[random() % slices.back().size()] ^= uint8_t{1};
        digests.push_back(random() % 2 == 0 ? row.digest : documents.digest());
      } else {
        slices.push_back(random() % 16 != 0 ? documents.slices() : std::vector<uint8_t>());
        digests.push_back(documents.digest());
      }
    }
    std::vector<std::vector<uint64_t>> all_keys;
    std::vector<Query> queries;
    for (size_t i = 0; i < slices.size(); ++i) {
      all_keys.push_back(keys_of(slices[i]));
      queries.push_back({slices[i].empty() ? nullptr : slices[i].data(), all_keys.back().data(), digests[i]});
    }
    std::vector<Found> found(queries.size());
    found[0].candidates.push_back({1, 1});  // earlier content must not remain
    SegmentCounters counters;
    ASSERT_TRUE(set.lookup(queries, found, counters).ok());
    for (size_t i = 0; i < queries.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_found(found[i], reference.lookup(queries[i].slices, digests[i])));
      if (queries[i].slices == nullptr) continue;
      const int band = static_cast<int>(random() % static_cast<uint64_t>(options.banding.bands));
      const auto count = set.count_listed(band, all_keys[i][static_cast<size_t>(band)], queries[i].slices);
      ASSERT_TRUE(count.ok());
      ASSERT_EQ(*count, reference.count_listed(band, queries[i].slices));
    }
    expect_same_names();
    expect_same_prints();
  }

  void expect_same_names() {
    const uint64_t tag = random() % 64;
    const auto ids = set.find_id(tag);
    ASSERT_TRUE(ids.ok());
    ASSERT_EQ(*ids, options.track_ids ? reference.find_id(tag) : std::vector<Seq>());
    const auto payload = static_cast<uint32_t>(random() % 7);
    const auto payloads = set.find_payload(payload);
    ASSERT_TRUE(payloads.ok());
    ASSERT_EQ(*payloads, options.track_payloads ? reference.find_payload(payload) : std::vector<Seq>());
  }

  void expect_same_rows() {
    std::string page;
    ASSERT_EQ(set.lowest_live(), reference.lowest_live());
    ASSERT_EQ(set.next_seq(), reference.next_seq());
    uint64_t live = 0;
    for (Seq seq = reference.lowest_live(); seq < reference.next_seq(); ++seq) {
      live += reference.live(seq) ? 1 : 0;
      ASSERT_EQ(set.live(seq), reference.live(seq));
      const auto row = set.row(seq, page);
      ASSERT_TRUE(row.ok());
      const auto& expected = reference.row(seq);
      ASSERT_EQ(row->digest, expected.digest);
      ASSERT_EQ(row->body, expected.body);
      ASSERT_EQ(row->slices == nullptr, expected.slices.empty());
      if (row->slices != nullptr) {
        ASSERT_TRUE(std::equal(expected.slices.begin(), expected.slices.end(), row->slices));
      }
    }
    ASSERT_EQ(set.live(), live);
  }

  void run(int templates, double copied, int steps) {
    Documents documents(options, templates, copied, random);
    for (int step = 0; step < steps; ++step) {
      ASSERT_NO_FATAL_FAILURE(cut(documents));
      ASSERT_NO_FATAL_FAILURE(remove_and_expire());
      if (random() % 3 == 0) {
        ASSERT_NO_FATAL_FAILURE(merge());
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(documents));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same_rows());
  }

  CandidateIndexOptions options;
  BandKeys keys;
  ReferenceIndex reference;
  std::vector<std::vector<uint64_t>> listed;  // by number: its prints, ascending
  PageReader reader;
  SegmentSet set;
  Random random;
};

CandidateIndexOptions options_of(uint64_t seed) {
  CandidateIndexOptions o;
  o.key = {seed, ~seed};
  o.track_ids = seed % 2 == 0;
  o.track_payloads = seed / 2 % 2 == 0;
  o.track_prints = seed / 4 % 2 == 0;
  return o;
}

TEST(SegmentSetOracle, DefaultOptions) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  CandidateIndexOptions o = options_of(seed);
  o.min_equal = 20;
  Life(o, seed).run(3, .5, 40);
}

TEST(SegmentSetOracle, HotKeysInEveryBand) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  CandidateIndexOptions o = options_of(seed);
  o.min_equal = 1;
  Life(o, seed).run(1, .95, 20);
}

TEST(SegmentSetOracle, ManyShapes) {
  struct Shape {
    int num_perm, bands, rows, min_equal;
  };
  for (const Shape shape :
       {Shape{8, 1, 1, 1}, Shape{8, 8, 1, 3}, Shape{16, 2, 7, 1}, Shape{64, 5, 12, 10}, Shape{100, 33, 3, 30},
        Shape{1024, 64, 16, 200}, Shape{130, 1, 130, 1}, Shape{77, 11, 7, 77}}) {
    const uint64_t seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed << " bands " << shape.bands);
    CandidateIndexOptions o = options_of(seed);
    o.num_perm = shape.num_perm;
    o.banding = {shape.bands, shape.rows};
    o.min_equal = shape.min_equal;
    Life(o, seed).run(3, .5, 15);
  }
}

}  // namespace
}  // namespace doppel
