#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/sign.h"

namespace doppel {
namespace {

constexpr uint64_t kMaxRecord = 300;                // bytes
constexpr size_t kMaxValues = kMaxRecord * 8 / 12;  // larger sets are left out

struct Signed {
  SignedDocument document;
  std::vector<uint8_t> slices = std::vector<uint8_t>(128);
  // Number and order of the values depend on the pieces.
  std::set<uint32_t> values() const { return {document.tops.begin(), document.tops.end()}; }
  bool operator==(const Signed& other) const {
    return document.digest == other.document.digest && document.content == other.document.content &&
           document.set_left_out == other.document.set_left_out && values() == other.values() &&
           (document.content != Content::shingled || slices == other.slices);
  }
};

std::string random_text(std::mt19937_64& random) {
  const size_t words = random() % 2 == 0 ? random() % 12 : random() % 600;
  const size_t vocabulary = 1 + random() % 3000;
  std::string text;
  for (size_t i = 0; i < words; ++i) {
    text += "w";
    text += std::to_string(random() % vocabulary);
    text += ' ';
  }
  return text;
}

// Computes the values of a text's set directly from its shingles. Empty if there are too many.
std::set<uint32_t> slow_values(const Scheme& scheme, std::string_view text, bool& left_out) {
  Shingler shingler(scheme.key, scheme.shingle_words, scheme.normalisation);
  PodVector<uint64_t> shingles;
  shingler.update(text, shingles);
  shingler.finish(shingles);
  std::set<uint32_t> tops;
  for (const uint64_t shingle : shingles) tops.insert(static_cast<uint32_t>(shingle >> 32));
  left_out = tops.size() > kMaxValues;
  if (left_out || shingles.size() < static_cast<size_t>(scheme.min_shingles)) return {};
  return tops;
}

void sign_in_pieces(Signer& signer, std::string_view text, std::string_view scope, std::mt19937_64& random,
                    Signed& out) {
  signer.begin(scope);
  for (size_t at = 0; at < text.size();) {
    const size_t size = 1 + random() % 1000;
    signer.update(text.substr(at, size));
    at += size;
  }
  signer.end(out.document, out.slices.data());
}

TEST(Sign, TheSetsValuesAreThoseOfTheShinglesAtOnceAndInPieces) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Scheme scheme{.key = {random(), random()}, .min_shingles = 3, .max_record = kMaxRecord};
  Signer signer(scheme);  // one for all, so that nothing may remain of a text
  Signer without(scheme, false);
  Signed once, pieces, bare;
  size_t shingled = 0, left_out = 0, short_ones = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string text = random_text(random);
    const std::string_view scope = random() % 2 == 0 ? "a scope" : "";
    signer.sign(text, scope, once.document, once.slices.data());
    sign_in_pieces(signer, text, scope, random, pieces);
    ASSERT_EQ(once, pieces);

    bool too_many = false;
    const std::set<uint32_t> expected = slow_values(scheme, text, too_many);
    ASSERT_EQ(std::set<uint32_t>(once.document.tops.begin(), once.document.tops.end()), expected);
    if (once.document.content == Content::shingled) {
      ASSERT_EQ(once.document.set_left_out, too_many);
      (too_many ? left_out : shingled) += 1;
    } else {
      ASSERT_FALSE(once.document.set_left_out);
      ++short_ones;
    }

    if (random() % 2 == 0) {
      without.sign(text, scope, bare.document, bare.slices.data());
    } else {
      sign_in_pieces(without, text, scope, random, bare);
    }
    ASSERT_TRUE(bare.document.tops.empty());
    ASSERT_FALSE(bare.document.set_left_out);
    bare.document.tops = once.document.tops;
    bare.document.set_left_out = once.document.set_left_out;
    ASSERT_EQ(bare, once);
  }
  EXPECT_GT(shingled, 0u);
  EXPECT_GT(left_out, 0u);
  EXPECT_GT(short_ones, 0u);
}

// Indexes hold what documents of a scope were signed as.
TEST(Sign, AScopeChangesDigestsAndSlicesInTheSameWayForEver) {
  Scheme scheme;
  scheme.key = {1, 2};
  Signer signer(scheme, true);
  Signed plain, scoped;
  signer.sign("a text of some more words than five", {}, plain.document, plain.slices.data());
  signer.sign("a text of some more words than five", "a scope", scoped.document, scoped.slices.data());
  std::string change;
  for (size_t i = 0; i < 20; ++i) change += fmt::format("{:02x}", plain.slices[i] ^ scoped.slices[i]);
  EXPECT_EQ(change, "5432829efb1c77c032803b72ef6c783d0107d39d");
  EXPECT_EQ(fmt::format("{:x} {:x}", plain.document.digest.low, plain.document.digest.high),
            "29d46da5e35eccb7 3cf0cf132181da1");
  EXPECT_EQ(fmt::format("{:x} {:x}", scoped.document.digest.low, scoped.document.digest.high),
            "16721ba692ac9d4f 8fda5fd90fc30a50");
}

// State directories and signed records hold it: another text would lock them out.
TEST(Sign, TheDescriptionOfASchemeStaysAsItIs) {
  Scheme scheme;
  scheme.key = {1, 2};
  const std::string described =
      "hash_key_fingerprint=2931976f\nnormaliser=1\nunicode=15.0\nshingle_words=5\nsketch=fast\n"
      "num_perm=128\nslice_bits=8\nset_format=1\nmax_record=1000000\n";
  EXPECT_EQ(scheme.describe(), described);
  scheme.min_shingles = 3;
  scheme.passage = 60;
  scheme.text = "extract=visible\n";
  EXPECT_EQ(scheme.describe(), described + "min_shingles=3\nprints=1\npassage=60\nextract=visible\n");
}

}  // namespace

// A document's set is the same whether it comes from the text or, coded, from a signed record.

namespace {

SignedDocument document_of(const std::string& text) {
  EngineOptions options;
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  SignedDocument out;
  std::vector<uint8_t> slices(static_cast<size_t>(options.scheme.num_perm));
  engine.make_signer().sign(text, "", out, slices.data());
  return out;
}

TEST(DocumentSet, OfATextAndOfASignedRecord) {
  SignedDocument document = document_of("storks nest on the river meadows and leave them in the autumn");
  DocumentSet of_text;
  of_text.code(document);
  ASSERT_FALSE(of_text.coded.empty());
  EXPECT_FALSE(of_text.made);  // nobody needed it
  ASSERT_TRUE(of_text.make(document).ok());
  DocumentSet made_first;
  ASSERT_TRUE(made_first.make(document).ok());
  made_first.code(document);
  EXPECT_EQ(made_first.coded, of_text.coded);
  EXPECT_EQ(made_first.set.values, of_text.set.values);

  SignedDocument read = document;
  read.coded_set = of_text.coded;
  read.tops.clear();
  DocumentSet of_record;
  of_record.code(read);
  EXPECT_EQ(of_record.coded, of_text.coded);
  DocumentSet compared;
  ASSERT_TRUE(compared.make(read).ok());
  EXPECT_EQ(compared.set.values, of_text.set.values);
  read.coded_set = "damaged";
  EXPECT_FALSE(DocumentSet().make(read).ok());
}

TEST(DocumentSet, ATextWithoutShinglesHasNone) {
  DocumentSet set;
  set.code(document_of("two words"));
  EXPECT_TRUE(set.coded.empty());
  SignedDocument document = document_of("storks nest on the river meadows and leave them in the autumn");
  document.set_left_out = true;
  set.code(document);
  EXPECT_TRUE(set.coded.empty());
}

}  // namespace

}  // namespace doppel
