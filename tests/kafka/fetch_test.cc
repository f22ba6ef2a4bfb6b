// Crawl logs whose records are read from WARC files, with a server that is down, a daemon that is killed
// while it waits, and a missing record.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fetch/nginx.h"
#include "kafka/broker.h"
#include "kafka/index_setup.h"
#include "state/index_log.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

std::string url_of(int page) { return fmt::format("http://site.example/{}", page); }

// Page 2k + 1 repeats page 2k except for one word.
std::string warc_record(int page) {
  std::string text;
  for (int w = 0; w < 100; ++w) text += fmt::format("word{} ", page / 2 * 1000 + w);
  if (page % 2 != 0) text += "again";
  const std::string block =
      fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>{}</p>", text);
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{}>\r\nWARC-Target-URI: {}\r\nWARC-Date: "
      "2024-05-06T07:08:09Z\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: "
      "{}\r\n\r\n{}\r\n\r\n",
      page, url_of(page), block.size(), block);
}

std::string message(int page, std::string_view file, uint64_t offset) {
  return fmt::format(
      R"({{"url":"{}","status_code":200,"mimetype":"text/html","content_digest":"sha1:{}",)"
      R"("start_time_plus_duration":"20240506070809000+12","warc_filename":"{}","warc_offset":{}}})",
      url_of(page), page, file, offset);
}

size_t dead_letters(const IndexSetup& setup) {
  return read_all(setup.bootstrap(), setup.options().output.dead_letters).size();
}

TEST(Fetch, AServerThatIsAwayAndARecordThatIsGone) {
  TempDir dir;
  fs::permissions(dir.path(), fs::perms::all);
  std::string near, far;
  std::vector<std::string> messages;
  for (int page = 0; page < 20; ++page) {
    messages.push_back(message(page, "near.warc", near.size()));
    near += warc_record(page);
  }
  for (int page = 20; page < 40; ++page) {
    messages.push_back(message(page, "far.warc", far.size()));
    far += warc_record(page);
  }
  messages.push_back(message(99, "far.warc", 10'000'000));  // beyond the end
  messages.push_back(message(0, "nowhere.warc", 0));  // the file does not exist, but the payload is known
  messages.push_back(message(1, "near.warc", near.size() / 2));  // no record begins there
  write_file(dir / "near/near.warc", near);
  write_file(dir / "files/far.warc", far);
  const int port = free_port();
  const IndexSetup::Settings settings{
      {"input.format", "heritrix"},
      {"warc.roots", fmt::format("[{}, 'http://127.0.0.1:{}']", dir / "near", port)}};
  IndexSetup setup(Broker::shared().bootstrap(), settings, 1);
  Client client(setup.bootstrap());
  std::vector<Message> produced;
  for (const std::string& value : messages) produced.push_back({.value = value});
  client.produce(setup.input(), produced);

  {
    const auto daemon = setup.serve();
    ASSERT_TRUE(daemon->await_line("ready")) << daemon->said();
    // The records before the gap come; then the daemon waits, and is killed.
    ASSERT_TRUE(client.topic_exists(setup.options().output.topic));
    EXPECT_EQ(Reader(setup.bootstrap(), setup.options().output.topic).read(10).size(), 10U);
    daemon->kill();
    daemon->await_exit();
  }
  Nginx nginx(dir.path().string(), port);
  ASSERT_TRUE(nginx.running) << "nginx did not start (Debian: nginx-light)";
  const auto daemon = setup.serve();
  ASSERT_TRUE(setup.await_all(*daemon)) << daemon->said();
  daemon->terminate();
  ASSERT_EQ(daemon->await_exit(), 0) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr("refused=1"));

  // Every second page, once, and the page whose payload is known.
  const std::vector<Message> all = read_all(setup.bootstrap(), setup.options().output.topic);
  ASSERT_EQ(all.size(), 21U) << daemon->said();
  std::map<std::string, int> copies;
  for (const Message& event : all) {
    for (int page = 0; page < 40; ++page) {
      if (event.value->find(fmt::format("\"document\":{{\"id\":\"{}\"", url_of(page))) != std::string::npos)
        ++copies[url_of(page)];
    }
  }
  for (int page = 1; page < 40; page += 2) EXPECT_EQ(copies[url_of(page)], 1) << page;
  EXPECT_EQ(copies[url_of(0)], 1);
  EXPECT_EQ(dead_letters(setup), 2U);
  EXPECT_EQ(setup.compare_with_rebuilt(), "");

  // The missing documents are in the log, with their places.
  std::vector<std::string> missing;
  for (const Message& m : read_all(setup.bootstrap(), setup.options().kafka.index_log)) {
    if (m.key && m.key->starts_with("missing/")) missing.push_back(*m.key);
  }
  EXPECT_THAT(missing, ::testing::UnorderedElementsAre(fmt::format("missing/{}/0/40", setup.input()),
                                                       fmt::format("missing/{}/0/42", setup.input())));

  // Rebuilds the index from the documents: it stops at the missing ones, or continues without them, or treats
  // them like the first run.
  const auto rebuilt = [&](const std::string& name, const std::string& flags) {
    return setup.run(
        fmt::format("rebuild --from documents --set kafka.index_log={}-{} --set state.directory={} {}",
                    setup.options().kafka.index_log, name, dir / name, flags));
  };
  const Ran stopped = rebuilt("stops", "");
  EXPECT_EQ(stopped.code, 3) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("at offset 40 cannot be read"));
  const Ran skipped = rebuilt("skips", "--on-missing skip");
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("duplicates=21 rejected=2 missing=2"));
  const Ran same = rebuilt("same", "--missing-as-in " + setup.options().kafka.index_log);
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.err, HasSubstr("duplicates=21 rejected=2 missing=2"));
}

}  // namespace
}  // namespace doppel::testing
