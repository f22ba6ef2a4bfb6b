// Schemes as "name=value" lines.
#include "state/scheme.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/settings.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

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
              ElementsAre("relations: the index was made with near,contained, now near"));
  EXPECT_THAT(rule_differences(without_relations, lines, {}),
              ElementsAre("relations: the index was made with near, now near,contained"));
  EXPECT_THAT(scheme_differences(with.describe(), Scheme().describe()),
              ElementsAre("relations: the index was made with passages of 64 words, now near"));
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

// What follows from a setting has no line of its own.
TEST(Scheme, OneLineForOneSetting) {
  const std::string before = describe_rule(make_rule(.8, .995, 128).value());
  Rule rule = make_rule(.7, .995, 128, 18, 6).value();
  rule.expire_after_ms = 2'592'000'000;
  rule.replace = true;
  const std::string now = describe_rule(rule);
  EXPECT_THAT(scheme_differences(before, now),
              UnorderedElementsAre(HasSubstr("bands: "), HasSubstr("rows: "),
                                   "threshold: the index was made with 0.8, now 0.7",
                                   "expire_after: the index was made with never, now 30d",
                                   "on_update: the index was made with keep, now replace"));
  EXPECT_THAT(rule_differences(before, now, {"threshold", "expire_after_ms", "on_update"}), SizeIs(2));
  EXPECT_THAT(rule_differences(before, now, {"threshold_ppm", "expire_after", "on_update"}), SizeIs(2));
  Rule same_threshold = make_rule(.8, .995, 128).value();
  same_threshold.min_equal = 1;  // as another version would have it
  EXPECT_THAT(scheme_differences(before, describe_rule(same_threshold)),
              ElementsAre(HasSubstr("min_equal: ")));
  Scheme loose;
  loose.normalisation = Normalisation::loose;
  EXPECT_THAT(scheme_differences(Scheme().describe(), loose.describe()),
              ElementsAre("normaliser: the index was made with default, now loose"));
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
  EXPECT_THAT(signed_differences("pages=1\n", "pages=2\n"), SizeIs(1));
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
