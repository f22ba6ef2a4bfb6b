// The index as a program in C uses it.
#include "doppel/doppel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using ::testing::HasSubstr;

std::string words(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += "word" + std::to_string(i) + " ";
  return out;
}

// Holds views: what it is given must live longer than it.
doppel_document document(std::string_view id, std::string_view text) {
  return {.struct_size = sizeof(doppel_document),
          .id = id.data(),
          .id_size = id.size(),
          .text = text.data(),
          .text_size = text.size()};
}

std::string message(char* error) {
  const std::string out = error == nullptr ? "" : error;
  doppel_free(error);
  return out;
}

using Options = std::unique_ptr<doppel_options, decltype(&doppel_options_free)>;
using Index = std::unique_ptr<doppel_index, decltype(&doppel_close)>;
using Judgements = std::unique_ptr<doppel_judgements, decltype(&doppel_judgements_free)>;

Options options(const std::vector<std::pair<const char*, const char*>>& set) {
  Options out(doppel_options_new(), doppel_options_free);
  for (const auto& [name, value] : set) {
    char* error = nullptr;
    EXPECT_EQ(doppel_set(out.get(), name, value, &error), 0) << message(error);
  }
  return out;
}

TEST(CApi, SaysHowAPartIsRelatedToItsOriginal) {
  const Options made = options({{"relations", "contained,shares"}, {"passage_words", "64"}});
  const Index index(doppel_open(nullptr, made.get(), nullptr), doppel_close);
  ASSERT_NE(index, nullptr);
  const std::string head = "A head. ", whole = words(0, 600), half = head + words(0, 300);
  const std::vector<doppel_document> both{document("whole", whole), document("half", half)};
  const Judgements said(doppel_insert(index.get(), both.data(), both.size(), nullptr),
                        doppel_judgements_free);
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(doppel_judgement_of(said.get(), 0)->related, 0u);
  const doppel_judgement& judgement = *doppel_judgement_of(said.get(), 1);
  EXPECT_EQ(judgement.verdict, DOPPEL_UNIQUE);
  EXPECT_EQ(judgement.duplicate_of, nullptr);
  ASSERT_EQ(judgement.related, 1u);
  const doppel_related& related = *doppel_related_of(said.get(), 1, 0);
  EXPECT_STREQ(related.id, "whole");
  EXPECT_EQ(related.id_size, 5u);
  EXPECT_EQ(related.relation, DOPPEL_IS_CONTAINED);
  EXPECT_NEAR(related.of_document, 296.0 / 298, 0.004);
  EXPECT_NEAR(related.of_original, 296.0 / 596, 0.004);
  ASSERT_EQ(related.passage_count, 1u);
  EXPECT_EQ(related.passages[0].begin, head.size());
  EXPECT_EQ(related.passages[0].end, half.size() - 1);
  EXPECT_EQ(doppel_related_of(said.get(), 1, 1), nullptr);
  EXPECT_EQ(doppel_judgement_of(said.get(), 2), nullptr);
}

TEST(CApi, VisitsOriginalsInOrder) {
  const Index index(doppel_open(nullptr, nullptr, nullptr), doppel_close);
  const std::vector<doppel_document> all{document("a", "one"), document("b", "two"), document("c", "three")};
  doppel_judgements_free(doppel_insert(index.get(), all.data(), all.size(), nullptr));
  EXPECT_EQ(doppel_remove(index.get(), "b", 1, nullptr), 1);
  std::vector<std::string> seen;
  const auto visit = [](void* context, const doppel_original* original) {
    auto& out = *static_cast<std::vector<std::string>*>(context);
    out.push_back(std::to_string(original->number) + std::string(original->id, original->id_size));
    return out.size() < 2 ? 1 : 0;
  };
  EXPECT_EQ(doppel_for_each(index.get(), visit, &seen, nullptr), 0);
  EXPECT_THAT(seen, testing::ElementsAre("0a", "2c"));
  EXPECT_EQ(doppel_for_each(index.get(), visit, &seen, nullptr), 0);
  EXPECT_EQ(seen.size(), 3u);  // the third visit ended it
  EXPECT_EQ(doppel_size(index.get()), 2u);
  EXPECT_GT(doppel_memory_bytes(index.get()), 1000u);
}

TEST(CApi, NamesWhatIsWrong) {
  const Options made = options({});
  char* error = nullptr;
  EXPECT_EQ(doppel_set(made.get(), "treshold", "0.8", &error), -1);
  EXPECT_EQ(message(error), "treshold: an index has no such option (did you mean threshold?)");
  EXPECT_EQ(doppel_set(made.get(), "threshold", "high", nullptr), -1);
  EXPECT_EQ(doppel_set(made.get(), nullptr, nullptr, nullptr), -1);

  const Index index(doppel_open("", nullptr, nullptr), doppel_close);
  doppel_document old = document("a", "text");
  old.struct_size = 0;
  EXPECT_EQ(doppel_insert(index.get(), &old, 1, &error), nullptr);
  EXPECT_THAT(message(error), HasSubstr("documents[0].struct_size is 0, not sizeof(doppel_document)"));
}

// A program that was compiled with a later header has larger documents.
TEST(CApi, DocumentsMayBeLarger) {
  struct Later {
    doppel_document known;
    int64_t added = 0;
  };
  const std::string text = words(0, 50);
  std::vector<Later> later{{document("a", text)}, {document("b", text)}};
  for (Later& each : later) each.known.struct_size = sizeof(Later);
  const Index index(doppel_open("", nullptr, nullptr), doppel_close);
  const Judgements said(doppel_insert(index.get(), &later[0].known, later.size(), nullptr),
                        doppel_judgements_free);
  ASSERT_NE(said, nullptr);
  EXPECT_STREQ(doppel_judgement_of(said.get(), 1)->duplicate_of, "a");
}

}  // namespace
