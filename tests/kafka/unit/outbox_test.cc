// The messages of a transaction, and which of them readers see.
#include "kafka/outbox.h"

#include <gtest/gtest.h>

namespace doppel::kafka {
namespace {

Outbox::Message& add(Outbox& outbox, const std::string& topic, std::string_view key, std::string_view value,
                     std::string_view header) {
  outbox.header("name", header);
  const Outbox::Span k = outbox.put(key), v = outbox.put(value);
  return outbox.add(topic, k, v);
}

void store(Outbox::Message& m, int32_t partition, int64_t offset, bool seen) {
  m.stored_in = partition;
  m.offset = offset;
  m.seen = seen;
}

TEST(Outbox, ABatchThatIsMadeAgainKeepsWhatIsSeen) {
  Outbox before;
  store(add(before, "events", "k", "an event", "1"), 0, 7, true);
  store(add(before, "events", "k", "an event", "1"), 0, 8, false);  // the same a second time, and not seen
  store(add(before, "events", "k", "another", "1"), 1, 3, true);
  store(add(before, "dead", "k", "too large before", "1"), 0, 5, true);

  Outbox again;
  add(again, "dead", "k", "an event", "1");    // in another topic
  add(again, "events", "k", "an event", "2");  // another header
  add(again, "events", "k", "an event", "1");
  add(again, "events", "k", "an event", "1");
  add(again, "events", "ka", "nother", "1");  // the same bytes, divided differently
  add(again, "events", "k", "another", "1");
  again.take_seen(before);

  std::vector<bool> seen;
  for (const Outbox::Message& m : again.messages()) seen.push_back(m.seen);
  EXPECT_EQ(seen, (std::vector<bool>{false, false, true, false, false, true}));
  EXPECT_EQ(again.messages()[2].offset, 7);
  EXPECT_EQ(again.messages()[5].stored_in, 1);
  EXPECT_EQ(again.messages()[3].offset, -1);
}

TEST(Outbox, TheLastRecordOfABatchInTheLogCountsThem) {
  Outbox outbox;
  add(outbox, "events", "k", "v", "");
  outbox.seal("index");
  EXPECT_EQ(outbox.messages().size(), 1U);  // nothing for the log, no seal
  outbox.add_log("index", put_log_rule(outbox.bytes(), {"a=1"}));
  outbox.seal("index");
  ASSERT_EQ(outbox.messages().size(), 3U);
  const Outbox::Message& seal = outbox.messages().back();
  const auto record = parse_log_record(outbox.view(*seal.key), outbox.view(*seal.value), true);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_TRUE(std::holds_alternative<LogBatch>(*record));
  EXPECT_EQ(std::get<LogBatch>(*record).records, 2U);
}

}  // namespace
}  // namespace doppel::kafka
