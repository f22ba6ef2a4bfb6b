// The index against the simple, slow one, on random operations.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <thread>

#include "base/simd.h"
#include "index/index.h"
#include "random_documents.h"
#include "reference_index.h"

namespace doppel {
namespace {

using index_test::Documents;
using index_test::expect_found;
using index_test::Random;

struct Pair {
  explicit Pair(const CandidateIndexOptions& o) : options(o), index(o), reference(o) {}

  std::vector<uint64_t> keys(const std::vector<uint8_t>& slices) const {
    std::vector<uint64_t> out(static_cast<size_t>(options.banding.bands));
    if (!slices.empty()) index.band_keys(slices.data(), out.data());
    return out;
  }

  void insert(const std::vector<ReferenceIndex::StoredRow>& rows) {
    std::vector<Row> views;
    std::vector<uint64_t> all_keys;
    for (const auto& row : rows) {
      views.push_back({.slices = row.slices.empty() ? nullptr : row.slices.data(),
                       .digest = row.digest,
                       .id_tag = row.id_tag,
                       .payload = row.payload,
                       .body = row.body,
                       .mask = row.mask.data()});
      const auto k = keys(row.slices);
      all_keys.insert(all_keys.end(), k.begin(), k.end());
      reference.insert(row);
    }
    // On one, two and three threads in turn.
    index.insert(views, all_keys.data(), 1 + inserts++ % 3,
                 [](int parts, const std::function<void(int)>& part) {
                   std::vector<std::jthread> others;
                   for (int p = 1; p < parts; ++p) others.emplace_back([&part, p] { part(p); });
                   part(0);
                 });
  }

  // Restores another index from the rows, and builds its tables in two parts.
  void restore_into(CandidateIndex& restored) const {
    restored.start_at(reference.lowest_live());
    for (Seq seq = reference.lowest_live(); seq < reference.next_seq(); ++seq) {
      const auto& row = reference.row(seq);
      restored.restore({.slices = row.slices.empty() ? nullptr : row.slices.data(),
                        .digest = row.digest,
                        .id_tag = row.id_tag,
                        .payload = row.payload,
                        .body = row.body,
                        .mask = row.mask.data()},
                       !reference.live(seq));
    }
    restored.build_tables(2, [](int parts, const std::function<void(int)>& part) {
      for (int p = 0; p < parts; ++p) part(p);
    });
  }

  void expect_same_names(const CandidateIndex& asked, uint64_t id_tag, uint32_t payload) const {
    ASSERT_EQ(asked.find_id(id_tag), options.track_ids ? reference.find_id(id_tag) : std::vector<Seq>());
    ASSERT_EQ(asked.find_payload(payload),
              options.track_payloads ? reference.find_payload(payload) : std::vector<Seq>());
  }

  void expect_same(const std::vector<std::vector<uint8_t>>& slices,
                   const std::vector<Digest>& digests) const {
    ASSERT_NO_FATAL_FAILURE(expect_same(index, slices, digests));
  }
  void expect_same(const CandidateIndex& asked, const std::vector<std::vector<uint8_t>>& slices,
                   const std::vector<Digest>& digests) const {
    std::vector<std::vector<uint64_t>> all_keys;
    std::vector<Query> queries;
    for (size_t i = 0; i < slices.size(); ++i) {
      all_keys.push_back(keys(slices[i]));
      queries.push_back({slices[i].empty() ? nullptr : slices[i].data(), all_keys.back().data(), digests[i]});
    }
    std::vector<Found> found(queries.size());
    if (!found.empty()) found[0].candidates.push_back({1, 1});  // earlier content must not remain
    asked.lookup(queries, found);
    for (size_t i = 0; i < queries.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_found(found[i], reference.lookup(queries[i].slices, digests[i])));
    }
  }

  CandidateIndexOptions options;
  CandidateIndex index;
  ReferenceIndex reference;
  int inserts = 0;
};

struct Workload {
  int templates = 3;
  double copied = .5;
  int steps = 60;
  int batch_max = 40;
  bool removals = true;
  Seq start = 0;
};

void run(const CandidateIndexOptions& options, const Workload& work, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << " bands " << options.banding.bands << " rows "
                                  << options.banding.rows << " num_perm " << options.num_perm << " capacity "
                                  << options.initial_capacity);
  Random random(seed);
  Documents documents(options, work.templates, work.copied, random);
  Pair pair(options);
  if (work.start != 0) {
    pair.index.start_at(work.start);
    pair.reference.start_at(work.start);
  }
  const size_t bands = static_cast<size_t>(options.banding.bands);
  for (int step = 0; step < work.steps; ++step) {
    // Like an engine: listed unless the band already has max_listed; sometimes any mask, as a replay may
    // bring.
    std::vector<ReferenceIndex::StoredRow> batch;
    const int n = static_cast<int>(random() % static_cast<uint64_t>(work.batch_max));
    for (int i = 0; i < n; ++i) {
      ReferenceIndex::StoredRow row;
      if (random() % 16 != 0) row.slices = documents.slices();
      row.digest = documents.digest();
      row.id_tag = random() % 64;
      row.payload = static_cast<uint32_t>(random() % 50);
      row.body = {random() & ((uint64_t{1} << 40) - 1), static_cast<uint32_t>(random() & 0xffffff)};
      row.mask.assign((bands + 31) / 32, 0);
      const auto keys = pair.keys(row.slices);
      const bool any = random() % 4 == 0;
      for (size_t j = 0; j < bands && !row.slices.empty(); ++j) {
        const int listed = pair.index.count_listed(static_cast<int>(j), keys[j], row.slices.data());
        ASSERT_EQ(listed, pair.reference.count_listed(static_cast<int>(j), row.slices.data()));
        if (any ? random() % 2 == 0 : listed < options.max_listed)
          row.mask[j / 32] |= uint32_t{1} << (j % 32);
      }
      batch.push_back(row);
    }
    pair.insert(batch);
    if (work.removals) {
      for (uint64_t i = random() % 8; i > 0; --i) {
        const Seq seq = work.start + random() % (pair.reference.next_seq() - work.start + 2);
        ASSERT_EQ(pair.index.remove(seq), pair.reference.remove(seq));
        const Seq back = work.start + random() % (pair.reference.next_seq() - work.start + 2);
        if (pair.index.remove(back)) pair.index.revive(back);
      }
      if (random() % 6 == 0) {
        const Seq seq = pair.reference.lowest_live() + random() % 60;
        pair.index.expire_below(seq);
        pair.reference.expire_below(seq);
      }
    }
    std::vector<std::vector<uint8_t>> slices;
    std::vector<Digest> digests;
    for (int i = 0; i < 20; ++i) {
      const auto& r = pair.reference;
      if (random() % 2 == 0 && r.lowest_live() < r.next_seq()) {  // a copy of an existing row
        const auto& row = r.row(r.lowest_live() + random() % (r.next_seq() - r.lowest_live()));
        slices.push_back(row.slices);
        digests.push_back(random() % 2 == 0 ? row.digest : documents.digest());
      } else {
        slices.push_back(random() % 16 != 0 ? documents.slices() : std::vector<uint8_t>());
        digests.push_back(documents.digest());
      }
    }
    ASSERT_NO_FATAL_FAILURE(pair.expect_same(slices, digests));
    if (step + 1 == work.steps) {
      CandidateIndex restored(options);
      pair.restore_into(restored);
      ASSERT_NO_FATAL_FAILURE(pair.expect_same(restored, slices, digests));
      for (uint32_t name = 0; name < 64; ++name)
        ASSERT_NO_FATAL_FAILURE(pair.expect_same_names(restored, name, name));
    }
    ASSERT_EQ(pair.index.next_seq(), pair.reference.next_seq());
    ASSERT_EQ(pair.index.lowest_live(), pair.reference.lowest_live());
    ASSERT_NO_FATAL_FAILURE(
        pair.expect_same_names(pair.index, random() % 64, static_cast<uint32_t>(random() % 50)));
  }
  uint64_t live = 0;
  for (Seq seq = pair.reference.lowest_live(); seq < pair.reference.next_seq(); ++seq) {
    ASSERT_EQ(pair.index.live(seq), pair.reference.live(seq));
    live += pair.reference.live(seq) ? 1 : 0;
    const auto& expected = pair.reference.row(seq);
    const Row row = pair.index.row(seq);
    ASSERT_EQ(row.slices == nullptr, expected.slices.empty());
    if (row.slices != nullptr) {
      ASSERT_TRUE(std::equal(expected.slices.begin(), expected.slices.end(), row.slices));
      ASSERT_TRUE(std::equal(expected.mask.begin(), expected.mask.end(), row.mask));
    }
    ASSERT_EQ(row.digest, expected.digest);
    ASSERT_EQ(row.body, expected.body);
    if (options.track_ids) {
      ASSERT_EQ(row.id_tag, expected.id_tag);
    }
    if (options.track_payloads) {
      ASSERT_EQ(row.payload, expected.payload);
    }
  }
  EXPECT_EQ(pair.index.stats().live, live);
  EXPECT_EQ(pair.index.stats().rows, pair.reference.next_seq() - pair.reference.lowest_live());
  EXPECT_LE(pair.index.stats().moved_entries_max, 4096u);
}

uint64_t fresh_seed() { return std::random_device{}(); }

CandidateIndexOptions small(uint64_t seed) {
  CandidateIndexOptions o;
  o.key = {seed, ~seed};
  return o;
}

TEST(IndexOracle, DefaultOptions) {
  const uint64_t seed = fresh_seed();
  CandidateIndexOptions o = small(seed);
  o.min_equal = 20;
  o.track_ids = o.track_payloads = true;
  run(o, {}, seed);
}

TEST(IndexOracle, ManyShapes) {
  struct Shape {
    int num_perm, bands, rows, min_equal;
  };
  for (Shape shape :
       {Shape{8, 1, 1, 1}, Shape{8, 8, 1, 3}, Shape{16, 2, 7, 1}, Shape{64, 5, 12, 10}, Shape{100, 33, 3, 30},
        Shape{1024, 64, 16, 200}, Shape{130, 1, 130, 1}, Shape{128, 2, 64, 1}, Shape{77, 11, 7, 77}}) {
    const uint64_t seed = fresh_seed();
    CandidateIndexOptions o = small(seed);
    o.num_perm = shape.num_perm;
    o.banding = {shape.bands, shape.rows};
    o.min_equal = shape.min_equal;
    o.track_ids = seed % 2 == 0;
    o.track_payloads = seed / 1'024 % 2 == 0;
    o.max_listed = 1 + static_cast<int>(seed / 8 % 20);
    o.initial_capacity = std::array<uint64_t, 4>{0, 1, 1000, uint64_t{1} << 40}[seed / 2 % 4];
    run(o, {.steps = 30}, seed);
  }
}

TEST(IndexOracle, HotKeysInEveryBand) {
  const uint64_t seed = fresh_seed();
  CandidateIndexOptions o = small(seed);
  o.min_equal = 1;
  o.initial_capacity = 1;
  run(o, {.templates = 1, .copied = .95, .steps = 30}, seed);
}

TEST(IndexOracle, NumbersThatPassTwoToThe28) {
  const uint64_t seed = fresh_seed();
  CandidateIndexOptions o = small(seed);
  o.min_equal = 10;
  run(o, {.start = (uint64_t{5} << 28) - 200}, seed);
}

// Shards, capacities and instruction sets do not change the results, also after growth.
TEST(IndexOracle, InvariantUnderLayout) {
  const uint64_t seed = fresh_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::vector<std::vector<Found>> results;
  const Simd best = simd_supported();
  for (Simd level : simd_levels()) {
    force_simd(level);
    CandidateIndexOptions o = small(seed);
    o.min_equal = 12;
    o.initial_capacity = std::array<uint64_t, 3>{0, 1024, 1000000}[results.size()];
    Random random(seed);
    Documents documents(o, 40, .3, random);
    CandidateIndex index(o);
    std::vector<uint64_t> keys(18);
    const uint32_t mask = ~uint32_t{0};
    std::vector<Found>& found = results.emplace_back();
    for (int i = 0; i < 6000; ++i) {
      const auto slices = documents.slices();
      const Digest digest = documents.digest();
      index.band_keys(slices.data(), keys.data());
      const Query query{slices.data(), keys.data(), digest};
      if (i % 10 == 0) index.lookup({&query, 1}, {&found.emplace_back(), 1});
      const Row row{.slices = slices.data(), .digest = digest, .body = {}, .mask = &mask};
      index.insert({&row, 1}, keys.data());
      if (i % 7 == 0) index.remove(random() % index.next_seq());
      if (i % 500 == 499) index.expire_below(index.next_seq() - std::min<Seq>(index.next_seq(), 4000));
    }
  }
  force_simd(best);
  for (size_t r = 1; r < results.size(); ++r) {
    ASSERT_EQ(results[r].size(), results[0].size());
    for (size_t i = 0; i < results[0].size(); ++i) {
      EXPECT_EQ(results[r][i].exact, results[0][i].exact);
      EXPECT_EQ(results[r][i].candidates, results[0][i].candidates);
      ASSERT_EQ(results[r][i].counts.size(), results[0][i].counts.size());
    }
  }
}

}  // namespace
}  // namespace doppel
