#include "files/position.h"

#include <xxhash.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "files/follow_position.h"

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

}  // namespace doppel
