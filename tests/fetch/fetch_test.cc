// FETCH over local files and over a real web server (nginx, where it is installed).

#include "fetch/fetch_source.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "base/status.h"
#include "fetch/nginx.h"
#include "files/files_testing.h"

namespace doppel {
namespace {

using testing::HasSubstr;

std::string record_of(std::string_view uri, std::string_view text) {
  std::string block = fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{}</p>", text);
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: {}\r\nWARC-Date: "
      "2024-05-06T07:08:09Z\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: "
      "{}\r\n\r\n{}\r\n\r\n",
      uri, block.size(), block);
}

std::string packed(std::string_view name, const std::string& bytes) {
  return name.ends_with(".gz") ? gz(bytes) : name.ends_with(".zst") ? zst(bytes) : bytes;
}

// Writes two records, each a member. Returns the offset of the second one.
uint64_t write_two(const std::string& path, std::string_view name) {
  const std::string first = packed(name, record_of("http://x/1", "first"));
  write_file(path, first + packed(name, record_of("http://x/2", "second")));
  return first.size();
}

std::unique_ptr<WarcRoot> root_at(const std::string& where, const WarcRootOptions& options = {}) {
  auto root = open_warc_root(where, options);
  EXPECT_TRUE(root.ok()) << root.status();
  return root.ok() ? *std::move(root) : nullptr;
}

// Checks the requirements for every root.
void expect_reads(WarcRoot& root, const std::string& name, uint64_t second) {
  auto one = root.read({name, 0}, 1);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(*one + "\r\n\r\n", record_of("http://x/1", "first"));
  auto two = root.read({name, second}, 1);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(*two + "\r\n\r\n", record_of("http://x/2", "second"));
  EXPECT_TRUE(absl::IsDataLoss(root.read({name, second + 3}, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(root.read({"none-" + name, 0}, 1).status()));
  EXPECT_FALSE(root.read({name, 1'000'000}, 1).ok());
}

TEST(LocalRoot, ReadsRecordsWhereTheyAre) {
  TemporaryDirectory directory;
  auto root = root_at(directory.path());
  for (const char* name : {"a.warc", "a.warc.gz", "a.warc.zst"}) {
    expect_reads(*root, name, write_two(directory / name, name));
  }
}

TEST(LocalRoot, FindsOpenFilesSubfoldersAndNewOnes) {
  TemporaryDirectory directory;
  auto root = root_at(directory.path());
  write_two(directory / "a.warc.gz.open", "a.warc.gz");
  EXPECT_TRUE(root->read({"a.warc.gz", 0}, 1).ok());
  write_two(directory / "deep/er/b.warc.gz", "b.warc.gz");
  EXPECT_TRUE(root->read({"b.warc.gz", 0}, 1).ok());
  // Searches only once per round.
  EXPECT_TRUE(absl::IsNotFound(root->read({"c.warc.gz", 0}, 1).status()));
  write_two(directory / "deep/c.warc.gz.open", "c.warc.gz");
  EXPECT_TRUE(absl::IsNotFound(root->read({"c.warc.gz", 0}, 1).status()));
  EXPECT_TRUE(root->read({"c.warc.gz", 0}, 2).ok());
  std::filesystem::rename(directory / "deep/c.warc.gz.open", directory / "deep/c.warc.gz");
  EXPECT_TRUE(root->read({"c.warc.gz", 0}, 2).ok());
}

TEST(LocalRoot, DamageIsTold) {
  TemporaryDirectory directory;
  auto root = root_at(directory.path());
  std::string bytes = gz(record_of("http://x/1", std::string(5000, 'x')));
  write_file(directory / "cut.warc.gz", bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(absl::IsDataLoss(root->read({"cut.warc.gz", 0}, 1).status()));
  bytes[bytes.size() / 2] ^= 0x55;
  bytes[bytes.size() / 2 + 1] ^= 0x55;
  write_file(directory / "bad.warc.gz", bytes);
  EXPECT_FALSE(root->read({"bad.warc.gz", 0}, 1).ok());
}

TEST(LocalRoot, OfALargeRecordOnlyTheBeginning) {
  TemporaryDirectory directory;
  auto root = root_at(directory.path(), {.max_bytes = 100'000});
  write_file(directory / "a.warc.gz", gz(record_of("http://x/1", std::string(5'000'000, 'x'))));
  auto record = root->read({"a.warc.gz", 0}, 1);
  ASSERT_TRUE(record.ok());
  EXPECT_LT(record->size(), 70'000u);
}

TEST(FetchNames, StayBelowTheirRoot) {
  for (const char* name : {"", "/etc/passwd", "../x", "a/../b", "a/.."})
    EXPECT_FALSE(is_safe_filename(name)) << name;
  for (const char* name : {"a.warc.gz", "b/a.warc", "..a", "a..b/c"})
    EXPECT_TRUE(is_safe_filename(name)) << name;
}

TEST(HttpRoot, ReadsRangesOfARealServer) {
  TemporaryDirectory directory;
  Nginx nginx(directory.path(), free_port());
  ASSERT_TRUE(nginx.running) << "nginx did not start (Debian: nginx-light)";
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  auto root = root_at(nginx.url + "/");
  for (const char* name : {"a.warc", "a.warc.gz", "a.warc.zst"}) {
    const uint64_t second = write_two(directory / "files" + "/" + name, name);
    expect_reads(*root, name, second);
    EXPECT_TRUE(absl::IsOutOfRange(root->read({name, 1'000'000}, 1).status()));
    // A server that answers 200 to a range.
    auto whole = root_at(nginx.url + "/whole");
    auto two = whole->read({name, second}, 1);
    ASSERT_TRUE(two.ok()) << two.status();
    EXPECT_THAT(*two, HasSubstr("second"));
  }
  write_two(directory / "files/b.warc.gz.open", "b.warc.gz");
  EXPECT_TRUE(root->read({"b.warc.gz", 0}, 1).ok());
  std::string cut = gz(record_of("http://x/1", std::string(5000, 'x')));
  write_file(directory / "files/cut.warc.gz", cut.substr(0, cut.size() - 30));
  EXPECT_TRUE(absl::IsDataLoss(root->read({"cut.warc.gz", 0}, 1).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(root_at(nginx.url + "/forbidden")->read({"a", 0}, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(root_at(nginx.url + "/gone")->read({"a", 0}, 1).status()));
  for (const char* later : {"/away", "/busy"})
    EXPECT_TRUE(absl::IsUnavailable(root_at(nginx.url + later)->read({"a", 0}, 1).status())) << later;
  // A server that answers with another range.
  EXPECT_TRUE(absl::IsDataLoss(root_at(nginx.url + "/other")->read({"a", 0}, 1).status()));
  const absl::Status other = root_at(nginx.url + "/other")->read({"a", 50}, 1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("bytes 0-9/100"));
}

TEST(HttpRoot, AServerThatIsNotThere) {
  EXPECT_TRUE(absl::IsUnavailable(root_at("http://127.0.0.1:1")->read({"a", 0}, 1).status()));
}

// Crawl logs as a source returns them.
class Messages final : public Source {
 public:
  explicit Messages(std::vector<std::string> values, std::string position = "")
      : values_(std::move(values)), position_(std::move(position)) {
    for (std::string& value : values_) value.reserve(value.size() + kRecordPadding);
  }
  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    if (done_) return false;
    done_ = true;
    for (const std::string& value : values_) {
      Record& record = batch.records.emplace_back();
      record.value = value;
      record.source = "log";
      record.partition = 0;
      record.offset = batch.records.size() - 1;
    }
    batch.position = position_;
    return true;
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  std::vector<std::string> values_;
  std::string position_;
  bool done_ = false;
};

void for_each_record(Source& source, const std::function<void(const Record&)>& visit) {
  Batch batch;
  while (true) {
    const absl::StatusOr<bool> more = source.next(batch);
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) return;
    for (const Record& record : batch.records) visit(record);
  }
}

std::string message(std::string_view url, std::string_view file, uint64_t offset) {
  return fmt::format(
      R"({{"url":"{}","status_code":200,"mimetype":"text/html","warc_filename":"{}","warc_offset":{}}})", url,
      file, offset);
}

TEST(FetchSource, GivesEachMessageItsRecordInOrder) {
  TemporaryDirectory directory;
  const uint64_t second = write_two(directory / "a.warc.gz", "a.warc.gz");
  std::vector<std::string> values;
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    switch (i % 5) {
      case 0:
        values.push_back(message("http://x/1", "a.warc.gz", 0));
        expected.emplace_back("first");
        break;
      case 1:
        values.push_back(message("http://x/2", "a.warc.gz", second));
        expected.emplace_back("second");
        break;
      case 2:
        values.push_back(message("http://x/2", "a.warc.gz", 0));
        expected.emplace_back("warc_mismatch");
        break;
      case 3:
        values.push_back(message("http://x/2", "missing.warc.gz", 0));
        expected.emplace_back("fetch_failed: missing.warc.gz is not below");
        break;
      default:
        values.push_back(R"({"url":"dns:x","status_code":1,"warc_filename":"a.warc.gz","warc_offset":0})");
        expected.emplace_back("not_http");
    }
  }
  FetchOptions options{.roots = {directory.path()}, .parallel = 4};
  options.format.format = "heritrix";
  ASSERT_TRUE(fetches(options));
  Messages messages(values);
  auto source = make_fetch_source(messages, options);
  ASSERT_TRUE(source.ok());
  auto decoder = make_decoder(options.format);
  size_t i = 0;
  for_each_record(**source, [&](const Record& record) {
    Document document;
    absl::Status status = decoder->decode(record, document);
    std::string got = !status.ok()                    ? std::string(std_sv(status.message()))
                      : document.skip == Reason::none ? std::string(document.text)
                                                      : message_of(document.skip);
    EXPECT_THAT(got, HasSubstr(expected[i])) << i;
    if (i++ % 5 == 0) {
      EXPECT_EQ(document.warc->record_id, "urn:uuid:1");
    }
  });
  EXPECT_EQ(i, values.size());
  const FetchCounts counts = (*source)->counts();
  EXPECT_EQ(counts.of(FetchResult::ok), 40u);
  EXPECT_EQ(counts.of(FetchResult::mismatch), 20u);
  EXPECT_EQ(counts.of(FetchResult::missing), 20u);
  EXPECT_EQ(counts.given_up(), 40u);
}

// A root whose script decides the result of the n-th read of each place, and that waits on request.
class ScriptedRoot final : public WarcRoot {
 public:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool away = false;                 // no read is answered
    std::set<uint64_t> blocked;        // offsets whose reads wait
    std::map<uint64_t, int> failures;  // number of times Unavailable, then the record
    size_t reads = 0, under_way = 0, most_under_way = 0;
    std::string text = "text";
    void change(const std::function<void(State&)>& how) {
      {
        const std::lock_guard lock(mutex);
        how(*this);
      }
      changed.notify_all();
    }
  };
  explicit ScriptedRoot(std::shared_ptr<State> state) : state_(std::move(state)) {}

  absl::StatusOr<std::string> read(const RecordLocation& place, uint64_t) override {
    std::unique_lock lock(state_->mutex);
    ++state_->reads;
    state_->most_under_way = std::max(state_->most_under_way, ++state_->under_way);
    state_->changed.notify_all();
    state_->changed.wait(lock, [&] { return !state_->blocked.contains(place.offset); });
    --state_->under_way;
    if (state_->away) return absl::UnavailableError("away");
    if (int& left = state_->failures[place.offset]; left != 0) {
      if (left < 0) return absl::NotFoundError("never");
      --left;
      return absl::UnavailableError("try again");
    }
    std::string record = record_of(fmt::format("http://x/{}", place.offset), state_->text);
    record.reserve(record.size() + kRecordPadding);
    return record;
  }

 private:
  std::shared_ptr<State> state_;
};

// `count` messages with records at the offsets 0, 1, ...; as from files (one position for the batch), or from
// Kafka.
struct Scripted {
  explicit Scripted(size_t count, FetchOptions options = {}, std::string position = "") {
    std::vector<std::string> values;
    for (size_t i = 0; i < count; ++i) values.push_back(message(fmt::format("http://x/{}", i), "a.warc", i));
    messages = std::make_unique<Messages>(values, std::move(position));
    options.format.format = "heritrix";
    auto cancel = std::make_shared<std::atomic<bool>>(false);
    std::vector<std::unique_ptr<WarcRoot>> roots;
    roots.push_back(std::make_unique<ScriptedRoot>(root));
    source = make_fetch_source(*messages, options, std::move(roots), cancel);
  }
  ~Scripted() {
    root->change([](auto& r) { r.blocked.clear(); });
    source.reset();
  }

  std::shared_ptr<ScriptedRoot::State> root = std::make_shared<ScriptedRoot::State>();
  std::unique_ptr<Messages> messages;
  std::unique_ptr<FetchSource> source;
};

std::vector<uint64_t> offsets_of(const Batch& batch) {
  std::vector<uint64_t> out;
  for (const Record& record : batch.records) out.push_back(record.offset);
  return out;
}

TEST(FetchSource, HandsOnWhatIsThereInOrder) {
  Scripted s(5, {.parallel = 3});
  s.root->change([](auto& root) { root.blocked = {2}; });
  std::vector<uint64_t> got;
  Batch batch;
  while (got.size() < 2) {
    ASSERT_TRUE(*s.source->next(batch));
    for (uint64_t offset : offsets_of(batch)) got.push_back(offset);
  }
  EXPECT_EQ(got, (std::vector<uint64_t>{0, 1}));
  ASSERT_TRUE(*s.source->next(batch));  // returns
  EXPECT_TRUE(batch.records.empty());
  s.root->change([](auto& root) { root.blocked.clear(); });
  while (got.size() < 5) {
    ASSERT_TRUE(*s.source->next(batch));
    for (uint64_t offset : offsets_of(batch)) got.push_back(offset);
  }
  EXPECT_EQ(got, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(*s.source->next(batch));
}

TEST(FetchSource, APositionComesWithItsWholeBatch) {
  Scripted s(4, {.parallel = 2, .max_bytes = 1}, "here");
  s.root->change([](auto& root) { root.blocked = {3}; });
  Batch batch;
  ASSERT_TRUE(*s.source->next(batch));
  EXPECT_TRUE(batch.records.empty());
  EXPECT_TRUE(batch.position.empty());
  s.root->change([](auto& root) { root.blocked.clear(); });
  while (batch.records.empty()) ASSERT_TRUE(*s.source->next(batch));
  EXPECT_EQ(batch.records.size(), 4u);
  EXPECT_EQ(batch.position, "here");
}

TEST(FetchSource, WaitsForARootThatIsAway) {
  Scripted s(20, {.parallel = 4});
  s.root->change([](auto& root) { root.away = true; });
  Batch batch;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(*s.source->next(batch));
    EXPECT_TRUE(batch.records.empty());
  }
  s.root->change([](auto& root) { root.away = false; });
  size_t read = 0;
  for_each_record(*s.source, [&](const Record& record) {
    EXPECT_EQ(record.offset, read++);
    EXPECT_TRUE(record.fetched.has_value());
  });
  EXPECT_EQ(read, 20u);
  EXPECT_EQ(s.source->counts().of(FetchResult::ok), 20u);
  EXPECT_GT(s.source->counts().retries, 0u);
}

TEST(FetchSource, GivesUpAfterAWhile) {
  Scripted s(20, {.parallel = 4, .max_wait_ms = 150});
  s.root->change([](auto& root) { root.away = true; });
  size_t read = 0;
  for_each_record(*s.source, [&](const Record& record) {
    EXPECT_EQ(record.offset, read++);
    EXPECT_EQ(record.not_fetched, "fetch_failed: away");
  });
  EXPECT_EQ(read, 20u);
  EXPECT_EQ(s.source->counts().of(FetchResult::timed_out), 20u);
}

TEST(FetchSource, WhatIsKnownToBeMissingIsNotTried) {
  FetchOptions options;
  options.known_missing = [](const Record& r) { return r.offset == 1 ? "as before" : ""; };
  Scripted s(3, options, "here");
  for_each_record(*s.source, [&](const Record& record) {
    EXPECT_EQ(record.known_missing, record.offset == 1);
    EXPECT_EQ(record.not_fetched, record.offset == 1 ? "as before" : "");
  });
  EXPECT_EQ(s.root->reads, 2u);
}

TEST(FetchSource, HoldsOnlySoMuch) {
  Scripted s(50, {.parallel = 4, .max_bytes = 5'000});
  s.root->change([](auto& root) { root.text = std::string(1000, 'x'); });
  size_t read = 0, most = 0;
  Batch batch;
  while (*s.source->next(batch)) {
    size_t bytes = 0;
    for (const Record& record : batch.records) bytes += record.fetched->size();
    most = std::max(most, bytes);
    for (const Record& record : batch.records) EXPECT_EQ(record.offset, read++);
  }
  EXPECT_EQ(read, 50u);
  EXPECT_LT(most, 5'000u + 4 * 1'400);
  EXPECT_LE(s.root->most_under_way, 4u);
}

TEST(FetchSource, AnyFailuresGiveTheSameRecords) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5; ++round) {
    const size_t count = 1 + random() % 60;
    FetchOptions options{.parallel = 1 + static_cast<int>(random() % 8), .max_bytes = 1 + random() % 5'000};
    Scripted s(count, options, random() % 2 == 0 ? "here" : "");
    std::map<uint64_t, int> failures;
    for (size_t i = 0; i < count; ++i) {
      if (random() % 8 == 0) failures[i] = random() % 3 == 0 ? -1 : 1;
    }
    s.root->change([&](auto& root) { root.failures = failures; });
    size_t read = 0;
    for_each_record(*s.source, [&](const Record& record) {
      const bool missing = failures.contains(read) && failures[read] < 0;
      EXPECT_EQ(record.offset, read++);
      EXPECT_EQ(record.fetched.has_value(), !missing);
      EXPECT_EQ(record.not_fetched.empty(), !missing);
      if (record.fetched) {
        EXPECT_THAT(std::string(*record.fetched), HasSubstr(fmt::format("http://x/{}\r\n", record.offset)));
      }
    });
    EXPECT_EQ(read, count);
  }
}

// The payload of two of them is known, and one must be read after all.
TEST(FetchSource, WhatIsKnownIsNotRead) {
  FetchOptions options;
  options.knows_payload = [](const Document& document) {
    return document.url == "http://x/1" || document.url == "http://x/2";
  };
  Scripted s(4, options);
  s.root->change([](auto& root) { root.failures = {{2, 1}}; });
  std::vector<std::shared_ptr<const void>> memory;
  size_t read = 0;
  for_each_record(*s.source, [&](const Record& given) {
    const bool known = read == 1 || read == 2;
    EXPECT_EQ(given.payload_known, known);
    EXPECT_EQ(given.fetched.has_value(), !known);
    if (read++ != 2) return;
    Record record = given;
    ASSERT_TRUE(s.source->read_now(record, memory).ok());
    EXPECT_FALSE(record.payload_known);
    EXPECT_THAT(std::string(record.fetched.value_or("")), HasSubstr("http://x/2"));
  });
  EXPECT_EQ(read, 4u);
  EXPECT_EQ(s.root->reads, 4u);
}

// A server that accepts connections and sends nothing.
TEST(FetchSource, EndsWhileAServerIsSilent) {
  int server = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server, 8), 0);
  ASSERT_EQ(::getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
  FetchOptions options{.roots = {fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port))},
                       .root = {.timeout_ms = 600'000}};
  options.format.format = "heritrix";
  Messages messages({message("http://x/1", "a.warc.gz", 0)});
  auto source = make_fetch_source(messages, options);
  Batch batch;
  ASSERT_TRUE(*(*source)->next(batch));
  EXPECT_TRUE(batch.records.empty());
  source->reset();
  ::close(server);
}

TEST(FetchSource, GivesUpOnARootThatIsAway) {
  FetchOptions options{.roots = {"http://127.0.0.1:1"}, .max_wait_ms = 0};
  options.format.format = "heritrix";
  Messages messages({message("http://x/1", "a.warc.gz", 0)});
  auto source = make_fetch_source(messages, options);
  for_each_record(
      **source, [](const Record& r) { EXPECT_THAT(std::string(r.not_fetched), HasSubstr("fetch_failed")); });
}

TEST(FetchSource, ARootMustBeThere) {
  Messages messages({});
  FetchOptions options{.roots = {"/no/such/directory"}};
  EXPECT_THAT(make_fetch_source(messages, options).status().ToString(), HasSubstr("warc.roots"));
}

}  // namespace
}  // namespace doppel
