#include "daemon/report.h"

#include <gmock/gmock.h>

#include "records/metadata.h"

namespace doppel {
namespace {

// `copies` of 1,000 documents repeat one of another topic.
std::string warned(uint64_t copies, int64_t other_date, bool again = false) {
  Batch batch;
  Work work;
  work.sign.documents.resize(1000);
  work.resolved.outcomes.resize(1000);
  Metadata original{.source = "all", .partition = 0, .url = "http://x/", .date_ms = 1};
  Metadata copy = original;
  copy.source = "some";
  copy.date_ms = other_date;
  std::string stored;
  encode_metadata(original, stored);
  for (uint64_t i = 0; i < 1000; ++i) {
    encode_metadata(copy, work.sign.documents[i].metadata);
    Outcome& outcome = work.resolved.outcomes[i];
    outcome.verdict = i < copies ? Verdict::duplicate : Verdict::unique;
    outcome.original = stored;
  }
  OverlappingTopics watch;
  const std::string first = watch.observe({batch, work});
  return again ? watch.observe({batch, work}) : first;
}

TEST(OverlappingTopicsTest, IsNoticedOnce) {
  EXPECT_THAT(warned(950, 1), testing::HasSubstr("950 of the first 1000 documents"));
  EXPECT_THAT(warned(950, 1), testing::HasSubstr("(all and some)"));
  EXPECT_EQ(warned(900, 1), "");
  EXPECT_EQ(warned(950, 2), "");
  EXPECT_EQ(warned(950, 1, true), "");
}

}  // namespace
}  // namespace doppel
