// A document's set is the same whether it comes from the text or, coded, from a signed record.
#include "engine/document_set.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace doppel {
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
