// Options of the embeddable API: each is checked at its entry, and every accepted value works. Run it under
// the asan preset, too.
#include "engine/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doppel/index.h"
#include "doppel/lsh_index.h"
#include "doppel/signature.h"

namespace doppel {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string words(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += "word" + std::to_string(i) + " ";
  return out;
}

std::string message(const absl::Status& status) { return std::string(status.message()); }

// ---- accepted options must work

absl::Status use_index(const Index::Options& options) {
  auto index = Index::open("", options);
  if (!index.ok()) return index.status();
  const std::string text = words(0, 200);
  EXPECT_EQ((*index)->insert({.id = "a", .text = text, .timestamp_ms = 1000})->verdict, Verdict::unique);
  EXPECT_EQ((*index)->insert({.id = "b", .text = text})->duplicate_of, "a");
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back(words(i * 3, i * 3 + 100));
  std::vector<Index::Document> documents;
  for (size_t i = 0; i < texts.size(); ++i)
    documents.push_back({.id = texts[i], .text = texts[i], .timestamp_ms = int64_t(i)});
  EXPECT_EQ((*index)->insert(documents)->size(), texts.size());
  EXPECT_EQ((*index)->query({.id = "c", .text = text})->duplicate_of, "a");
  EXPECT_TRUE((*index)->remove("a").value());
  return absl::OkStatus();
}

absl::Status use_signature(const SignatureOptions& options) {
  auto a = Signature::create(options);
  if (!a.ok()) return a.status();
  Signature b = Signature::create(options).value();
  a->update_text(words(0, 300));
  b.update("an element");
  EXPECT_EQ(a->slots().size(), static_cast<size_t>(options.num_perm));
  EXPECT_EQ(a->jaccard(*a).value(), 1);
  EXPECT_TRUE(b.merge(*a).ok());
  EXPECT_GT(b.jaccard(*a).value(), 0);
  return absl::OkStatus();
}

absl::Status use_lsh_index(const LshIndexOptions& options) {
  auto index = LshIndex::create(options);
  if (!index.ok()) return index.status();
  Signature a = Signature::create(options.signature).value();
  a.update_text(words(0, 300));
  EXPECT_TRUE((*index)->insert("a", a).value());
  EXPECT_EQ((*index)->query(a).value().size(), 1U);
  EXPECT_TRUE((*index)->remove("a"));
  EXPECT_TRUE((*index)->query(a).value().empty());
  return absl::OkStatus();
}

// ---- the table

using Use = std::function<absl::Status(int64_t)>;

// Returns every entry of a value of the table into the API.
std::multimap<std::string_view, Use> entrances() {
  const auto whole = [](auto member) {
    return [member](int64_t value) {
      Index::Options options;
      member(options, value);
      return use_index(options);
    };
  };
  const auto signature = [](auto member) {
    return [member](int64_t value) {
      SignatureOptions options;
      member(options, value);
      return use_signature(options);
    };
  };
  const auto lsh = [](auto member) {
    return [member](int64_t value) {
      LshIndexOptions options;
      member(options, value);
      return use_lsh_index(options);
    };
  };
  // Makes a banding possible for every value.
  const auto num_perm = [](auto& o, int64_t v) { o.num_perm = static_cast<int>(v); };
  const auto threshold = [](auto& o, int64_t v) {
    o.threshold = static_cast<double>(v) / 1e6;
    o.bands = 10;
    o.rows = 1;
  };
  const auto recall = [](auto& o, int64_t v) {
    o.recall = static_cast<double>(v) / 1e6;
    o.bands = 10;
    o.rows = 1;
  };
  return {
      {"threshold", whole(threshold)},
      {"threshold", lsh(threshold)},
      {"recall", whole(recall)},
      {"recall", lsh(recall)},
      {"num_perm", whole(num_perm)},
      {"num_perm", signature(num_perm)},
      {"num_perm", lsh([](auto& o, int64_t v) { o.signature.num_perm = static_cast<int>(v); })},
      {"bands", whole([](auto& o, int64_t v) {
         o.bands = static_cast<int>(v);
         o.rows = v == 0 ? 0 : 1;
         o.num_perm = 1024;
       })},
      {"bands", lsh([](auto& o, int64_t v) {
         o.bands = static_cast<int>(v);
         o.rows = v == 0 ? 0 : 1;
         o.signature.num_perm = 1024;
       })},
      {"rows", whole([](auto& o, int64_t v) {
         o.rows = static_cast<int>(v);
         o.bands = v == 0 ? 0 : 1;
         o.num_perm = 1024;
       })},
      {"rows", lsh([](auto& o, int64_t v) {
         o.rows = static_cast<int>(v);
         o.bands = v == 0 ? 0 : 1;
         o.signature.num_perm = 1024;
       })},
      {"shingle_words", whole([](auto& o, int64_t v) { o.shingle_words = static_cast<int>(v); })},
      {"shingle_words", signature([](auto& o, int64_t v) { o.shingle_words = static_cast<int>(v); })},
      {"shingle_words", lsh([](auto& o, int64_t v) { o.signature.shingle_words = static_cast<int>(v); })},
      {"max_listed", whole([](auto& o, int64_t v) { o.max_listed = static_cast<int>(v); })},
      {"max_checks", whole([](auto& o, int64_t v) { o.max_checks = static_cast<int>(v); })},
      {"shards", whole([](auto& o, int64_t v) { o.shards = static_cast<int>(v); })},
      {"memory", whole([](auto& o, int64_t v) { o.memory = v; })},
      {"expire_after", whole([](auto& o, int64_t v) { o.expire_after_ms = v; })},
  };
}

// Limits without an option in the API; the settings have them (tests/config).
const std::set<std::string_view> kSettingsOnly{"max_documents", "max_memory",  "min_shingles",  "max_record",
                                               "threads",       "containment", "passage_words", "report_from",
                                               "common_after",  "max_related"};

TEST(Limits, TheWholeTableHoldsInTheApi) {
  const auto ways = entrances();
  std::vector<Limit> all{limits::kThreads, limits::kShards, limits::kMemory};
  for (const IndexSetting& setting : index_settings())
    if (setting.limit.most != 0) all.push_back(setting.limit);
  for (const Limit& limit : all) {
    const auto [begin, end] = ways.equal_range(limit.name);
    EXPECT_EQ(begin == end, kSettingsOnly.contains(limit.name)) << limit.name;
    for (auto way = begin; way != end; ++way) {
      SCOPED_TRACE(limit.name);
      for (const int64_t inside : {limit.least, limit.most}) {
        SCOPED_TRACE(inside);
        const absl::Status status = way->second(inside);
        // A value in its range may still reach no recall: then the message is not about the range.
        if (!status.ok()) {
          EXPECT_EQ(limit.name, "num_perm") << status;
          EXPECT_THAT(message(status), HasSubstr("possible: recall"));
        }
      }
      for (const int64_t outside : {limit.least - 1, limit.most + 1, int64_t{-1'000'000}}) {
        SCOPED_TRACE(outside);
        const absl::Status status = way->second(outside);
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
        EXPECT_THAT(message(status), StartsWith(std::string(limit.name)));
        EXPECT_THAT(message(status), HasSubstr("is not between"));
        if (limit.unit != Limit::Unit::millionth) {
          EXPECT_THAT(message(status),
                      HasSubstr(": " + std::to_string(outside) + " is not between " +
                                std::to_string(limit.least) + " and " + std::to_string(limit.most)));
        }
      }
    }
  }
}

TEST(Limits, MessagesNameOptionValueAndRange) {
  EXPECT_EQ(message(Index::open("", {.num_perm = 4}).status()), "num_perm: 4 is not between 8 and 1024");
  EXPECT_EQ(message(Index::open("", {.threshold = 1.5}).status()),
            "threshold: 1.5 is not between 0.000001 and 1");
  EXPECT_EQ(message(Index::open("", {.threshold = std::nan("")}).status()),
            "threshold: nan is not between 0.000001 and 1");
  EXPECT_EQ(message(Index::open("", {.recall = 1}).status()),
            "recall: 1 is not between 0.000001 and 0.999999");
  EXPECT_EQ(message(Index::open("", {.expire_after_ms = -5}).status()),
            "expire_after_ms: -5 is not between 0 and 31536000000000");
  EXPECT_EQ(message(Index::open("", {.bands = 20}).status()),
            "bands: 20 and rows: 0; set both, or neither to have them chosen");
  EXPECT_EQ(message(Index::open("", {.bands = 20, .rows = 20}).status()),
            "bands: 20 of 20 rows need 400 slots, num_perm is 128");
  EXPECT_EQ(message(Index::open("", {.num_perm = 1024, .bands = 1024, .rows = 1, .shards = 9}).status()),
            "1024 bands in 9 shards need 9216 tables, and at most 8192 are possible");
}

// A process has a limited number of mappings.
TEST(Limits, TheMostTablesFit) {
  EXPECT_TRUE(use_index({.num_perm = 1024, .bands = 1024, .rows = 1, .shards = 8}).ok());
  EXPECT_TRUE(use_index({.num_perm = 1024, .bands = 32, .rows = 1, .shards = 256}).ok());
}

// ---- signatures that cannot be compared

TEST(Limits, SignaturesOfOtherOptionsDoNotMeet) {
  const std::vector<std::pair<std::string, SignatureOptions>> others{
      {"num_perm", {.num_perm = 8}},           {"num_perm", {.num_perm = 1024}},
      {"shingle_words", {.shingle_words = 4}}, {"classic", {.classic = true}},
      {"hash_key", {.hash_key = {1, 0}}},      {"hash_key", {.hash_key = {0, 1}}},
  };
  Signature ours;
  ours.update_text(words(0, 100));
  const std::vector<uint64_t> before = ours.slots();
  auto index = LshIndex::create({}).value();
  ASSERT_TRUE(index->insert("ours", ours).value());
  for (const auto& [name, options] : others) {
    Signature other = Signature::create(options).value();
    for (const bool empty : {true, false}) {
      if (!empty) other.update_text(words(0, 100));
      for (const absl::Status& status :
           {ours.merge(other), other.merge(ours), ours.jaccard(other).status(), other.jaccard(ours).status(),
            index->insert("other", other).status(), index->query(other).status()}) {
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
        EXPECT_THAT(message(status), StartsWith(name + ": "));
        EXPECT_THAT(message(status), HasSubstr("the same options"));
      }
    }
  }
  EXPECT_EQ(message(ours.merge(Signature::create({.num_perm = 8}).value())),
            "num_perm: 8, but 128 here; signatures can be compared only if they have the same options");
  EXPECT_EQ(ours.slots(), before);
  EXPECT_EQ(index->size(), 1U);
  // An index of the classic family accepts classic signatures.
  auto classic = LshIndex::create({.signature = {.classic = true}}).value();
  EXPECT_FALSE(classic->insert("a", ours).ok());
}

TEST(Limits, PiecesNeedNoBeginning) {
  Signature whole;
  whole.update_text("one two three four five six");
  Signature pieces;
  pieces.end_text();
  pieces.add_piece("one two three ");
  pieces.add_piece("four five six");
  pieces.end_text();
  EXPECT_EQ(pieces.slots(), whole.slots());
}

// ---- arbitrary options

int any_of(const Limit& limit) {
  const int least = static_cast<int>(limit.least);
  const int most = static_cast<int>(limit.most);
  return *rc::gen::weightedOneOf<int>(
      {{2, rc::gen::inRange(least, std::min(most, least + 200) + 1)},
       {1, rc::gen::element(least - 1, least, most, most + 1, -1, 0, 1'000, 100'000,
                            std::numeric_limits<int>::max(), std::numeric_limits<int>::min())}});
}

double any_share() {
  const double infinite = std::numeric_limits<double>::infinity();
  return *rc::gen::oneOf(
      rc::gen::map(rc::gen::inRange(0, 1001), [](int thousandths) { return thousandths / 1000.0; }),
      rc::gen::element(-1.0, 1e-7, 1e-6, 1 - 1e-6, 1 + 1e-9, 2.0, std::nan(""), infinite, -infinite));
}

// Leaves most options unset, so that not every combination is refused.
template <typename T>
void perhaps(auto& option, const std::function<T()>& any) {
  if (*rc::gen::weightedElement<bool>({{3, false}, {1, true}})) option = any();
}

RC_GTEST_PROP(Limits, AnyOptionsOfAnIndexGiveAnErrorOrWork, ()) {
  Index::Options o;
  perhaps<double>(o.threshold, any_share);
  perhaps<double>(o.recall, any_share);
  perhaps<int>(o.num_perm, [] { return any_of(limits::kNumPerm); });
  perhaps<int>(o.bands, [] { return any_of(limits::kBands); });
  perhaps<int>(o.rows, [] { return any_of(limits::kRows); });
  perhaps<int>(o.shingle_words, [] { return any_of(limits::kShingleWords); });
  perhaps<int>(o.max_listed, [] { return any_of({"max_listed", 1, 65'535}); });
  perhaps<int>(o.max_checks, [] { return any_of({"max_checks", 1, 65'535}); });
  perhaps<int>(o.shards, [] { return any_of(limits::kShards); });
  perhaps<int64_t>(o.expire_after_ms, [] {
    return *rc::gen::element<int64_t>(-1, 0, 1, limits::kExpireAfter.most, limits::kExpireAfter.most + 1,
                                      std::numeric_limits<int64_t>::max(),
                                      std::numeric_limits<int64_t>::min());
  });
  o.verify_by_signature = *rc::gen::arbitrary<bool>();
  auto index = Index::open("", o);
  if (!index.ok()) {
    RC_ASSERT(index.status().code() == absl::StatusCode::kInvalidArgument);
    RC_CLASSIFY(true, "refused");
    return;
  }
  const std::string text = words(0, 120);
  RC_ASSERT((*index)->insert({.id = "a", .text = text})->verdict == Verdict::unique);
  RC_ASSERT((*index)->insert({.id = "b", .text = text})->duplicate_of == "a");
  std::vector<std::string> texts;
  for (int i = 0; i < 20; ++i) texts.push_back(words(i * 5, i * 5 + 100));
  std::vector<Index::Document> documents;
  for (const std::string& t : texts) documents.push_back({.id = t, .text = t, .timestamp_ms = INT64_MIN + 1});
  RC_ASSERT((*index)->insert(documents)->size() == texts.size());
  RC_ASSERT((*index)->query({.id = "c", .text = text})->duplicate_of == "a");
}

RC_GTEST_PROP(Limits, AnySignaturesGiveAnErrorOrCompare, ()) {
  const auto any_options = [] {
    SignatureOptions o;
    perhaps<int>(o.num_perm, [] { return any_of(limits::kNumPerm); });
    perhaps<int>(o.shingle_words, [] { return any_of(limits::kShingleWords); });
    o.classic = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
    return o;
  };
  const SignatureOptions mine = any_options();
  const SignatureOptions theirs = any_options();
  auto a = Signature::create(mine);
  auto b = Signature::create(theirs);
  if (a.ok()) a->update_text(words(0, 150));
  if (b.ok()) b->update_text(words(20, 170));
  auto index = LshIndex::create({.signature = mine});
  if (!a.ok()) RC_ASSERT(!index.ok());
  if (index.ok()) RC_ASSERT((*index)->insert("a", *a).value());
  if (!a.ok() || !b.ok()) return;
  const bool same = mine.num_perm == theirs.num_perm && mine.shingle_words == theirs.shingle_words &&
                    mine.classic == theirs.classic;
  RC_ASSERT(a->jaccard(*b).ok() == same);
  if (index.ok()) RC_ASSERT((*index)->query(*b).ok() == same);
  RC_ASSERT(a->merge(*b).ok() == same);
}

}  // namespace
}  // namespace doppel
