#include "files/warc/record_at.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "files/byte_stream.h"
#include "files/record_reader.h"
#include "files/warc/warc_reader.h"
#include "formats/body.h"
#include "formats/bytes/http.h"
#include "formats/warc/warc.h"
#include "pipeline/buffers.h"

namespace doppel {
namespace {

constexpr size_t kRead = 64 << 10;
constexpr size_t kMostHttpHead = 1 << 20;

// Reads the bytes of one member, or of a plain file from `offset` on.
class Member {
 public:
  Member(const InputFile& file, Fd fd, uint64_t offset)
      : packed_(file.packing != Packing::none),
        end_(file.size),
        offset_(offset),
        stream_(make_byte_stream(std::move(fd), file.packing, std::make_shared<std::atomic<uint64_t>>(0), {},
                                 {file.part.begin + offset, file.size - offset})) {}

  // Bytes that were read and not taken.
  std::string_view open() const { return bytes_; }
  // Reads more. Returns false at the end of the member.
  absl::StatusOr<bool> more() {
    if (ended_) return false;
    const size_t had = bytes_.size();
    bytes_.resize(had + kRead);
    const absl::StatusOr<size_t> got = stream_->read(bytes_.data() + had, kRead);
    bytes_.resize(had + (got.ok() ? *got : 0));
    RETURN_IF_ERROR(got.status());
    if (*got == 0) {
      ended_ = true;
    } else if (packed_ && begun_ && stream_->stored_at()) {
      end_ = offset_ + *stream_->stored_at();
      bytes_.resize(had);
      ended_ = true;
    }
    begun_ = true;
    return !ended_;
  }
  void take(size_t bytes) {
    bytes_.erase(0, bytes);
    taken_ += bytes;
  }

  // Where the record ends in the file. In a compressed file this is valid once the member was read to its
  // end.
  uint64_t end() const { return packed_ || (ended_ && bytes_.empty()) ? end_ : offset_ + taken_; }
  bool packed() const { return packed_; }

 private:
  bool packed_;
  uint64_t end_, offset_;
  std::unique_ptr<ByteStream> stream_;
  std::string bytes_;
  uint64_t taken_ = 0;
  bool begun_ = false, ended_ = false;
};

absl::Status cut_off() { return absl::DataLossError("the record is cut off"); }

absl::StatusOr<WarcRecord> head_of(Member& member) {
  while (!has_warc_head(member.open()) && member.open().size() < kMaxWarcHead) {
    ASSIGN_OR_RETURN(const bool more, member.more());
    if (!more) break;
  }
  return parse_warc_record(member.open());
}

// Takes the HTTP head at the beginning of a block of `block_bytes` bytes.
absl::StatusOr<std::string> http_head_of(Member& member, uint64_t block_bytes) {
  while (true) {
    const std::string_view block = member.open().substr(0, block_bytes);
    if (const absl::StatusOr<HttpResponse> http = parse_http_response(block); http.ok())
      return std::string(block.substr(0, block.size() - http->body.size()));
    if (block.size() == block_bytes || block.size() > kMostHttpHead)
      return invalid("its block does not begin as an HTTP response does");
    ASSIGN_OR_RETURN(const bool more, member.more());
    if (!more) return cut_off();
  }
}

}  // namespace

absl::StatusOr<RecordAt> read_record_at(const InputFile& file, uint64_t offset, const Digester& digester) {
  Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return io_error(file.path);
  if (offset >= file.size) return absl::DataLossError("the file ends before it");
  Member member(file, std::move(fd), offset);
  RecordAt out;
  uint64_t left = 0;
  {
    ASSIGN_OR_RETURN(const WarcRecord record, head_of(member));
    const bool http = record.type == WarcType::response &&
                      equal_ignoring_case(media_type(record.content_type), "application/http");
    left = record.content_length;
    out.head = member.open().substr(0, record.head_bytes);
    member.take(out.head.size());
    if (http) {
      ASSIGN_OR_RETURN(out.http_head, http_head_of(member, left));
      left -= out.http_head.size();
      member.take(out.http_head.size());
    }
  }
  out.body_bytes = left;
  Digester::Stream body(digester);
  while (left > 0) {
    if (member.open().empty()) {
      ASSIGN_OR_RETURN(const bool more, member.more());
      if (!more) return cut_off();
    }
    const std::string_view piece = member.open().substr(0, left);
    body.update(piece);
    left -= piece.size();
    member.take(piece.size());
  }
  out.body = body.finish();
  while (true) {
    const size_t ends = std::min(member.open().find_first_not_of("\r\n"), member.open().size());
    member.take(ends);
    if (!member.open().empty()) {
      out.alone = !member.packed();
      break;
    }
    ASSIGN_OR_RETURN(const bool more, member.more());
    if (!more) break;
  }
  out.end = member.end();
  return out;
}

absl::Status each_warc_record(const InputFile& file, const std::function<void(const Record&)>& visit,
                              std::vector<std::string>& problems) {
  Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return io_error(file.path);
  FilesSourceOptions options;
  options.max_whole_bytes = 256 << 10;  // enough for the heads
  Filling filling(options.buffer_bytes);
  WarcReader reader(options, filling, file, std::move(fd), std::make_shared<std::atomic<uint64_t>>(0), {});
  for (Batch batch;;) {
    const RecordReader::State state = reader.take(batch);
    filling.seal();
    for (const Record& record : batch.records) visit(record);
    for (const Problem& problem : batch.problems) problems.push_back(problem.message);
    if (state == RecordReader::State::ended) return absl::OkStatus();
    batch = {};
  }
}

}  // namespace doppel
