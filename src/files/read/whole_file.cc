#include "files/read/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/status.h"
#include "files/position.h"

namespace doppel {
namespace {

constexpr size_t kPieceBytes = 256 << 10;

// Hands out the bytes that were read before the file turned out to be large, then the rest of the stream.
// If the file is known to be large, it is opened only for its first piece, because file descriptors are
// scarce.
class FilePieces final : public PieceReader {
 public:
  FilePieces(const InputFile& file, ByteCounter counter)
      : path_(file.path), packing_(file.packing), counter_(std::move(counter)) {}
  FilePieces(const InputFile& file, std::shared_ptr<Buffer> first, std::string_view bytes,
             std::unique_ptr<ByteStream> rest)
      : path_(file.path), first_(std::move(first)), bytes_(bytes), stream_(std::move(rest)) {}

  absl::StatusOr<std::string_view> next() override {
    if (!bytes_.empty()) {
      std::string_view piece = bytes_.substr(0, kPieceBytes);
      bytes_.remove_prefix(piece.size());
      offset_ += piece.size();
      return piece;
    }
    first_.reset();
    if (!stream_) {
      Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
      if (!fd.ok()) return io_error(path_);
      stream_ = make_byte_stream(std::move(fd), packing_, std::move(counter_));
    }
    if (piece_.empty()) piece_.resize(kPieceBytes);
    absl::StatusOr<size_t> got = stream_->read(piece_.data(), piece_.size());
    if (!got.ok()) {
      return absl::Status(
          got.status().code(),
          absl::string_view(fmt::format("{}: byte {}: {}", path_, offset_, std_sv(got.status().message()))));
    }
    offset_ += *got;
    return std::string_view(piece_.data(), *got);
  }

 private:
  std::string path_;
  Packing packing_ = Packing::none;
  ByteCounter counter_;
  std::shared_ptr<Buffer> first_;
  std::string_view bytes_;
  std::unique_ptr<ByteStream> stream_;
  std::vector<char> piece_;
  uint64_t offset_ = 0;
};

Record& add_record(const InputFile& file, Batch& batch) {
  Record& record = batch.records.emplace_back();
  record.source = file.source();
  record.whole_file = true;
  return record;
}

}  // namespace

void read_whole_file(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                     const ByteCounter& counter, Batch& batch, uint64_t& mark) {
  mark = 0;
  struct stat info = {};
  std::array<char, kHeadBytes> head;
  size_t head_length = 0;
  if (!file.pipe) {
    ssize_t got = ::pread(fd.get(), head.data(), head.size(), 0);
    if (got < 0 || ::fstat(fd.get(), &info) != 0) {
      batch.problems.push_back(make_problem(file.path, 0, 0, system_cause()));
      return;
    }
    head_length = static_cast<size_t>(got);
  }
  auto size = static_cast<size_t>(info.st_size);
  auto delivered = [&] {
    if (!file.pipe)
      mark = whole_mark(info.st_dev, info.st_ino, size, {head.data(), std::min(head_length, size)});
  };
  if (file.packing == Packing::none && size > options.max_whole_bytes) {
    add_record(file, batch).pieces = std::make_shared<FilePieces>(file, counter);
    batch.bytes += size;
    delivered();
    return;
  }

  std::unique_ptr<ByteStream> stream = make_byte_stream(std::move(fd), file.packing, counter, file.head);
  size_t begin =
      filling.make_room(filling.end(), file.packing == Packing::none ? size + 1 : std::max<size_t>(size, 1));
  for (;;) {
    if (filling.room() == 0) begin = filling.make_room(begin, kPieceBytes);
    absl::StatusOr<size_t> got = stream->read(filling.data() + filling.end(), filling.room());
    if (!got.ok()) {
      std::string cause(std_sv(got.status().message()));
      batch.problems.push_back(make_problem(file.path, 0, filling.end() - begin, cause));
      return;
    }
    if (*got == 0) break;
    filling.appended(*got);
    if (filling.end() - begin > options.max_whole_bytes) {
      std::string_view bytes(filling.data() + begin, filling.end() - begin);
      add_record(file, batch).pieces =
          std::make_shared<FilePieces>(file, filling.buffer(), bytes, std::move(stream));
      batch.bytes += bytes.size();
      filling.used_by(batch);
      delivered();
      return;
    }
  }
  size_t length = filling.end() - begin;
  // A separator, so that the bytes behind a record are never taken for its end.
  begin = filling.make_room(begin, 1);
  filling.data()[filling.end()] = '\n';
  filling.appended(1);
  add_record(file, batch).value = {filling.data() + begin, length};
  batch.bytes += length;
  filling.used_by(batch);
  delivered();
}

}  // namespace doppel
