#include "fetch/warc_root.h"

#define ZLIB_CONST
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fetch/curl.h"
#include "files/byte_stream.h"
#include "formats/record.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

constexpr size_t kStep = 64 << 10;
constexpr uint64_t kBeginning = 64 << 10;  // of a block that is too large

}  // namespace

struct RecordAssembler::Unpacker {
  z_stream z = {};
  bool inflating = false;
  ZSTD_DCtx* zst = nullptr;
  bool done = false;
  ~Unpacker() {
    if (inflating) inflateEnd(&z);
    ZSTD_freeDCtx(zst);
  }
};

RecordAssembler::RecordAssembler(uint64_t max_bytes)
    : max_bytes_(max_bytes), unpacker_(std::make_unique<Unpacker>()) {}
RecordAssembler::~RecordAssembler() = default;

absl::StatusOr<bool> RecordAssembler::feed(std::string_view bytes) {
  std::string both;
  if (kind_ == Kind::unknown) {
    first_.append(bytes);
    if (first_.size() < 5) return false;
    if (first_.starts_with("\x1f\x8b")) {
      kind_ = Kind::gz;
      unpacker_->inflating = inflateInit2(&unpacker_->z, 15 + 16) == Z_OK;
    } else if (first_.starts_with("\x28\xb5\x2f\xfd")) {
      kind_ = Kind::zst;
      unpacker_->zst = ZSTD_createDCtx();
    } else if (first_.starts_with("WARC/")) {
      kind_ = Kind::plain;
    } else {
      return absl::DataLossError("no WARC record begins at this offset");
    }
    both = std::move(first_);
    bytes = both;
  }
  // In steps, because a small compressed piece may decompress to much more than the record.
  for (size_t at = 0; at < bytes.size(); at += kStep) {
    RETURN_IF_ERROR(unpack(bytes.substr(at, kStep)));
    ASSIGN_OR_RETURN(bool complete, look());
    if (complete) return true;
    if (unpacker_->done) return absl::DataLossError("the packed member ends within the record");
  }
  return false;
}

absl::Status RecordAssembler::unpack(std::string_view bytes) {
  const uint64_t most = std::max<uint64_t>(wanted_, kMaxWarcHead + kStep);
  if (kind_ == Kind::plain) {
    record_.append(bytes);
    return absl::OkStatus();
  }
  auto enough = [&] { return record_.size() >= std::max(most, wanted_) && wanted_ != 0; };
  if (kind_ == Kind::gz) {
    z_stream& z = unpacker_->z;
    z.next_in = reinterpret_cast<const Bytef*>(bytes.data());
    z.avail_in = static_cast<uInt>(bytes.size());
    while (!unpacker_->done && !enough()) {
      const size_t before = record_.size();
      record_.resize(before + kStep);
      z.next_out = reinterpret_cast<Bytef*>(record_.data() + before);
      z.avail_out = kStep;
      const int result = inflate(&z, Z_NO_FLUSH);
      record_.resize(before + kStep - z.avail_out);
      if (result == Z_STREAM_END)
        unpacker_->done = true;
      else if (result != Z_OK && result != Z_BUF_ERROR)
        return absl::DataLossError("damaged gz data");
      if (wanted_ == 0) {
        ASSIGN_OR_RETURN(bool complete, look());
        if (complete) return absl::OkStatus();
      }
      if (z.avail_in == 0 && z.avail_out > 0) break;
    }
    return absl::OkStatus();
  }
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  while (!unpacker_->done && !enough()) {
    const size_t before = record_.size();
    record_.resize(before + kStep);
    ZSTD_outBuffer output{record_.data() + before, kStep, 0};
    const size_t result = ZSTD_decompressStream(unpacker_->zst, &output, &input);
    record_.resize(before + output.pos);
    if (ZSTD_isError(result)) return absl::DataLossError("damaged zst data");
    if (result == 0) unpacker_->done = true;
    if (wanted_ == 0) {
      ASSIGN_OR_RETURN(bool complete, look());
      if (complete) return absl::OkStatus();
    }
    if (input.pos == input.size && output.pos < kStep) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RecordAssembler::look() {
  if (wanted_ == 0) {
    if (!has_warc_head(record_)) {
      if (record_.size() > kMaxWarcHead) return absl::DataLossError("the head of the record has no end");
      return false;
    }
    absl::StatusOr<WarcRecord> head = parse_warc_record(record_);
    if (!head.ok()) return absl::DataLossError(head.status().message());
    wanted_ = head->head_bytes +
              (head->content_length > max_bytes_ ? std::min(kBeginning, max_bytes_) : head->content_length);
  }
  return record_.size() >= wanted_;
}

absl::Status RecordAssembler::end() const {
  if (wanted_ != 0 && record_.size() >= wanted_) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("the file ends within the record, {} bytes of which were read", record_.size()));
}

std::string RecordAssembler::take() {
  std::string out = std::move(record_);
  out.resize(wanted_);
  out.reserve(wanted_ + kRecordPadding);
  return out;
}

// Finds files by name in a directory tree. It lists the subdirectories once, and again when a name is
// missing, but at most once per round.

namespace {

namespace fs = std::filesystem;

class LocalRoot final : public WarcRoot {
 public:
  LocalRoot(std::string root, const WarcRootOptions& options) : root_(std::move(root)), options_(options) {}

  absl::StatusOr<std::string> read(const RecordLocation& place, uint64_t round) override {
    Fd fd = find(place.filename, round);
    if (!fd.ok()) return absl::NotFoundError(fmt::format("{} is not below {}", place.filename, root_));
    RecordAssembler assembler(options_.max_bytes);
    std::vector<char> piece(256 << 10);
    for (uint64_t at = place.offset;;) {
      const ssize_t got = ::pread(fd.get(), piece.data(), piece.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return absl::UnavailableError(fmt::format("{}: {}", place.filename, std::strerror(errno)));
      if (got == 0) {
        RETURN_IF_ERROR(assembler.end());
        return assembler.take();
      }
      ASSIGN_OR_RETURN(bool complete, assembler.feed({piece.data(), static_cast<size_t>(got)}));
      if (complete) return assembler.take();
      at += static_cast<uint64_t>(got);
    }
  }

 private:
  static Fd open_file(const std::string& path) { return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

  // A file that is still being written has another name. It may be renamed at any moment.
  static Fd open_either(const std::string& path) {
    Fd fd = open_file(path);
    if (!fd.ok()) fd = open_file(path + ".open");
    if (!fd.ok()) fd = open_file(path);
    return fd;
  }

  Fd find(const std::string& name, uint64_t round) {
    Fd fd = open_either(root_ + "/" + name);
    if (fd.ok()) return fd;
    std::string path = known(name);
    if (!path.empty()) fd = open_either(path);
    if (fd.ok()) return fd;
    refresh(round);
    path = known(name);
    if (!path.empty()) fd = open_either(path);
    return fd;
  }

  std::string known(const std::string& name) {
    std::lock_guard lock(mutex_);
    auto at = paths_.find(name);
    return at == paths_.end() ? std::string() : at->second;
  }

  void refresh(uint64_t round) {
    std::lock_guard lock(mutex_);
    if (searched_ && round_ == round) return;
    searched_ = true;
    round_ = round;
    paths_.clear();
    std::error_code error;
    for (fs::recursive_directory_iterator at(root_, fs::directory_options::skip_permission_denied, error),
         end;
         !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (!at->is_regular_file(ignored)) continue;
      std::string path = at->path().string();
      if (path.ends_with(".open")) path.resize(path.size() - 5);
      paths_.emplace(path.substr(path.rfind('/') + 1), path);
    }
  }

  const std::string root_;
  const WarcRootOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::string> paths_;
  bool searched_ = false;
  uint64_t round_ = 0;
};

}  // namespace

bool is_safe_filename(std::string_view filename) {
  if (filename.empty() || filename.size() > 1024 || filename.front() == '/') return false;
  if (filename.find('\0') != std::string_view::npos) return false;
  for (size_t at = 0; at <= filename.size();) {
    const size_t slash = std::min(filename.find('/', at), filename.size());
    if (filename.substr(at, slash - at) == "..") return false;
    at = slash + 1;
  }
  return true;
}

absl::StatusOr<std::unique_ptr<WarcRoot>> open_warc_root(const std::string& root,
                                                         const WarcRootOptions& options) {
  if (root.starts_with("http://") || root.starts_with("https://")) return make_http_root(root, options);
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    return invalid(fmt::format("warc.roots: {} is neither a directory nor an http address", root));
  }
  return std::make_unique<LocalRoot>(root, options);
}

// Reads from a plain web server that supports range requests. The compressed length of a record is unknown,
// so the range has no end; the transfer is aborted once the record is complete.

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
    const char* const range = answer_header(handle, "Content-Range");
    if (range == nullptr) return true;
    const std::string_view value = std::string_view(range).substr(0, 100);
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

  absl::StatusOr<std::string> read(const RecordLocation& place, uint64_t /*round*/) override {
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
    if (may_pass(code)) return absl::UnavailableError(fmt::format("{}: HTTP status {}", url, code));
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
