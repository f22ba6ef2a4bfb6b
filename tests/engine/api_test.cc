// Sketches and the LSH index on their own, as a program that embeds them would use them.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "doppel/lsh_index.h"
#include "doppel/signature.h"

namespace doppel {
namespace {

std::string words(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += "word" + std::to_string(i) + " ";
  return out;
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
