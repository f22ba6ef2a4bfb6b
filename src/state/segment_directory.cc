#include "state/segment_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/faults.h"
#include "base/status.h"
#include "state/file.h"
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

namespace {

// How many originals of each share stay in memory.
uint64_t young_of_each(const SegmentSettings& o, const EngineOptions& engine, size_t shares) {
  const double half = static_cast<double>(o.memory) / 2;
  const double each = bytes_each(index_options(engine)).sum() * static_cast<double>(shares);
  return std::max<uint64_t>(2, static_cast<uint64_t>(half / each));
}

std::vector<std::string> folders_of(const std::string& epoch, size_t shares) {
  std::vector<std::string> out;
  for (size_t share = 0; share < shares; ++share) {
    const std::string which = shares == 1 ? "" : fmt::format("-{}of{}", share, shares);
    out.push_back(fmt::format("{}{}{}", SegmentDirectory::kFolder, epoch, which));
  }
  return out;
}

}  // namespace

absl::StatusOr<SegmentStores> open_segments(const SegmentSettings& o, const StateDir* state,
                                            EngineOptions& engine, std::launch merge_on) {
  engine.segments.clear();
  const std::vector<ShardSet> shares = o.memory == 0 ? std::vector<ShardSet>() : shares_of(engine);
  std::vector<std::string> folders;
  if (state != nullptr) {
    folders = folders_of(state->recovered().epoch, shares.size());
    SegmentDirectory::remove_others(o.directory, folders);
  }
  SegmentStores stores;
  for (size_t share = 0; share < shares.size(); ++share) {
    std::unique_ptr<SegmentStore> store;
    if (state == nullptr) {
      ASSIGN_OR_RETURN(store, SegmentDirectory::temporary(o.temporary_directory));
    } else {
      // Which numbers originals have depends on the indexes that are only read, so nothing remains of those.
      const Seq end = !o.after_others ? shares[share].local(state->recovered().next_seq) : 0;
      ASSIGN_OR_RETURN(store, SegmentDirectory::open(join(o.directory, folders[share]), end));
    }
    engine.segments.push_back(
        {.store = store.get(), .young = young_of_each(o, engine, shares.size()), .merge_on = merge_on});
    stores.push_back(std::move(store));
  }
  for (const SegmentOptions& each : engine.segments)
    engine.initial_capacity = std::min(engine.initial_capacity, each.young * shares.size());
  return stores;
}

}  // namespace doppel
