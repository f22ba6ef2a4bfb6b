#include "files/position.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/checksums.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr std::string_view kMagic("DFP\1", 4);

std::string encode_mark(const LineMark& mark) {
  bool partial = mark.disk_length == 0;
  std::string out;
  out.push_back(partial ? 'P' : 'L');
  put_mark(out, mark);
  if (partial) put_string(out, mark.path);
  return out;
}

}  // namespace

void put_mark(std::string& out, const LineMark& mark) {
  put_varint(out, mark.device);
  put_varint(out, mark.inode);
  put_varint(out, mark.head_length);
  put_fixed<uint64_t>(out, mark.head_hash);
  put_varint(out, mark.disk_length);
  put_varint(out, mark.offset);
  put_varint(out, mark.lines);
  put_varint(out, mark.tail);
}

LineMark take_mark(ByteReader& in) {
  LineMark mark;
  mark.device = in.varint();
  mark.inode = in.varint();
  mark.head_length = in.varint();
  mark.head_hash = in.fixed<uint64_t>();
  mark.disk_length = in.varint();
  mark.offset = in.varint();
  mark.lines = in.varint();
  mark.tail = in.varint();
  return mark;
}

uint64_t hash_of_head(std::string_view head) { return XXH3_64bits(head.data(), head.size()); }

uint64_t whole_mark(uint64_t device, uint64_t inode, uint64_t size, std::string_view head) {
  uint64_t fields[] = {device, inode, size, hash_of_head(head)};
  return XXH3_64bits(fields, sizeof fields);
}

absl::StatusOr<Position> parse_position(std::string_view bytes) {
  Position position;
  if (bytes.empty()) return position;
  if (bytes.starts_with(kFollowMagic.substr(0, 3))) {
    ASSIGN_OR_RETURN(const FollowPosition followed, FollowPosition::parse(bytes));
    return followed.as_position();
  }
  if (bytes.size() < kMagic.size() + 4 || bytes.substr(0, 3) != kMagic.substr(0, 3)) {
    return absl::DataLossError("the position of the input is damaged: it is not one of files");
  }
  if (bytes[3] != kMagic[3]) {
    return absl::FailedPreconditionError(
        "the position of the input was written by another version of doppel");
  }
  std::string_view body = bytes.substr(0, bytes.size() - 4);
  if (crc32c(body) != load<uint32_t>(bytes.data() + body.size())) {
    return absl::DataLossError("the position of the input is damaged: wrong checksum");
  }
  ByteReader in(body.substr(kMagic.size()));
  while (in.ok() && !in.done()) {
    char tag = in.fixed<char>();
    if (tag == 'W') {
      position.wholes.push_back(in.fixed<uint64_t>());
    } else if (tag == 'L' || tag == 'P') {
      position.lines.push_back(take_mark(in));
      if (tag == 'P') position.lines.back().path = in.string();
    } else {
      return absl::DataLossError("the position of the input is damaged: unknown entry");
    }
  }
  if (!in.ok()) return absl::DataLossError("the position of the input is damaged: it ends too early");
  return position;
}

PositionWriter::PositionWriter() { append_done(kMagic); }

void PositionWriter::append_done(std::string_view entry) {
  done_.append(entry);
  done_crc_ = crc32c(entry, done_crc_);
}

void PositionWriter::add_whole(uint64_t mark) {
  char entry[9] = {'W'};
  store(entry + 1, mark);
  append_done({entry, sizeof entry});
}

void PositionWriter::add_done(const LineMark& mark) { append_done(encode_mark(mark)); }

void PositionWriter::add_pending(const LineMark& mark) {
  pending_ += encode_mark(mark);
  pending_ends_.push_back(pending_.size());
}

void PositionWriter::take_pending() { ++taken_; }

std::string PositionWriter::encode(const LineMark* current) const {
  std::string rest = current != nullptr ? encode_mark(*current) : std::string();
  rest.append(pending_, taken_ == 0 ? 0 : pending_ends_[taken_ - 1]);
  std::string out;
  out.reserve(done_.size() + rest.size() + 4);
  out.append(done_).append(rest);
  put_fixed<uint32_t>(out, crc32c(rest, done_crc_));
  return out;
}

namespace {

constexpr size_t kSmallLog = 256;  // entries; a smaller log is not worth rewriting

absl::Status damaged(const char* how) {
  return absl::DataLossError(absl::string_view(std::string("the position of the input is damaged: ") + how));
}

}  // namespace

FollowPosition::FollowPosition() { write_anew(); }

uint64_t FollowPosition::path_hash(std::string_view path) {
  const uint64_t hash = XXH3_64bits(path.data(), path.size());
  return hash == 0 ? 1 : hash;
}

absl::StatusOr<FollowPosition> FollowPosition::parse(std::string_view bytes) {
  FollowPosition out;
  if (bytes.empty()) return out;
  if (!bytes.starts_with(kFollowMagic.substr(0, 3))) {
    ASSIGN_OR_RETURN(const Position scanned, parse_position(bytes));
    for (const uint64_t mark : scanned.wholes) out.wholes_.emplace(mark, 0);
    for (const LineMark& mark : scanned.lines) {
      out.put_tail(FileKey(mark.device, mark.inode), {mark, ""});
    }
    out.write_anew();
    return out;
  }
  if (bytes.size() < kFollowMagic.size() + 4) return damaged("it ends too early");
  if (bytes[3] != kFollowMagic[3]) {
    return absl::FailedPreconditionError(
        "the position of the input was written by another version of doppel");
  }
  const std::string_view body = bytes.substr(0, bytes.size() - 4);
  if (crc32c(body) != load<uint32_t>(bytes.data() + body.size())) return damaged("wrong checksum");
  RETURN_IF_ERROR(out.read(body.substr(kFollowMagic.size())));
  // Keeps the bytes of the log, so that the next position shares all of them.
  out.log_ = body;
  out.crc_ = crc32c(body);
  return out;
}

absl::Status FollowPosition::read(std::string_view entries) {
  ByteReader in(entries);
  entries_ = 0;
  while (in.ok() && !in.done()) {
    ++entries_;
    switch (in.fixed<char>()) {
      case 'w': {
        const auto path = in.fixed<uint64_t>();
        const auto mark = in.fixed<uint64_t>();
        put_whole(path, mark);
        break;
      }
      case 'x': {
        drop_whole(in.fixed<uint64_t>());
        break;
      }
      case 't': {
        TailMark tail;
        tail.mark = take_mark(in);
        tail.mark.path = in.string();
        tail.name = in.string();
        const FileKey key(tail.mark.device, tail.mark.inode);
        put_tail(key, std::move(tail));
        break;
      }
      case 'y': {
        const uint64_t device = in.varint();
        drop_tail(FileKey(device, in.varint()));
        break;
      }
      case 'g': {
        std::string path(in.string());
        counts_[std::move(path)] = in.varint();
        break;
      }
      default:
        return damaged("unknown entry");
    }
  }
  return in.ok() ? absl::OkStatus() : damaged("it ends too early");
}

std::string FollowPosition::encode() const {
  std::string out;
  out.reserve(log_.size() + 4);
  out.append(log_);
  put_fixed<uint32_t>(out, crc_);
  return out;
}

Position FollowPosition::as_position() const {
  Position out;
  for (const auto& [mark, path] : wholes_) out.wholes.push_back(mark);
  for (const auto& [key, tail] : tails_) out.lines.push_back(tail.mark);
  return out;
}

uint64_t FollowPosition::whole_at(uint64_t path) const {
  auto found = by_path_.find(path);
  return found == by_path_.end() ? 0 : found->second;
}

void FollowPosition::set_whole(uint64_t path, uint64_t mark) {
  const uint64_t before = whole_at(path);
  if (before == mark) return;
  if (const auto other = wholes_.find(mark); other != wholes_.end() && other->second == mark)
    forget_whole(mark);  // it was replaced, and is found again
  if (keep_replaced_ && before != 0 && is_only_at(path, before)) {
    put_whole(before, before);
    log_whole(before, before);
  }
  put_whole(path, mark);
  log_whole(path, mark);
}

void FollowPosition::put_whole(uint64_t path, uint64_t mark) {
  drop_whole(path);
  wholes_[mark] = path;
  if (path != 0) by_path_[path] = mark;
  if (path == mark) replaced_.push_back(mark);
}

// The whole file of this path may have another path by now.
void FollowPosition::drop_whole(uint64_t path) {
  auto at = by_path_.find(path);
  if (at == by_path_.end()) return;
  if (is_only_at(path, at->second)) wholes_.erase(at->second);
  by_path_.erase(at);
}

bool FollowPosition::is_only_at(uint64_t path, uint64_t mark) const {
  const auto whole = wholes_.find(mark);
  return whole != wholes_.end() && whole->second == path;
}

void FollowPosition::keep_replaced(bool keep) {
  keep_replaced_ = keep;
  if (keep) return;
  for (const uint64_t mark : replaced_) forget_whole(mark);
  replaced_.clear();
}

void FollowPosition::forget_whole(uint64_t path) {
  if (whole_at(path) == 0) return;
  drop_whole(path);
  std::string entry = "x";
  put_fixed(entry, path);
  log(entry);
}

const TailMark* FollowPosition::tail(const FileKey& key) const {
  auto found = tails_.find(key);
  return found == tails_.end() ? nullptr : &found->second;
}

namespace {

uint64_t hash_of_name(const TailMark& tail) {
  return FollowPosition::path_hash(tail.name.empty() ? tail.mark.path : tail.name);
}

}  // namespace

void FollowPosition::put_tail(const FileKey& key, TailMark tail) {
  drop_tail(key);
  ++named_[hash_of_name(tail)];
  tails_.emplace(key, std::move(tail));
}

bool FollowPosition::drop_tail(const FileKey& key) {
  const auto tail = tails_.find(key);
  if (tail == tails_.end()) return false;
  const auto named = named_.find(hash_of_name(tail->second));
  if (--named->second == 0) named_.erase(named);
  tails_.erase(tail);
  return true;
}

void FollowPosition::set_tail(const TailMark& tail) {
  const FileKey key(tail.mark.device, tail.mark.inode);
  if (const TailMark* known = this->tail(key); known != nullptr && *known == tail) return;
  put_tail(key, tail);
  log_tail(tail);
}

void FollowPosition::forget_tail(const FileKey& key) {
  if (!drop_tail(key)) return;
  std::string entry = "y";
  put_varint(entry, key.first);
  put_varint(entry, key.second);
  log(entry);
}

uint64_t FollowPosition::count(const std::string& path) const {
  auto found = counts_.find(path);
  return found == counts_.end() ? 0 : found->second;
}

std::string FollowPosition::name_at(const std::string& path) {
  for (;; count_another(path)) {
    const uint64_t before = count(path);
    std::string name = before == 0 ? path : fmt::format("{}~{}", path, before);
    if (!named_.contains(path_hash(name))) return name;
  }
}

void FollowPosition::set_count(const std::string& path, uint64_t count) {
  counts_[path] = count;
  log_count(path, count);
}

// Change the maps before logging the entry: log() may rewrite the whole log from them.
void FollowPosition::log(std::string_view entry) {
  const size_t live = wholes_.size() + tails_.size() + counts_.size();
  if (entries_ > kSmallLog + 2 * live) return write_anew();
  log_.append(entry);
  crc_ = crc32c(entry, crc_);
  ++entries_;
}

void FollowPosition::log_whole(uint64_t path, uint64_t mark) {
  std::string entry = "w";
  put_fixed(entry, path);
  put_fixed(entry, mark);
  log(entry);
}

void FollowPosition::log_tail(const TailMark& tail) {
  std::string entry = "t";
  put_mark(entry, tail.mark);
  put_string(entry, tail.mark.path);
  put_string(entry, tail.name);
  log(entry);
}

void FollowPosition::log_count(const std::string& path, uint64_t count) {
  std::string entry = "g";
  put_string(entry, path);
  put_varint(entry, count);
  log(entry);
}

void FollowPosition::write_anew() {
  log_ = kFollowMagic;
  crc_ = crc32c(kFollowMagic);
  entries_ = 0;
  for (const auto& [mark, path] : wholes_) log_whole(path, mark);
  for (const auto& [key, tail] : tails_) log_tail(tail);
  for (const auto& [path, count] : counts_) log_count(path, count);
}

}  // namespace doppel
