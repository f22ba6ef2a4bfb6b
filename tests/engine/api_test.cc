// The embeddable API, as a program that embeds it would use it.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "doppel/detector.h"
#include "doppel/lsh_index.h"
#include "doppel/signature.h"

namespace doppel {
namespace {

std::string words(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += "word" + std::to_string(i) + " ";
  return out;
}

TEST(Detector, SaysWhatRepeatsWhat) {
  auto detector = Detector::create({}).value();
  EXPECT_EQ(detector->insert({.id = "a", .text = words(0, 200)}).verdict, Verdict::unique);
  Judgement exact = detector->insert({.id = "b", .text = words(0, 200)});
  EXPECT_EQ(exact.verdict, Verdict::duplicate);
  EXPECT_EQ(exact.kind, Kind::exact);
  EXPECT_EQ(exact.similarity, 1);
  EXPECT_EQ(exact.duplicate_of, "a");
  Judgement near = detector->insert({.id = "c", .text = words(5, 200)});
  EXPECT_EQ(near.kind, Kind::near);
  EXPECT_EQ(near.duplicate_of, "a");
  EXPECT_NEAR(near.similarity, 191.0 / 196, 0.002);
  EXPECT_EQ(detector->insert({.id = "d", .text = words(100, 300)}).verdict, Verdict::unique);
  EXPECT_EQ(detector->insert({.id = "e", .text = ""}).verdict, Verdict::unscored);
  EXPECT_EQ(detector->size(), 2u);
}

TEST(Detector, ShortTextsMatchOnlyExactly) {
  auto detector = Detector::create({}).value();
  EXPECT_EQ(detector->insert({.id = "a", .text = "Page not found"}).verdict, Verdict::unique);
  EXPECT_EQ(detector->insert({.id = "b", .text = "Page not found"}).duplicate_of, "a");
  EXPECT_EQ(detector->insert({.id = "c", .text = "page not found"}).verdict, Verdict::unique);
}

TEST(Detector, QueryRemembersNothing) {
  auto detector = Detector::create({}).value();
  EXPECT_EQ(detector->query({.id = "a", .text = words(0, 50)}).verdict, Verdict::unique);
  EXPECT_EQ(detector->query({.id = "a", .text = words(0, 50)}).verdict, Verdict::unique);
  detector->insert({.id = "a", .text = words(0, 50)});
  EXPECT_EQ(detector->query({.id = "b", .text = words(0, 50)}).duplicate_of, "a");
  EXPECT_EQ(detector->query({.id = "b", .text = words(0, 49)}).kind, Kind::near);
}

TEST(Detector, WhatIsRemovedIsNoOriginal) {
  auto detector = Detector::create({}).value();
  detector->insert({.id = "a", .text = words(0, 50)});
  EXPECT_FALSE(detector->remove("b"));
  EXPECT_TRUE(detector->remove("a"));
  EXPECT_FALSE(detector->remove("a"));
  EXPECT_EQ(detector->insert({.id = "b", .text = words(0, 50)}).verdict, Verdict::unique);
  EXPECT_EQ(detector->insert({.id = "c", .text = words(0, 50)}).duplicate_of, "b");
}

TEST(Detector, ScopesNeverMeet) {
  auto detector = Detector::create({}).value();
  detector->insert({.id = "a", .text = words(0, 50), .scope = "one"});
  EXPECT_EQ(detector->insert({.id = "b", .text = words(0, 50), .scope = "two"}).verdict, Verdict::unique);
  EXPECT_EQ(detector->insert({.id = "c", .text = words(0, 49), .scope = "two"}).duplicate_of, "b");
  EXPECT_EQ(detector->insert({.id = "d", .text = words(0, 50)}).verdict, Verdict::unique);
}

TEST(Detector, ManyAtOnceIsAsOneByOne) {
  std::mt19937 random(7);
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) {
    int from = static_cast<int>(random() % 40) * 50;
    texts.push_back(words(from, from + 60 + static_cast<int>(random() % 20)));
  }
  std::vector<Document> documents;
  for (size_t i = 0; i < texts.size(); ++i) documents.push_back({.id = texts[i], .text = texts[i]});
  auto together = Detector::create({}).value();
  auto apart = Detector::create({.shards = 3}).value();
  std::vector<Judgement> all = together->insert(documents);
  for (size_t i = 0; i < documents.size(); ++i) {
    Judgement one = apart->insert(documents[i]);
    ASSERT_EQ(all[i].verdict, one.verdict) << i;
    ASSERT_EQ(all[i].duplicate_of, one.duplicate_of) << i;
    ASSERT_EQ(all[i].similarity, one.similarity) << i;
  }
}

TEST(Signature, EstimatesTheSimilarityOfSets) {
  Signature a, b;
  for (int i = 0; i < 1000; ++i) a.update("element " + std::to_string(i));
  for (int i = 250; i < 1250; ++i) b.update("element " + std::to_string(i));
  EXPECT_NEAR(a.jaccard(b).value(), 0.6, 0.2);
  Signature both = a;
  ASSERT_TRUE(both.merge(b).ok());
  Signature whole;
  for (int i = 0; i < 1250; ++i) whole.update("element " + std::to_string(i));
  EXPECT_EQ(both.slots(), whole.slots());
  EXPECT_EQ(Signature().jaccard(a).value(), 0);
  EXPECT_TRUE(Signature().empty());
}

TEST(Signature, ATextInPiecesIsTheText) {
  const std::string text = words(0, 300) + "Ĝis la revido, 東京タワー, Ελληνικά";
  Signature whole;
  whole.update_text(text);
  for (size_t piece : {1, 2, 3, 7, 100}) {
    Signature parts;
    parts.begin_text();
    for (size_t at = 0; at < text.size(); at += piece)
      parts.add_piece(std::string_view(text).substr(at, piece));
    parts.end_text();
    EXPECT_EQ(parts.slots(), whole.slots()) << piece;
  }
}

TEST(LshIndex, FindsWhatIsSimilar) {
  auto index = LshIndex::create({.threshold = 0.7}).value();
  Signature a, b, c;
  a.update_text(words(0, 200));
  b.update_text(words(4, 200));
  c.update_text(words(500, 700));
  EXPECT_TRUE(index->insert("a", a).value());
  EXPECT_FALSE(index->insert("a", b).value());
  EXPECT_FALSE(index->insert("nothing", Signature()).value());
  EXPECT_TRUE(index->insert("c", c).value());
  std::vector<LshIndex::Match> found = index->query(b).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "a");
  EXPECT_GT(found[0].jaccard, 0.8);
  EXPECT_TRUE(index->remove("a"));
  EXPECT_FALSE(index->remove("a"));
  EXPECT_TRUE(index->query(b).value().empty());
  EXPECT_EQ(index->size(), 1u);
}

}  // namespace
}  // namespace doppel
