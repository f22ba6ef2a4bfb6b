// The planted copies are as similar as the corpus says, and spread over all similarities.

#include "oracle/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "oracle/oracle.h"
#include "oracle/words.h"

namespace doppel::oracle {
namespace {

std::set<std::vector<std::string>> shingles(const std::string& text) {
  std::vector<std::string> list = words(text);
  std::set<std::vector<std::string>> set;
  for (size_t i = 0; i + 5 <= list.size(); ++i)
    set.emplace(list.begin() + static_cast<ptrdiff_t>(i), list.begin() + static_cast<ptrdiff_t>(i) + 5);
  return set;
}

TEST(Corpus, IsAPureFunctionOfSeedAndNumber) {
  CorpusOptions options{.seed = 5};
  for (uint64_t n : {0u, 7u, 500u, 500u, 7u, 0u}) {
    EXPECT_EQ(to_json(make_document(options, n)), to_json(make_document(options, n)));
  }
  EXPECT_NE(make_document({.seed = 5}, 3).text, make_document({.seed = 6}, 3).text);
}

TEST(Corpus, EditsDoWhatTheyAreNamedFor) {
  CorpusOptions options{.seed = 11, .mean_words = 200};
  std::map<Edit, int> seen;
  std::set<Language> languages;
  for (uint64_t n = 0; n < 2'000; ++n) {
    CorpusDocument d = make_document(options, n);
    ++seen[d.edit];
    languages.insert(d.language);
    SCOPED_TRACE(d.id);
    if (d.origin) {
      ASSERT_LT(*d.origin, n);
    }
    if (d.edit == Edit::empty) {
      EXPECT_EQ(d.text, "");
    }
    if (d.edit == Edit::exact) {
      EXPECT_EQ(d.text, make_document(options, *d.origin).text);
    }
    if (d.edit == Edit::restyled) {
      CorpusDocument origin = make_document(options, *d.origin);
      EXPECT_NE(d.text, origin.text);
      EXPECT_EQ(words(d.text), words(origin.text));
    }
    if (d.edit == Edit::truncated) {
      std::vector<std::string> kept = words(d.text), all = words(make_document(options, *d.origin).text);
      if (!kept.empty()) kept.pop_back();  // may have lost a mark
      ASSERT_LE(kept.size(), all.size());
      EXPECT_TRUE(std::equal(kept.begin(), kept.end(), all.begin()));
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kEdits));
  EXPECT_EQ(languages.size(), static_cast<size_t>(kLanguages));
}

TEST(Corpus, LengthsAreLikeThoseOfPages) {
  CorpusOptions options{.seed = 3};
  std::vector<size_t> lengths;
  for (uint64_t n = 0; n < 2'000; ++n) {
    CorpusDocument d = make_document(options, n);
    if (d.edit == Edit::original) lengths.push_back(words(d.text).size());
  }
  double sum = 0;
  for (size_t n : lengths) sum += static_cast<double>(n);
  EXPECT_NEAR(sum / static_cast<double>(lengths.size()), 580, 80);
  auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  EXPECT_GE(*least, 25u);
  EXPECT_LT(*least, 80u);
  EXPECT_GT(*most, 2'000u);
}

TEST(Corpus, TimesMostlyRise) {
  CorpusOptions options{.seed = 3, .mean_words = 50};
  int rising = 0, missing = 0, odd = 0;
  std::optional<int64_t> last;
  for (uint64_t n = 0; n < 3'000; ++n) {
    CorpusDocument d = make_document(options, n);
    if (!d.timestamp_ms) {
      ++missing;
      continue;
    }
    if (*d.timestamp_ms < 86'400'000 || *d.timestamp_ms > 4'000'000'000'000) ++odd;
    if (last && *d.timestamp_ms >= *last) ++rising;
    last = d.timestamp_ms;
  }
  EXPECT_GT(rising, 2'000);
  EXPECT_GT(missing, 0);
  EXPECT_GT(odd, 0);
}

// The true similarity of each edited copy to its origin: enough in every tenth from .3 on, and most around
// the usual threshold.
TEST(Corpus, SimilaritiesAreSpread) {
  CorpusOptions options{.seed = 17, .mean_words = 200};
  std::vector<int> histogram(11);
  int pairs = 0, near_threshold = 0;
  for (uint64_t n = 0; n < 2'000; ++n) {
    CorpusDocument d = make_document(options, n);
    if (!d.origin || d.edit == Edit::exact || d.edit == Edit::restyled) continue;
    auto a = shingles(d.text), b = shingles(make_document(options, *d.origin).text);
    if (a.empty() || b.empty()) continue;
    auto common =
        static_cast<size_t>(std::count_if(a.begin(), a.end(), [&](const auto& s) { return b.contains(s); }));
    double similarity = static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
    ++histogram[static_cast<size_t>(similarity * 10)];
    ++pairs;
    if (similarity >= 0.7 && similarity <= 0.9) ++near_threshold;
  }
  for (size_t i = 0; i < histogram.size(); ++i)
    std::printf("%.1f  %4d\n", static_cast<double>(i) / 10, histogram[i]);
  for (size_t i = 3; i <= 9; ++i) EXPECT_GT(histogram[i], pairs / 40) << i;
  EXPECT_GT(near_threshold, pairs * 2 / 5);
  EXPECT_LT(near_threshold, pairs * 4 / 5);
}

TEST(Corpus, HotPagesAreManyAndSomeAreDuplicates) {
  CorpusOptions options{.seed = 23, .mean_words = 100};
  Oracle oracle({});
  int hot = 0, duplicates = 0;
  for (uint64_t n = 0; n < 1'500; ++n) {
    CorpusDocument d = make_document(options, n);
    Answer answer = oracle.feed({.text = d.text});
    if (d.edit != Edit::hot) continue;
    ++hot;
    if (answer.kind == Kind::near) ++duplicates;
  }
  EXPECT_GT(hot, 50);
  EXPECT_GT(duplicates, hot / 10);
  EXPECT_LT(duplicates, hot);
}

TEST(Corpus, EnglishIsWholePagesOnly) {
  CorpusOptions options{.seed = 2, .english = true};
  for (uint64_t n = 0; n < 300; ++n) {
    CorpusDocument d = make_document(options, n);
    EXPECT_EQ(d.language, Language::english);
    EXPECT_GE(words(d.text).size(), 10u);
  }
}

TEST(Corpus, JsonEscapesWhatMustBe) {
  CorpusDocument d;
  d.id = "a\"b\\c";
  d.text = "line\nbreak\ttab é";
  EXPECT_EQ(to_json(d), "{\"id\":\"a\\\"b\\\\c\",\"url\":\"\",\"text\":\"line\\nbreak\\u0009tab é\"}");
  d.timestamp_ms = 1'704'067'200'007;
  EXPECT_NE(to_json(d).find("\"date\":\"2024-01-01T00:00:00.007Z\""), std::string::npos);
}

}  // namespace
}  // namespace doppel::oracle
