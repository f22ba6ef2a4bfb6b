// Schemes as "name=value" lines.
#include "state/scheme.h"
#include "engine/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/rule.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Scheme, ALineByItsName) {
  EXPECT_EQ(scheme_line("a=1\nb=2=3\n", "b=9\n"), "b=2=3\n");
  EXPECT_EQ(scheme_line("a=1\n", "b=9\n"), std::nullopt);
  EXPECT_EQ(scheme_values("a=1\n\nb\nc=").at("a"), "1");
  EXPECT_EQ(scheme_values("a=1\n\nb\nc=").at("b"), "");
  EXPECT_EQ(scheme_values("a=1\n\nb\nc=").size(), 3U);
}

TEST(Scheme, DifferencesAreInTheNamesOfSettings) {
  Scheme with;
  with.passage = 60;
  Rule rule = make_rule(.8, .995, 128).value();
  const std::string without_relations = describe_rule(rule);
  rule.relations = {.contained = true, .passage = 60};
  const std::string lines = describe_rule(rule);
  EXPECT_THAT(rule_differences(lines, without_relations, {}),
              ElementsAre("relations: the index was made with near,contained, now it is not set"));
  EXPECT_THAT(rule_differences(without_relations, lines, {}),
              ElementsAre("relations: the index was made without it, now near,contained"));
  EXPECT_THAT(scheme_differences(with.describe(), Scheme().describe()),
              ElementsAre("relations: the index was made with passages of 64 words, now it is not set"));
  rule.relations.containment_ppm = 900'000;
  rule.threshold_ppm = 700'000;
  EXPECT_THAT(rule_differences(lines, describe_rule(rule), {}),
              ElementsAre("containment: the index was made with 0.8, now 0.9",
                          "threshold: the index was made with 0.8, now 0.7"));
  EXPECT_THAT(rule_differences(lines, describe_rule(rule), {"threshold_ppm", "containment"}), IsEmpty());
  Scheme longer = with;
  longer.passage = 76;
  EXPECT_THAT(scheme_differences(with.describe(), longer.describe()),
              ElementsAre("passage_words: the index was made with 64, now 80"));
}

TEST(Scheme, WhatSignedRecordsWereSignedWith) {
  EXPECT_THAT(signed_differences("a=1\n", "a=1\n"), IsEmpty());
  EXPECT_THAT(signed_differences("a=1\nb=1\n", "a=2\nc=3\n"),
              ElementsAre("a: the records were signed with 1, this run expects 2",
                          "b: the records were signed with 1, this run expects none",
                          "c: the records were signed with none, this run expects 3"));
  EXPECT_THAT(signed_differences("hash_key_fingerprint=1\n", "hash_key_fingerprint=2\n"),
              ElementsAre(HasSubstr("must be the signer's")));
  for (const std::string name : {"extract", "html", "charset"})
    EXPECT_THAT(signed_differences(name + "=1\n", name + "=2\n"),
                ElementsAre(HasSubstr("input.signed_format")));
  // Only a signer that has read pages in WARC files knows this one.
  EXPECT_THAT(signed_differences("pages=1\n", ""), IsEmpty());
  EXPECT_THAT(signed_differences("", "pages=1\n"), IsEmpty());
  EXPECT_THAT(signed_differences("pages=1\n", "pages=2\n"), testing::SizeIs(1));
}

// An index is handed on with the lines that say how its texts were made.
TEST(Scheme, OfAnIndexThatIsHandedOn) {
  Scheme now;
  now.text = "extract=main\n";
  const std::string stored = Scheme().describe() + "extract=visible\nhtml=3\n";
  const auto scheme = scheme_of_index(now, stored);
  ASSERT_TRUE(scheme.ok()) << scheme.status();
  EXPECT_THAT(scheme_differences(stored, scheme->describe()), IsEmpty());
  EXPECT_EQ(scheme->text, "extract=visible\nhtml=3\n");

  now.num_perm = 64;
  const auto refused = scheme_of_index(now, stored);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("num_perm: the index was made with 128, now 64"));
}

}  // namespace
}  // namespace doppel
