// One lock, which no transfer holds: a thread takes a piece of the first file that needs one, fetches it, and
// notes how far it came after each buffer. Readers wait for that.

#include "fetch/downloads.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/status.h"
#include "base/strings.h"
#include "fetch/curl.h"
#include "files/output_file.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;
using RemotePtr = std::shared_ptr<const RemoteFile>;

constexpr std::chrono::milliseconds kLeastPause{200}, kMostPause{10'000};
constexpr size_t kStartedAhead = 64;      // files
constexpr size_t kMostAnswer = 64 << 20;  // of a list
constexpr long kConnectSeconds = 20, kStalledSeconds = 30;
constexpr int kAsked = 16;                        // requests in parallel while files are listed
constexpr std::chrono::milliseconds kShown{200};  // between two calls that say how many were found

// What a server says about a file.
struct Response {
  long code = 0;
  std::string version, bucket_region;
  std::optional<uint64_t> size;  // of the whole file
  bool ranges = false;
};

std::string header(CURL* curl, const char* name) {
  const char* const found = answer_header(curl, name);
  return found != nullptr ? found : "";
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  return whole_number(text, value) ? std::optional(value) : std::nullopt;
}

Response said_by(CURL* curl) {
  Response response;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response.code);
  response.version = header(curl, "ETag");
  if (response.version.empty()) response.version = header(curl, "Last-Modified");
  response.bucket_region = header(curl, "x-amz-bucket-region");
  response.ranges = response.code == 206 || response.code == 416;
  if (response.ranges) {
    const std::string range = header(curl, "Content-Range");
    response.size = number(std::string_view(range).substr(range.rfind('/') + 1));
  } else {
    response.size = number(header(curl, "Content-Length"));
  }
  return response;
}

// "HTTP status 404 (NoSuchKey: ...)"
std::string cause_of(const Response& response, std::string_view body) {
  const std::string problem = s3_problem(body);
  return fmt::format("HTTP status {}{}", response.code, problem.empty() ? "" : " (" + problem + ")");
}

struct Asked {
  std::string url;
  std::string range = {};  // "FROM-TO"; "": all
  std::string query = {};  // of a bucket (s3_list_query())
};

// One connection, and the requests on it.
class Client {
 public:
  explicit Client(const DownloadOptions& options, const std::atomic<bool>& cancel)
      : options_(options), cancel_(cancel), curl_(curl_easy_init(), curl_easy_cleanup) {}

  using Take = std::function<size_t(const Response&, std::string_view)>;  // returns how many bytes it took

  // GET. An error: there is no answer. The answer's code may be any.
  absl::StatusOr<Response> get(const Asked& asked, const Take& take) {
    CURL* curl = curl_.get();
    if (curl == nullptr) return absl::ResourceExhaustedError("no memory for a transfer");
    curl_easy_reset(curl);
    curl_slist* headers = nullptr;
    if (const std::optional<S3Place> place = s3_place(asked.url); place) {
      const std::string address = s3_address(options_.s3, *place, asked.query);
      for (const std::string& header : s3_headers(options_.s3, address, std::time(nullptr)))
        headers = curl_slist_append(headers, header.c_str());
      set_request(curl, address, &cancel_);
    } else {
      set_request(curl, asked.url, &cancel_);
      curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
      curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
      curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    }
    const std::unique_ptr<curl_slist, void (*)(curl_slist*)> owned(headers, curl_slist_free_all);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, nullptr);  // as the environment says
    if (headers != nullptr) curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (!asked.range.empty()) curl_easy_setopt(curl, CURLOPT_RANGE, asked.range.c_str());
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "doppel");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 512L << 10);
    if (!options_.certificates.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options_.certificates.c_str());
    struct Context {
      CURL* curl;
      const Take& take;
      std::optional<Response> response;
    } context{curl, take, {}};
    const curl_write_callback write = [](char* bytes, size_t one, size_t size, void* to) {
      auto& given = *static_cast<Context*>(to);
      if (!given.response) given.response = said_by(given.curl);
      return given.take(*given.response, {bytes, one * size});
    };
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &context);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write);
    const CURLcode result = curl_easy_perform(curl);
    if (!context.response) context.response = said_by(curl);
    // The caller takes less if it has enough.
    if (result == CURLE_OK || (result == CURLE_WRITE_ERROR && context.response->code != 0))
      return *context.response;
    return error_of(result);
  }

 private:
  // Unavailable: it may work later.
  static absl::Status error_of(CURLcode result) {
    switch (result) {
      case CURLE_SSL_CACERT_BADFILE:
        return absl::FailedPreconditionError(
            "no file with trusted certificates can be read; install ca-certificates, or name a file with "
            "SSL_CERT_FILE");
      case CURLE_PEER_FAILED_VERIFICATION:
        return absl::FailedPreconditionError(
            "the server's certificate is not trusted; if it should be, name a file with its authority's "
            "certificate with SSL_CERT_FILE");
      case CURLE_TOO_MANY_REDIRECTS:
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_URL_MALFORMAT:
        return absl::FailedPreconditionError(curl_easy_strerror(result));
      default:
        return absl::UnavailableError(curl_easy_strerror(result));
    }
  }

  const DownloadOptions& options_;
  const std::atomic<bool>& cancel_;
  std::unique_ptr<CURL, void (*)(CURL*)> curl_;
};

struct Piece {
  uint64_t got = 0;  // bytes from its beginning that arrived
  bool taken = false;
};

// A file that was begun. The lock of Downloads guards it.
struct Download {
  RemotePtr file;
  Fd fd;
  uint64_t piece_bytes = 0;
  std::vector<Piece> pieces;
  size_t first_open = 0;  // all pieces before it are complete
  uint64_t wanted = 0;    // the reader waits for the bytes before it
  bool opened = false;
  bool left = false;  // its reader is gone
  absl::Status status;

  uint64_t size_of(size_t piece) const { return std::min(piece_bytes, file->size - piece * piece_bytes); }
  uint64_t arrived() const {
    return first_open * piece_bytes + (first_open < pieces.size() ? pieces[first_open].got : 0);
  }
};

class Downloads final : public RemoteFiles, public std::enable_shared_from_this<Downloads> {
 public:
  explicit Downloads(DownloadOptions options) : options_(std::move(options)) {
    start_curl();
    for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
      const char* file = std::getenv(name);
      if (options_.certificates.empty() && file != nullptr) options_.certificates = file;
    }
  }
  ~Downloads() override {
    {
      const std::lock_guard lock(mutex_);
      cancel_ = true;
      work_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  std::vector<Found> list(const std::vector<std::string>& urls,
                          const std::function<void(uint64_t)>& listing) override;
  void plan(std::vector<RemotePtr> files) override {
    const std::lock_guard lock(mutex_);
    planned_.assign(files.begin(), files.end());
    start_threads();
    work_.notify_all();
  }
  absl::StatusOr<Fd> open(const RemoteFile& file) override;

 private:
  class Reader;
  struct Job {
    std::shared_ptr<Download> download;
    size_t piece = 0;
  };

  Found look(Client& client, const std::string& url);
  Found look_into_bucket(Client& client, const std::string& url);
  absl::StatusOr<Response> ask(Client& client, const Asked& asked, std::string* answer);
  void tell(const absl::Status& failed) const {
    options_.say(std::string(std_sv(failed.message())) + "; doppel tries again");
  }
  void start_threads();
  void work();
  std::optional<Job> choose();
  absl::StatusOr<std::shared_ptr<Download>> begin(RemotePtr file);
  void fetch(Client& client, const Job& job);
  absl::Status fetch_once(Client& client, const Job& job);
  absl::Status store(const Job& job, const Response& response, std::string_view bytes, uint64_t& skip);
  bool pause(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds time) {
    return !work_.wait_for(lock, time, [&] { return cancel_.load(); });
  }

  DownloadOptions options_;  // set at the start
  std::atomic<bool> cancel_ = false;
  std::mutex mutex_;
  std::condition_variable work_;      // a thread may find a piece to fetch, or must end
  std::condition_variable arrived_;   // bytes that a reader waits for, or an error; or all files are listed
  std::atomic<uint64_t> listed_ = 0;  // files, by the last list()
  std::atomic<bool> told_ = false;    // that the server fails, in the last list()
  std::deque<RemotePtr> planned_;
  std::deque<std::shared_ptr<Download>> begun_;  // in the order in which they will be read
  std::vector<std::thread> threads_;
};

// ---- listing

// An answer to a request that asks about a file; tries again while the server fails. Without `answer`, the
// first bytes of a whole file end the transfer, and with it the connection.
absl::StatusOr<Response> Downloads::ask(Client& client, const Asked& asked, std::string* answer) {
  const std::string name = url_without_secrets(asked.url);
  const bool s3 = s3_place(asked.url).has_value();
  const Clock::time_point first = Clock::now();
  for (std::chrono::milliseconds wait = kLeastPause;; wait = std::min(2 * wait, kMostPause)) {
    if (options_.stop()) return absl::CancelledError("interrupted");
    std::string body;
    const absl::StatusOr<Response> response =
        client.get(asked, [&](const Response& about, std::string_view bytes) -> size_t {
          const bool whole_file = answer == nullptr && about.code / 100 == 2 && about.code != 206;
          if (whole_file || body.size() > kMostAnswer) return 0;
          body.append(bytes);
          return bytes.size();
        });
    if (response.ok() && response->code / 100 == 2) {
      if (answer != nullptr) *answer = std::move(body);
      return *response;
    }
    if (response.ok() && response->code == 416) return *response;
    const std::string text = fmt::format(
        "{}: {}", name, response.ok() ? cause_of(*response, body) : std::string(response.status().message()));
    if (response.ok() && !may_pass(response->code)) {
      if (response->code == 404 || response->code == 410) return absl::NotFoundError(text);
      const std::string& region = response->bucket_region;
      std::string hint;
      if ((response->code == 403 || response->code == 401) && s3 && options_.s3.access_key.empty())
        hint =
            "; doppel asked without credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "AWS_PROFILE";
      else if (s3 && !region.empty() && region != options_.s3.region)
        hint = "; set AWS_REGION=" + region;
      return absl::PermissionDeniedError(text + hint);
    }
    if (!response.ok() && !absl::IsUnavailable(response.status()))
      return absl::Status(response.status().code(), text);
    if (options_.stop() || cancel_) return absl::CancelledError("interrupted");
    if (Clock::now() - first + wait > options_.max_wait) return absl::UnavailableError(text);
    if (Clock::now() - first >= options_.tell_after && !told_.exchange(true))
      tell(absl::UnavailableError(text));
    std::unique_lock lock(mutex_);
    if (!pause(lock, wait)) return absl::CancelledError("interrupted");
  }
}

RemoteFiles::Found Downloads::look(Client& client, const std::string& url) {
  if (url.starts_with("s3://")) return look_into_bucket(client, url);
  // Not HEAD: a URL that is signed for GET refuses it.
  ASSIGN_OR_RETURN(const Response response, ask(client, {.url = url, .range = "0-0"}, nullptr));
  RemoteFile file{.url = url, .name = url_without_secrets(url), .version = response.version};
  if (response.code != 416 && !response.size) {
    return absl::FailedPreconditionError(
        fmt::format("{}: the server does not say how long the file is; fetch it first: curl -O {}", file.name,
                    file.name));
  }
  file.size = response.size.value_or(0);
  file.ranges = response.ranges;
  ++listed_;
  return std::vector<RemotePtr>{std::make_shared<RemoteFile>(std::move(file))};
}

RemoteFiles::Found Downloads::look_into_bucket(Client& client, const std::string& url) {
  const std::optional<S3Place> place = s3_place(url);
  if (!place) return invalid(url + ": names no bucket; s3://BUCKET/PREFIX/ or s3://BUCKET/KEY");
  std::vector<RemotePtr> out;
  std::string token;
  do {
    std::string answer;
    const Asked asked{.url = fmt::format("s3://{}/", place->bucket),
                      .query = s3_list_query(place->key, token)};
    RETURN_IF_ERROR(ask(client, asked, &answer).status());
    ASSIGN_OR_RETURN(S3Page page, parse_s3_page(answer));
    for (S3Object& object : page.objects) {
      const std::string_view rest =
          std::string_view(object.key).substr(std::min(place->key.size(), object.key.size()));
      const bool inside = place->key.empty() || place->key.ends_with('/') || rest.starts_with('/');
      if (!inside && !rest.empty()) continue;   // "data2" begins with "data"
      if (object.key.ends_with('/')) continue;  // some tools store empty objects for folders
      const std::string name = fmt::format("s3://{}/{}", place->bucket, object.key);
      out.push_back(std::make_shared<RemoteFile>(RemoteFile{.url = name,
                                                            .name = name,
                                                            .version = std::move(object.etag),
                                                            .size = object.size,
                                                            .ranges = true}));
      ++listed_;
    }
    token = std::move(page.token);
  } while (!token.empty());
  if (out.empty()) return absl::NotFoundError(url + ": there is no such object, and none below it");
  return out;
}

std::vector<RemoteFiles::Found> Downloads::list(const std::vector<std::string>& urls,
                                                const std::function<void(uint64_t)>& listing) {
  std::vector<Found> out(urls.size(), absl::UnknownError(""));
  std::atomic<size_t> next = 0;
  listed_ = 0;
  told_ = false;
  const size_t parallel = std::min<size_t>(kAsked, urls.size());
  size_t busy = parallel;  // threads; guarded by the lock
  const auto look_at_some = [&] {
    Client client(options_, cancel_);
    for (size_t i; (i = next++) < urls.size();) out[i] = look(client, urls[i]);
    const std::lock_guard lock(mutex_);
    if (--busy == 0) arrived_.notify_all();
  };
  std::vector<std::thread> threads;
  while (threads.size() < parallel) threads.emplace_back(look_at_some);
  {
    std::unique_lock lock(mutex_);
    while (!arrived_.wait_for(lock, kShown, [&] { return busy == 0; })) {
      lock.unlock();
      listing(listed_);
      lock.lock();
    }
  }
  for (std::thread& thread : threads) thread.join();
  listing(listed_);
  return out;
}

// ---- fetching

absl::StatusOr<std::shared_ptr<Download>> Downloads::begin(RemotePtr file) {
  auto out = std::make_shared<Download>();
  ASSIGN_OR_RETURN(out->fd, unnamed_file(options_.directory));
  if (::ftruncate(out->fd.get(), static_cast<off_t>(file->size)) != 0) return io_error(options_.directory);
  out->piece_bytes = file->ranges ? options_.piece_bytes : std::max<uint64_t>(file->size, 1);
  out->pieces.resize((file->size + out->piece_bytes - 1) / out->piece_bytes);
  out->file = std::move(file);
  return out;
}

// The bytes of a file that is read.
class Downloads::Reader final : public Arriving {
 public:
  Reader(std::shared_ptr<Downloads> all, std::shared_ptr<Download> download)
      : all_(std::move(all)), download_(std::move(download)) {}
  ~Reader() override {
    const std::lock_guard lock(all_->mutex_);
    download_->left = true;
    std::erase(all_->begun_, download_);
    all_->work_.notify_all();
  }
  absl::Status await(uint64_t end) override {
    end = std::min(end, download_->file->size);
    std::unique_lock lock(all_->mutex_);
    if (end > download_->wanted) {
      download_->wanted = end;
      all_->work_.notify_all();
    }
    const auto settled = [&] { return !download_->status.ok() || download_->arrived() >= end; };
    while (!all_->arrived_.wait_for(lock, std::chrono::milliseconds(100), settled)) {
      if (all_->options_.stop()) return absl::CancelledError("interrupted");
    }
    return download_->status;
  }

 private:
  const std::shared_ptr<Downloads> all_;
  const std::shared_ptr<Download> download_;
};

absl::StatusOr<Fd> Downloads::open(const RemoteFile& file) {
  std::shared_ptr<Download> download;
  {
    const std::lock_guard lock(mutex_);
    start_threads();
    const auto begun = std::find_if(begun_.begin(), begun_.end(), [&](const auto& earlier) {
      return !earlier->opened && earlier->file->url == file.url;
    });
    if (begun != begun_.end()) {
      download = *begun;
    } else {
      const auto planned = std::find_if(planned_.begin(), planned_.end(),
                                        [&](const RemotePtr& remote) { return remote->url == file.url; });
      RemotePtr ours = planned != planned_.end() ? *planned : std::make_shared<RemoteFile>(file);
      if (planned != planned_.end()) planned_.erase(planned);
      ASSIGN_OR_RETURN(download, begin(std::move(ours)));
      begun_.push_front(download);
    }
    download->opened = true;
    work_.notify_all();
  }
  const int fd = ::dup(download->fd.get());
  if (fd < 0) return io_error(options_.directory);
  return Fd(fd, std::make_shared<Reader>(shared_from_this(), std::move(download)));
}

void Downloads::start_threads() {
  while (threads_.size() < static_cast<size_t>(options_.parallel)) threads_.emplace_back([this] { work(); });
}

// The next piece to fetch: of the first file that needs one.
std::optional<Downloads::Job> Downloads::choose() {
  uint64_t ahead = 0;  // bytes of files that are not opened yet
  size_t closed = 0;
  for (const std::shared_ptr<Download>& download : begun_) {
    const uint64_t most = download->opened ? download->wanted + options_.ahead_bytes : download->file->size;
    for (size_t i = download->first_open; download->status.ok() && i < download->pieces.size(); ++i) {
      if (i * download->piece_bytes >= most) break;
      if (download->pieces[i].taken) continue;
      download->pieces[i].taken = true;
      return Job{download, i};
    }
    if (!download->opened) {
      ahead += download->file->size;
      ++closed;
    }
  }
  if (planned_.empty() || closed >= kStartedAhead || ahead >= options_.ahead_bytes) return std::nullopt;
  if (closed > 0 && ahead + planned_.front()->size > options_.ahead_bytes) return std::nullopt;
  absl::StatusOr<std::shared_ptr<Download>> next = begin(planned_.front());
  if (!next.ok()) return std::nullopt;  // open() says why
  planned_.pop_front();
  begun_.push_back(*std::move(next));
  return choose();
}

void Downloads::work() {
  Client client(options_, cancel_);
  std::unique_lock lock(mutex_);
  while (!cancel_) {
    const std::optional<Job> job = choose();
    if (!job) {
      work_.wait(lock);
      continue;
    }
    lock.unlock();
    fetch(client, *job);
    lock.lock();
  }
}

// Fetches a piece; tries again until max_wait passes without a new byte.
void Downloads::fetch(Client& client, const Job& job) {
  Download& download = *job.download;
  Clock::time_point last = Clock::now();
  bool told = false;
  uint64_t before = 0;
  for (std::chrono::milliseconds wait = kLeastPause;; wait = std::min(2 * wait, kMostPause)) {
    absl::Status status = fetch_once(client, job);
    std::unique_lock lock(mutex_);
    if (status.ok() || cancel_ || download.left) return;
    if (const uint64_t got = download.pieces[job.piece].got; got > before) {
      before = got;
      last = Clock::now();
      wait = kLeastPause;
    }
    const bool final = !absl::IsUnavailable(status) || Clock::now() - last + wait > options_.max_wait;
    status =
        absl::Status(status.code(), fmt::format("{}: {}", download.file->name, std_sv(status.message())));
    if (final) {
      if (download.status.ok()) download.status = std::move(status);
      arrived_.notify_all();
      return;
    }
    if (!told && Clock::now() - last >= options_.tell_after) {
      told = true;
      lock.unlock();
      tell(status);
      lock.lock();
    }
    if (!pause(lock, wait)) return;
  }
}

absl::Status Downloads::fetch_once(Client& client, const Job& job) {
  const Download& download = *job.download;
  const RemoteFile& file = *download.file;
  uint64_t from = 0, size = 0;
  {
    const std::lock_guard lock(mutex_);
    from = job.piece * download.piece_bytes + download.pieces[job.piece].got;
    size = download.size_of(job.piece);
  }
  const uint64_t end = job.piece * download.piece_bytes + size;
  const long expected = file.ranges ? 206 : 200;
  const Asked asked{.url = file.url, .range = file.ranges ? fmt::format("{}-{}", from, end - 1) : ""};
  uint64_t skip = file.ranges ? 0 : from;
  absl::Status stored;
  std::string problem;
  const absl::StatusOr<Response> response =
      client.get(asked, [&](const Response& about, std::string_view bytes) -> size_t {
        if (about.code != expected) {
          problem.append(bytes.substr(0, 4096));
          return problem.size() < 4096 ? bytes.size() : 0;
        }
        stored = store(job, about, bytes, skip);
        return stored.ok() ? bytes.size() : 0;
      });
  RETURN_IF_ERROR(stored);
  {
    const std::lock_guard lock(mutex_);
    if (download.pieces[job.piece].got == size) return absl::OkStatus();
  }
  RETURN_IF_ERROR(response.status());
  if (response->code == expected) return absl::UnavailableError("the answer ended too early");
  const std::string cause = cause_of(*response, problem);
  if (may_pass(response->code)) return absl::UnavailableError(cause);
  if (response->code == 200 || response->code == 412 || response->code == 416 || response->code == 404)
    return absl::FailedPreconditionError(cause + "; the file was changed or removed while it was read");
  return absl::PermissionDeniedError(cause);
}

// Writes bytes of a piece to their place.
absl::Status Downloads::store(const Job& job, const Response& response, std::string_view bytes,
                              uint64_t& skip) {
  Download& download = *job.download;
  const RemoteFile& file = *download.file;
  if (response.version != file.version || (response.size && *response.size != file.size))
    return absl::FailedPreconditionError("the content changed while it was read");
  const size_t over = std::min<uint64_t>(skip, bytes.size());
  skip -= over;
  bytes.remove_prefix(over);
  uint64_t got = 0, size = 0;
  {
    const std::lock_guard lock(mutex_);
    if (download.left) return absl::CancelledError("nobody reads it");
    got = download.pieces[job.piece].got;
    size = download.size_of(job.piece);
  }
  if (got + bytes.size() > size)
    return absl::UnavailableError("the answer is longer than what was asked for");
  const uint64_t at = job.piece * download.piece_bytes + got;
  RETURN_IF_ERROR(write_at(
      download.fd.get(), at, bytes,
      fmt::format("cannot be stored in {} while it is read ($TMPDIR names another)", options_.directory)));
  const std::lock_guard lock(mutex_);
  download.pieces[job.piece].got = got + bytes.size();
  while (download.first_open < download.pieces.size() &&
         download.pieces[download.first_open].got == download.size_of(download.first_open))
    ++download.first_open;
  arrived_.notify_all();
  return absl::OkStatus();
}

}  // namespace

std::shared_ptr<RemoteFiles> make_downloads(DownloadOptions options) {
  return std::make_shared<Downloads>(std::move(options));
}

}  // namespace doppel
