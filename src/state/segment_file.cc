#include "state/segment_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/kill_point.h"
#include "base/status.h"
#include "index/segment_format.h"

namespace doppel {
namespace {

// So much is handed to the disk at once: a sync of many gigabytes would stop all other writes.
constexpr uint64_t kWriteBehind = uint64_t{64} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<SegmentFile>> SegmentFile::open(const std::string& path, bool direct) {
  ASSIGN_OR_RETURN(File file, File::open(path, O_RDONLY));
  (void)::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);
  auto out = std::unique_ptr<SegmentFile>(new SegmentFile(std::move(file)));
  if (direct) {
    ASSIGN_OR_RETURN(out->pages_, File::open(path, O_RDONLY | O_DIRECT));
  }
  return out;
}

absl::Status SegmentFile::read_at(uint64_t offset, void* out, size_t bytes) const {
  RETURN_IF_ERROR(file_.read_at(offset, out, bytes));
  // Filters and merges read much, once.
  constexpr size_t kLarge = size_t{64} << 10;
  if (bytes >= kLarge) file_.forget(offset, offset + bytes);
  return absl::OkStatus();
}

void SegmentFile::discard() const { ::unlink(file_.path().c_str()); }

absl::Status SegmentFile::read_page_at(uint64_t offset, uint8_t* out) const {
  return (pages_.fd() < 0 ? file_ : pages_).read_at(offset, out, kSegmentPage);
}

absl::StatusOr<SegmentFileWriter> SegmentFileWriter::create(const std::string& path) {
  ASSIGN_OR_RETURN(File file, File::open(path + ".tmp", O_RDWR | O_CREAT | O_TRUNC));
  return SegmentFileWriter(std::move(file), path);
}

SegmentFileWriter::~SegmentFileWriter() {
  if (!finished_ && file_.fd() >= 0) ::unlink(file_.path().c_str());
}

absl::Status SegmentFileWriter::write_at(uint64_t offset, std::string_view bytes) {
  RETURN_IF_ERROR(file_.write_at(offset, bytes));
  unsynced_ += bytes.size();
  if (unsynced_ < kWriteBehind) return absl::OkStatus();
  unsynced_ = 0;
  RETURN_IF_ERROR(file_.sync());
  file_.forget(0, 0);
  return absl::OkStatus();
}

absl::Status SegmentFileWriter::finish() {
  RETURN_IF_ERROR(file_.sync());
  file_.forget(0, 0);
  kill_point("segment_written");
  RETURN_IF_ERROR(file_.rename_to(path_));
  finished_ = true;
  const size_t slash = path_.rfind('/');
  RETURN_IF_ERROR(sync_directory(slash == std::string::npos ? "." : path_.substr(0, slash)));
  kill_point("segment_renamed");
  return absl::OkStatus();
}

}  // namespace doppel
