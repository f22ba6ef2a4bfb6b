// Files behind URLs, from a real web server, beside the same files on disk.

#include "fetch/downloads.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "fetch/nginx.h"
#include "files/files_testing.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class DownloadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(directory_ / "files");
    nginx_.emplace(directory_.path(), free_port());
    ASSERT_TRUE(nginx_->running) << "nginx did not start (Debian: nginx-light)";
    std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
  }
  // Pieces are small, so that a file has many.
  DownloadOptions small_pieces() const {
    return {.directory = directory_.path(),
            .parallel = 4,
            .piece_bytes = 1000,
            .ahead_bytes = 5000,
            .max_wait = 0ms};
  }
  FilesSourceOptions local(const std::vector<std::string>& names) const {
    FilesSourceOptions options{.batch_records = 7, .buffer_bytes = 700};
    for (const std::string& name : names) options.paths.push_back(directory_ / ("files/" + name));
    return options;
  }
  FilesSourceOptions remote(const std::vector<std::string>& names, DownloadOptions how,
                            const std::string& below = "/") const {
    FilesSourceOptions options = local({});
    for (const std::string& name : names) options.paths.push_back(nginx_->url + below + name);
    options.remote = make_downloads(std::move(how));
    return options;
  }
  void write(const std::string& name, const std::string& bytes) {
    write_file(directory_ / ("files/" + name), bytes);
  }

  const TemporaryDirectory directory_;
  std::optional<Nginx> nginx_;
};

std::string some_lines(std::mt19937_64& random, int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format("{{\"id\":{},\"text\":\"{}\"}}\n", i, std::string(random() % 300, 'a' + i % 26));
  return out;
}

std::string some_records(std::mt19937_64& random, int count, bool packed) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    const std::string block = fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{} {}</p>", i,
                                          std::string(random() % 900, 'x'));
    const std::string record = fmt::format(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{}>\r\nWARC-Target-URI: http://x/{}\r\n"
        "WARC-Date: 2024-05-06T07:08:09Z\r\nContent-Type: application/http; msgtype=response\r\n"
        "Content-Length: {}\r\n\r\n{}\r\n\r\n",
        i, i, block.size(), block);
    out += packed ? gz(record) : record;
  }
  return out;
}

TEST_F(DownloadsTest, ReadsTheSameAsFromDiskAndContinuesAnywhere) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  write("a.jsonl", some_lines(random, 40));
  write("b.jsonl.gz", gz(some_lines(random, 40)));
  write("c.jsonl.zst", zst(some_lines(random, 40)));
  write("d.warc", some_records(random, 12, false));
  write("e.warc.gz", some_records(random, 12, true));
  write("f.txt", std::string(random() % 5000, 'f'));
  write("g.txt", "");
  write("h.csv", "id,text\n1,one\n2,two\n");
  const std::vector<std::string> names{"a.jsonl",   "b.jsonl.gz", "c.jsonl.zst", "d.warc",
                                       "e.warc.gz", "f.txt",      "g.txt",       "h.csv"};
  FilesSourceOptions from_disk = local(names);
  from_disk.columns.emplace();
  const Taken truth = take_all(*must_open(from_disk));
  ASSERT_GT(truth.lines.size(), 140u);
  ASSERT_TRUE(truth.problems.empty()) << truth.problems[0].message;
  for (const std::string below : {"/", "/whole/"}) {
    SCOPED_TRACE(below);
    FilesSourceOptions options = remote(names, small_pieces(), below);
    options.columns.emplace();
    const Taken all = take_all(*must_open(options));
    EXPECT_EQ(all.lines, truth.lines);
    ASSERT_TRUE(all.problems.empty()) << all.problems[0].message;
    for (size_t i = 0; i < all.positions.size(); ++i) {
      const Taken rest = take_all(*must_open(options, all.positions[i]));
      const std::vector<InputLine> expected(truth.lines.begin() + static_cast<ptrdiff_t>(all.counts[i]),
                                            truth.lines.end());
      EXPECT_EQ(rest.lines, expected) << "after batch " << i;
      EXPECT_TRUE(rest.problems.empty());
    }
  }
}

TEST_F(DownloadsTest, NamesHaveNoSecrets) {
  write("a.jsonl", "{}\n");
  FilesSourceOptions options = remote({}, small_pieces());
  options.paths = {"http://user:password@" + nginx_->url.substr(7) + "/a.jsonl?signature=secret"};
  const Taken all = take_all(*must_open(options));
  ASSERT_EQ(all.sources.size(), 1u);
  EXPECT_EQ(all.sources[0], nginx_->url + "/a.jsonl");
  for (const std::string& position : all.positions) {
    EXPECT_EQ(position.find("secret"), std::string::npos);
    EXPECT_EQ(position.find("password"), std::string::npos);
  }
}

TEST_F(DownloadsTest, AMissingFileIsNamedAndTheOthersAreRead) {
  write("a.jsonl", "{}\n");
  const Taken all = take_all(*must_open(remote({"gone/x", "a.jsonl", "forbidden/y"}, small_pieces())));
  EXPECT_EQ(all.lines.size(), 1u);
  ASSERT_EQ(all.problems.size(), 2u);
  EXPECT_THAT(all.problems[0].message, HasSubstr("/gone/x: HTTP status 410"));
  EXPECT_THAT(all.problems[1].message, HasSubstr("/forbidden/y: HTTP status 403"));
  EXPECT_TRUE(absl::IsNotFound(open_files_source(remote({"gone/x"}, small_pieces()), "").status()));
  EXPECT_TRUE(absl::IsUnavailable(open_files_source(remote({"away/x"}, small_pieces()), "").status()));
}

TEST_F(DownloadsTest, SaysHowManyFilesWereFound) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    names.push_back(fmt::format("{}.jsonl", i));
    write(names.back(), "{}\n");
  }
  for (FilesSourceOptions options : {remote(names, small_pieces()), local({""})}) {
    std::vector<uint64_t> found;
    options.listing = [&](uint64_t files) { found.push_back(files); };
    must_open(options);
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    EXPECT_EQ(found.back(), 40u);
  }
}

TEST_F(DownloadsTest, AServerThatFailsIsNamedWhileItIsAskedAgain) {
  std::vector<std::string> said;
  std::mutex mutex;
  DownloadOptions how = small_pieces();
  how.max_wait = 500ms;
  how.tell_after = 0ms;
  how.say = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    said.push_back(text);
  };
  EXPECT_TRUE(absl::IsUnavailable(open_files_source(remote({"away/x"}, std::move(how)), "").status()));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], HasSubstr("/away/x: HTTP status 503; doppel tries again"));
}

// Waiting does not help, so nobody waits.
TEST_F(DownloadsTest, AServerThatIsNotTrustedIsAnErrorAtOnce) {
  const std::string folder = directory_.path();
  ASSERT_EQ(std::system(
                fmt::format("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext "
                            "subjectAltName=IP:127.0.0.1 -keyout {0}/key -out {0}/certificate 2>{0}/openssl",
                            folder)
                    .c_str()),
            0);
  write("a.jsonl", "{}\n");
  std::filesystem::create_directory(directory_ / "secure");
  const int port = free_port();
  const Nginx secure(
      directory_ / "secure", port,
      fmt::format("ssl_certificate {0}/certificate; ssl_certificate_key {0}/key; location / {{ root "
                  "{0}/files; }}",
                  folder),
      "ssl");
  ASSERT_TRUE(secure.running);
  FilesSourceOptions options = local({});
  options.paths = {fmt::format("https://127.0.0.1:{}/a.jsonl", port)};
  const auto open_with = [&](const std::string& certificates) {
    DownloadOptions how = small_pieces();
    how.certificates = certificates;
    how.max_wait = 1h;
    options.remote = make_downloads(std::move(how));
    return open_files_source(options, "").status();
  };
  EXPECT_TRUE(open_with(folder + "/certificate").ok());
  const absl::Status other = open_with("/etc/ssl/certs/ca-certificates.crt");
  EXPECT_THAT(std::string(other.message()), HasSubstr("/a.jsonl: the server's certificate is not trusted"));
  EXPECT_TRUE(absl::IsFailedPrecondition(other));
  const absl::Status none = open_with(folder + "/nothing");
  EXPECT_THAT(std::string(none.message()),
              HasSubstr("install ca-certificates, or name a file with SSL_CERT_FILE"));
}

TEST(Downloads, WithoutANetworkURLsAreRefused) {
  FilesSourceOptions options;
  options.paths = {"https://user:password@example.org/x?secret"};
  const absl::Status status = open_files_source(options, "").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("https://example.org/x: a URL"));
}

TEST_F(DownloadsTest, AFileThatChangesEndsTheRunAndIsReadAnewByTheNext) {
  std::mt19937_64 random(1);
  const std::string lines = some_lines(random, 20'000);
  write("a.jsonl", lines);
  const FilesSourceOptions options = remote({"a.jsonl"}, small_pieces());
  const std::unique_ptr<Source> source = must_open(options);
  Batch batch;
  absl::StatusOr<bool> more = source->next(batch);
  ASSERT_TRUE(more.ok() && *more);
  const std::string position(batch.position);
  const std::string other = some_lines(random, 30'000);
  write("a.jsonl", other);
  while (more.ok() && *more) more = source->next(batch);
  ASSERT_TRUE(absl::IsFailedPrecondition(more.status())) << more.status();
  EXPECT_THAT(std::string(more.status().message()),
              HasSubstr("/a.jsonl: the content changed while it was read"));

  const Taken again = take_all(*must_open(remote({"a.jsonl"}, small_pieces()), position));
  EXPECT_EQ(again.lines, split_lines(other));
  ASSERT_EQ(again.problems.size(), 1u);
  EXPECT_THAT(again.problems[0].message, HasSubstr("the file is gone or was replaced"));
}

TEST_F(DownloadsTest, AServerThatGoesAwayEndsTheRun) {
  std::mt19937_64 random(2);
  const std::string lines = some_lines(random, 20'000);
  write("a.jsonl", lines);
  const std::unique_ptr<Source> source = must_open(remote({"a.jsonl"}, small_pieces()));
  Batch batch;
  size_t count = 0;
  absl::StatusOr<bool> more = source->next(batch);
  for (; more.ok() && *more; more = source->next(batch)) {
    count += batch.records.size();
    nginx_.reset();
  }
  ASSERT_TRUE(absl::IsUnavailable(more.status())) << more.status();
  EXPECT_THAT(std::string(more.status().message()), HasSubstr("/a.jsonl: "));
  EXPECT_LT(count, 20'000u);
}

TEST_F(DownloadsTest, StoppingEndsAWait) {
  write("a.jsonl", "{}\n");
  std::atomic<bool> stop = false;
  DownloadOptions how = small_pieces();
  how.max_wait = 1h;
  how.stop = [&] { return stop.load(); };
  std::thread stopper([&] { stop = true; });
  const absl::Status status = open_files_source(remote({"away/x"}, how), "").status();
  stopper.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

}  // namespace
}  // namespace doppel
