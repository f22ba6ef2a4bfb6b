// Reads from a plain web server that supports range requests. The compressed length of a record is unknown,
// so the range has no end; the transfer is aborted once the record is complete.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fetch/curl.h"
#include "fetch/record_assembler.h"
#include "fetch/warc_root.h"

namespace doppel {
namespace {

// Keeps idle handles, because each keeps its connection open.
class Handles {
 public:
  ~Handles() {
    for (CURL* handle : free_) curl_easy_cleanup(handle);
  }
  CURL* get() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        CURL* handle = free_.back();
        free_.pop_back();
        curl_easy_reset(handle);
        return handle;
      }
    }
    return curl_easy_init();
  }
  void put(CURL* handle) {
    std::lock_guard lock(mutex_);
    free_.push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::vector<CURL*> free_;
};

// One response while it arrives.
struct Answer {
  Answer(CURL* curl, uint64_t from, uint64_t max_bytes) : handle(curl), offset(from), assembler(max_bytes) {}

  CURL* handle;
  uint64_t offset;
  RecordAssembler assembler;
  uint64_t to_skip = 0;
  bool begun = false;
  bool complete = false;
  absl::Status status;

  // Checks the Content-Range of an answer, which some servers and caches get wrong. Sets `status` if it is
  // another one.
  bool begins_at_offset() {
    curl_header* range = nullptr;
    if (curl_easy_header(handle, "Content-Range", 0, CURLH_HEADER, -1, &range) != CURLHE_OK) return true;
    const std::string_view value = std::string_view(range->value).substr(0, 100);
    const char* digits = value.data() + std::min(value.find_first_of("0123456789"), value.size());
    uint64_t begins = 0;
    if (std::from_chars(digits, value.data() + value.size(), begins).ec == std::errc() && begins == offset)
      return true;
    status = absl::FailedPreconditionError(
        fmt::format("the server answers another range than the one from byte {}: {}", offset, value));
    return false;
  }

  size_t take(std::string_view bytes, uint64_t max_skip) {
    const size_t size = bytes.size();
    if (!begun) {
      begun = true;
      long code = 0;
      curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
      if (code != 200 && code != 206) return 0;  // the text of an error page is ignored
      if (code == 206 && !begins_at_offset()) return 0;
      // The server sends the whole file: the bytes before the record are skipped, unless there are too
      // many.
      if (code == 200) to_skip = offset;
      if (to_skip > max_skip) {
        status = absl::FailedPreconditionError("the server does not answer range requests");
        return 0;
      }
    }
    if (to_skip > 0) {
      const size_t step = std::min<uint64_t>(to_skip, bytes.size());
      to_skip -= step;
      bytes.remove_prefix(step);
      if (bytes.empty()) return size;
    }
    absl::StatusOr<bool> fed = assembler.feed(bytes);
    if (!fed.ok()) status = fed.status();
    complete = fed.ok() && *fed;
    return status.ok() && !complete ? size : 0;
  }
};

class HttpRoot final : public WarcRoot {
 public:
  HttpRoot(std::string base, const WarcRootOptions& options) : base_(std::move(base)), options_(options) {
    start_curl();
    while (base_.ends_with('/')) base_.pop_back();
  }

  absl::StatusOr<std::string> read(const WarcPlace& place, uint64_t /*round*/) override {
    absl::StatusOr<std::string> record = read_one(place.filename, place.offset);
    // A file that is still being written has another name.
    if (absl::IsNotFound(record.status())) {
      absl::StatusOr<std::string> open = read_one(place.filename + ".open", place.offset);
      if (!absl::IsNotFound(open.status())) return open;
    }
    return record;
  }

 private:
  absl::StatusOr<std::string> read_one(const std::string& filename, uint64_t offset) {
    CURL* curl = handles_.get();
    if (curl == nullptr) return absl::ResourceExhaustedError("no memory for a transfer");
    std::unique_ptr<CURL, std::function<void(CURL*)>> back(curl,
                                                           [this](CURL* handle) { handles_.put(handle); });
    std::string url = base_;
    for (size_t at = 0; at <= filename.size();) {
      const size_t slash = std::min(filename.find('/', at), filename.size());
      if (slash > at) url += "/" + path_part(std::string_view(filename).substr(at, slash - at));
      at = slash + 1;
    }
    Answer answer(curl, offset, options_.max_bytes);
    const std::string range = fmt::format("{}-", offset);
    std::pair<Answer*, uint64_t> context(&answer, options_.max_bytes);
    set_request(curl, url, options_.cancel.get());
    curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.timeout_ms));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                     std::max(1L, static_cast<long>(options_.timeout_ms / 1000)));
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 64L << 10);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &context);
    using Context = std::pair<Answer*, uint64_t>;
    curl_write_callback take = [](char* bytes, size_t one, size_t size, void* to) {
      auto* given = static_cast<Context*>(to);
      return given->first->take({bytes, one * size}, given->second);
    };
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    const CURLcode result = curl_easy_perform(curl);
    if (answer.complete) return answer.assembler.take();
    RETURN_IF_ERROR(answer.status);
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    return failure(url, result, code, answer);
  }

  static absl::Status failure(const std::string& url, CURLcode result, long code, const Answer& answer) {
    const bool answered = code != 0 && (result == CURLE_OK || result == CURLE_WRITE_ERROR);
    if (!answered) return absl::UnavailableError(fmt::format("{}: {}", url, curl_easy_strerror(result)));
    if (code == 404 || code == 410) return absl::NotFoundError(fmt::format("{}: HTTP status {}", url, code));
    if (code == 429 || code == 408 || code >= 500)
      return absl::UnavailableError(fmt::format("{}: HTTP status {}", url, code));
    if (code == 416)
      return absl::OutOfRangeError(fmt::format("{}: shorter than {} bytes", url, answer.offset));
    if (code != 200 && code != 206)
      return absl::PermissionDeniedError(fmt::format("{}: HTTP status {}", url, code));
    absl::Status end = answer.assembler.end();
    return absl::DataLossError(fmt::format("{}: {}", url, std_sv(end.message())));
  }

  std::string base_;
  const WarcRootOptions options_;
  Handles handles_;
};

}  // namespace

std::unique_ptr<WarcRoot> make_http_root(std::string base, const WarcRootOptions& options) {
  return std::make_unique<HttpRoot>(std::move(base), options);
}

}  // namespace doppel
