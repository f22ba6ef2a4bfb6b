// The description of a rule, which a state directory keeps: old directories must go on fitting.
#include "engine/rule.h"
#include "engine/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace doppel {
namespace {

using ::testing::HasSubstr;

Rule rule_of_tests() {
  Rule rule;
  rule.threshold_ppm = 800'000;
  rule.banding = {.bands = 11, .rows = 4};
  rule.min_equal = 90;
  rule.max_listed = 1'000;
  rule.max_checks = 16;
  return rule;
}

const std::string kAlways =
    "threshold_ppm=800000\nbands=11\nrows=4\nverify=exact\nmin_equal=90\nmax_listed=1000\nmax_checks=16\n";

TEST(Rule, WhatIsNotInUseIsNotDescribed) {
  Rule rule = rule_of_tests();
  EXPECT_EQ(describe_rule(rule), kAlways + "expire_after_ms=0\n");
  rule.verify = Verify::signature;
  rule.expire_after_ms = 5'000;
  EXPECT_EQ(describe_rule(rule),
            "threshold_ppm=800000\nbands=11\nrows=4\nverify=signature\nmin_equal=90\nmax_listed=1000\n"
            "max_checks=16\nexpire_after_ms=5000\ngeneration=1024\nwatermark_rank=1000\n");
}

TEST(Rule, TheLimitOfOriginals) {
  Rule rule = rule_of_tests();
  rule.max_documents = 7;
  EXPECT_EQ(describe_rule(rule), kAlways + "expire_after_ms=0\nmax_documents=7\n");
  // max_documents then is the smaller one of two limits; the description has both settings.
  rule.max_memory = 1'000;
  rule.documents_in_memory = 7;
  EXPECT_EQ(describe_rule(rule), kAlways + "expire_after_ms=0\nmax_memory=1000\ndocuments_in_memory=7\n");
  rule.documents_setting = 9;
  EXPECT_EQ(describe_rule(rule),
            kAlways + "expire_after_ms=0\nmax_documents=9\nmax_memory=1000\ndocuments_in_memory=7\n");
}

TEST(Rule, TakesChosenBandsFromAnIndex) {
  const std::string theirs = describe_rule(rule_of_tests());
  Rule rule = rule_of_tests();
  rule.banding = {.bands = 14, .rows = 5};
  EXPECT_FALSE(take_banding(rule, theirs));  // set by the user
  rule.banding_chosen = true;
  EXPECT_FALSE(take_banding(rule, "bands=11\n"));
  EXPECT_EQ(rule.banding, (Banding{.bands = 14, .rows = 5}));
  EXPECT_TRUE(take_banding(rule, theirs));
  EXPECT_EQ(rule.banding, (Banding{.bands = 11, .rows = 4}));
  EXPECT_FALSE(take_banding(rule, theirs));  // no change
}

TEST(Rule, TakesTheRoomFromAnIndex) {
  Rule rule = rule_of_tests();
  take_room(rule, "documents_in_memory=50\n");
  EXPECT_EQ(rule.max_documents, 0U);  // max_memory is not set
  set_room(rule, 1'000, 70, 60);
  EXPECT_EQ(rule.max_documents, 60U);
  take_room(rule, "max_memory=1000\n");
  EXPECT_EQ(rule.documents_in_memory, 70U);
  take_room(rule, "max_memory=1000\ndocuments_in_memory=50\n");
  EXPECT_EQ(rule.documents_in_memory, 50U);
  EXPECT_EQ(rule.max_documents, 50U);
  set_room(rule, 1'000, 70, 0);
  EXPECT_EQ(rule.max_documents, 70U);
  set_room(rule, 0, 70, 9);
  EXPECT_EQ(rule.max_documents, 9U);
  EXPECT_EQ(rule.documents_in_memory, 0U);
}

TEST(Rule, Relations) {
  Rule rule = rule_of_tests();
  rule.replace = true;
  rule.relations = {.contained = true, .shares = true, .passage = 150};
  const std::string text = describe_rule(rule);
  EXPECT_TRUE(text.starts_with(kAlways +
                               "expire_after_ms=0\non_update=replace\nrelations=near,contained,shares\n"
                               "passage=150\n"))
      << text;
}

TEST(Rule, ReportsSimilarOnesBelowTheThreshold) {
  Rule rule = make_rule(.8, .995, 128).value();
  const Rule before = rule;
  ASSERT_TRUE(report_from(rule, .6, .995, 128).ok());
  EXPECT_EQ(rule.banding, choose_banding(.6, .995, 128).value());
  EXPECT_LT(rule.min_equal, before.min_equal);
  EXPECT_THAT(describe_rule(rule), HasSubstr("relations=near,similar\nreport_from_ppm=600000\n"));
  rule = before;
  EXPECT_FALSE(report_from(rule, .8, .995, 128).ok());
  EXPECT_EQ(describe_rule(rule), describe_rule(before));
}

}  // namespace
}  // namespace doppel
