#include "state/segment_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/mutation.h"
#include "base/status.h"
#include "state/page_readers.h"
#include "state/segment_file.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

// Threads that wait for pages if the system has no io_uring.
constexpr int kReaders = 16;

std::optional<SegmentName> parse_name(const std::string& name) {
  SegmentName out;
  char* end = nullptr;
  out.first = std::strtoull(name.c_str(), &end, 10);
  if (end == name.c_str() || *end != '-') return std::nullopt;
  const char* second = end + 1;
  out.end = std::strtoull(second, &end, 10);
  if (end == second || *end != '\0' || out.end <= out.first) return std::nullopt;
  return out;
}

class Writing final : public SegmentBeingWritten {
 public:
  explicit Writing(SegmentFileWriter file) : file_(std::move(file)) {}
  absl::Status write_at(uint64_t offset, std::string_view bytes) override {
    return file_.write_at(offset, bytes);
  }
  absl::Status finish() override { return file_.finish(); }

 private:
  SegmentFileWriter file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SegmentDirectory>> SegmentDirectory::open(const std::string& path, Seq end) {
  std::error_code error;
  RETURN_IF_ERROR(make_directories(path));
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::optional<SegmentName> segment = parse_name(entry.path().filename().string());
    const bool newer = segment && segment->end > end && !mutated(Mutation::newer_segments_stay);
    if (!segment || newer) fs::remove(entry.path(), error);
  }
  return std::unique_ptr<SegmentDirectory>(new SegmentDirectory(path, false));
}

absl::StatusOr<std::unique_ptr<SegmentDirectory>> SegmentDirectory::temporary(const std::string& place) {
  std::string path = join(temporary_place(place), "doppel-segments-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return io_error(fmt::format("{}: cannot create", path));
  return std::unique_ptr<SegmentDirectory>(new SegmentDirectory(path, true));
}

void SegmentDirectory::remove_others(const std::string& state_directory,
                                     const std::vector<std::string>& except) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(state_directory, error)) {
    const std::string found = entry.path().filename().string();
    if (found.starts_with(kFolder) && std::find(except.begin(), except.end(), found) == except.end())
      fs::remove_all(entry.path(), error);
  }
}

uint64_t SegmentDirectory::bytes_of(const std::string& state_directory) {
  std::error_code error;
  uint64_t bytes = 0;
  for (const fs::directory_entry& folder : fs::directory_iterator(state_directory, error)) {
    if (!folder.path().filename().string().starts_with(kFolder)) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(folder.path(), error)) {
      const uint64_t size = file.file_size(error);
      if (!error) bytes += size;  // it may just have been removed
    }
  }
  return bytes;
}

SegmentDirectory::SegmentDirectory(std::string path, bool temporary)
    : path_(std::move(path)), temporary_(temporary), reader_(ring_page_reader()) {
  if (reader_ == nullptr) reader_ = threaded_page_reader(kReaders);
}

SegmentDirectory::~SegmentDirectory() {
  std::error_code none;
  if (temporary_) fs::remove_all(path_, none);
}

std::string SegmentDirectory::path_of(const SegmentName& name) const {
  return join(path_, fmt::format("{}-{}", name.first, name.end));
}

std::vector<SegmentName> SegmentDirectory::list() const {
  std::vector<SegmentName> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    if (const auto name = parse_name(entry.path().filename().string())) out.push_back(*name);
  }
  return out;
}

absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> SegmentDirectory::create(const SegmentName& name) {
  ASSIGN_OR_RETURN(SegmentFileWriter file, SegmentFileWriter::create(path_of(name)));
  return std::make_unique<Writing>(std::move(file));
}

absl::StatusOr<std::unique_ptr<SegmentSource>> SegmentDirectory::open(const SegmentName& name) {
  return SegmentFile::open(path_of(name), false);
}

void SegmentDirectory::remove(const SegmentName& name) { ::unlink(path_of(name).c_str()); }

}  // namespace doppel
