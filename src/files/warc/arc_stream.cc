#include "files/warc/warc_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kRead = 64 << 10;
constexpr size_t kMostLine = 64 << 10;
constexpr size_t kFields = 5;  // URL, address, date, type, length
constexpr size_t kFieldsOfSecond =
    10;  // URL, address, date, type, status, checksum, location, offset, file, length

struct ArcHead {
  std::string_view url, address, date, type;
  uint64_t length = 0;
};

bool may_be_address(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF.:-") == std::string_view::npos;
}

bool is_date(std::string_view text) {
  return text.size() >= 8 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// URLs and types may contain spaces, so the length is taken from the end. The URL ends before the first field
// that a date follows; if there is a space in it, that field must be an IP address.
bool parse(std::string_view line, bool second, ArcHead& out) {
  const std::string_view all = line;
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  const size_t wanted = second ? kFieldsOfSecond : kFields;
  if (fields.size() < wanted) return false;
  size_t address = 1;
  const auto is_address = [](std::string_view text) {
    return may_be_address(text) && text.find_first_of(".:") != std::string_view::npos;
  };
  while (!is_date(fields[address + 1]) || (address != 1 && !is_address(fields[address]))) {
    if (++address + wanted > fields.size() + 1) return false;
  }
  const auto [end, error] =
      std::from_chars(fields.back().data(), fields.back().data() + fields.back().size(), out.length);
  if (error != std::errc() || end != fields.back().data() + fields.back().size()) return false;
  out.url = all.substr(0, static_cast<size_t>(fields[address].data() - all.data()) - 1);
  out.address = fields[address];
  out.date = fields[address + 1];
  out.type = fields[address + 2];
  return true;
}

// "20240506070809" -> "2024-05-06T07:08:09Z"
std::string warc_date(std::string_view date) {
  constexpr size_t kDigits = 14;
  if (date.size() < kDigits) return std::string(date);
  return fmt::format("{}-{}-{}T{}:{}:{}Z", date.substr(0, 4), date.substr(4, 2), date.substr(6, 2),
                     date.substr(8, 2), date.substr(10, 2), date.substr(12, 2));
}

std::string warc_head(const ArcHead& head, bool http) {
  const bool description = head.url.starts_with("filedesc:");
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: {}\r\nWARC-Target-URI: {}\r\nWARC-Date: {}\r\nWARC-IP-Address: {}\r\n"
      "Content-Type: {}\r\nContent-Length: {}\r\n\r\n",
      description ? "warcinfo"
      : http      ? "response"
                  : "resource",
      head.url, warc_date(head.date), head.address,
      http ? std::string_view("application/http; msgtype=response") : head.type, head.length);
}

// Whether a record may begin with these bytes ("http://..."), which may be less than its first line.
bool begins_arc(std::string_view bytes) {
  const size_t scheme = bytes.find(':');
  return scheme != 0 && scheme != std::string_view::npos &&
         std::all_of(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(scheme), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
         });
}

// A stricter check, for finding the next record behind damage.
bool is_surely_head(std::string_view line, bool second) {
  constexpr size_t kDigits = 14;
  ArcHead head;
  return begins_arc(line) && parse(line, second, head) && head.date.size() == kDigits &&
         may_be_address(head.address);
}

class ArcStream final : public ByteStream {
 public:
  ArcStream(std::unique_ptr<ByteStream> arc, Packing packing, uint64_t size)
      : arc_(std::move(arc)), plain_(packing == Packing::none), size_(size) {}

  absl::StatusOr<size_t> read(char* out, size_t n) override {
    stored_at_.reset();
    if (made_.empty() && left_ == 0) {
      ASSIGN_OR_RETURN(const bool more, begin_record());
      if (!more) return 0;
    }
    if (!made_.empty()) {
      const size_t got = made_.copy(out, n);
      made_.erase(0, got);
      return got;
    }
    if (at_ == bytes_.size()) {
      ASSIGN_OR_RETURN(const bool more, fill());
      if (!more) return absl::DataLossError("the file ends within a record");
    }
    if (member_at_ == at_ && begins_with_head())
      return absl::DataLossError("a record is damaged: another one begins before its end");
    const size_t got = std::min<uint64_t>({n, left_, bytes_.size() - at_});
    std::copy_n(bytes_.data() + at_, got, out);
    at_ += got;
    left_ -= got;
    if (left_ == 0) made_ = kEnd;
    return got;
  }
  std::optional<uint64_t> stored_at() const override { return stored_at_; }
  uint64_t disk_bytes() const override { return arc_->disk_bytes(); }

  // Ignores `begins`: reading can continue at any head of an ARC record.
  std::optional<uint64_t> resume(const Begins& /*begins*/) override {
    made_.clear();
    left_ = 0;
    uint64_t skipped = 0;
    while (true) {
      if (lost_) {
        bytes_.clear();
        at_ = 0;
        member_at_.reset();
        const std::optional<uint64_t> of_file = arc_->resume(begins_arc);
        if (!of_file) return std::nullopt;
        skipped += *of_file;
        lost_ = false;
      }
      const size_t end = bytes_.find('\n', at_);
      if (end != std::string::npos) {
        if (is_surely_head(std::string_view(bytes_).substr(at_, end - at_), second_)) return skipped;
        skipped += end + 1 - at_;
        at_ = end + 1;
        continue;
      }
      const absl::StatusOr<bool> more = fill();
      if (!more.ok()) continue;
      if (!*more) return std::nullopt;
      // The line so far is too long, or a new member begins.
      const size_t begin = member_at_.value_or(bytes_.size() > kMostLine ? bytes_.size() : 0);
      skipped += begin;
      at_ = begin;
    }
  }

 private:
  static constexpr std::string_view kEnd = "\r\n\r\n";

  // Reads more bytes and appends them to the unread ones. Returns false at the end.
  absl::StatusOr<bool> fill() {
    bytes_.erase(0, at_);
    base_ += std::exchange(at_, 0);
    const size_t had = bytes_.size();
    bytes_.resize(had + kRead);
    const absl::StatusOr<size_t> got = arc_->read(bytes_.data() + had, kRead);
    bytes_.resize(had + (got.ok() ? *got : 0));
    member_at_.reset();
    lost_ = !got.ok();
    RETURN_IF_ERROR(got.status());
    if (const std::optional<uint64_t> stored = arc_->stored_at(); stored && *got != 0) {
      if (plain_ && had == 0) base_ = *stored;
      if (!plain_) {
        member_at_ = had;
        member_stored_ = *stored;
      }
    }
    return *got != 0;
  }

  // The line at at_, without its line end. Reads more if necessary. nullopt if there is no line end.
  absl::StatusOr<std::optional<std::string>> line() {
    size_t end = bytes_.find('\n', at_);
    while (end == std::string::npos && bytes_.size() - at_ < kMostLine) {
      ASSIGN_OR_RETURN(const bool more, fill());
      if (!more) break;
      end = bytes_.find('\n', at_);
    }
    if (end == std::string::npos) return std::nullopt;
    std::string line = bytes_.substr(at_, end - at_);
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }

  bool begins_with_head() {
    const absl::StatusOr<std::optional<std::string>> first = line();
    return first.ok() && *first && is_surely_head(**first, second_);
  }

  absl::StatusOr<bool> begin_record() {
    while (true) {
      if (at_ == bytes_.size()) {
        ASSIGN_OR_RETURN(const bool more, fill());
        if (!more) return false;
      }
      if (bytes_[at_] != '\n' && bytes_[at_] != '\r') break;
      ++at_;
    }
    ASSIGN_OR_RETURN(std::optional<std::string> first, line());
    // The line end before this line may be damaged.
    if (first && !begins_arc(*first) && is_surely_head(std::string_view(*first).substr(1), second_)) {
      first->erase(0, 1);
      ++at_;
    }
    std::optional<uint64_t> place;
    if (plain_) {
      place = base_ + at_;
    } else if (member_at_ == at_) {
      place = member_stored_;
    }
    ArcHead head;
    if (!first || !parse(*first, second_, head)) return absl::DataLossError("no ARC record begins here");
    const size_t behind = bytes_.find('\n', at_) + 1;
    if (plain_ && size_ != 0 && head.length > size_ - std::min(size_, base_ + behind))
      return skip(behind, "a record is damaged: its length is more than the file has");
    at_ = behind;
    constexpr std::string_view kHttp = "HTTP/";
    while (bytes_.size() - at_ < std::min<uint64_t>(kHttp.size(), head.length)) {
      ASSIGN_OR_RETURN(const bool more, fill());
      if (!more) break;
    }
    const std::string_view block = std::string_view(bytes_).substr(at_);
    // The first record tells the version of all others.
    if (head.url.starts_with("filedesc:")) second_ = block.starts_with("2");
    made_ = warc_head(head, block.starts_with(kHttp) && head.length >= kHttp.size());
    left_ = head.length;
    if (left_ == 0) made_ += kEnd;
    stored_at_ = place;
    return true;
  }

  absl::Status skip(size_t to, std::string_view why) {
    at_ = to;
    return absl::DataLossError(absl_sv(why));
  }

  std::unique_ptr<ByteStream> arc_;
  const bool plain_;
  const uint64_t size_;              // of the file; 0: unknown
  bool second_ = false;              // version 1.1, which has more fields
  std::string bytes_;                // bytes of the ARC file
  size_t at_ = 0;                    // bytes of bytes_ that were taken
  uint64_t base_ = 0;                // offset of bytes_ in an uncompressed file
  bool lost_ = false;                // the following bytes cannot be decompressed
  std::optional<size_t> member_at_;  // start in bytes_ of the last member that begins there
  uint64_t member_stored_ = 0;       // and its offset in the stored file
  std::string made_;                 // WARC bytes to return before or behind the block
  uint64_t left_ = 0;                // bytes left of the block
  std::optional<uint64_t> stored_at_;
};

}  // namespace

std::unique_ptr<ByteStream> arc_as_warc(std::unique_ptr<ByteStream> arc, Packing packing, uint64_t size) {
  return std::make_unique<ArcStream>(std::move(arc), packing, size);
}

}  // namespace doppel
