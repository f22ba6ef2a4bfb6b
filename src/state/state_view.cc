#include "state/state_view.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/bytes.h"
#include "base/status.h"
#include "state/columns.h"

namespace doppel {
namespace {

constexpr size_t kDamageListed = 100;

uint64_t on_disk(const File& file) {
  struct stat info{};
  return ::fstat(file.fd(), &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * 512 : 0;
}

}  // namespace

struct StateView::Impl {
  std::string directory;
  Epoch epoch{};
  Identity identity;
  CommitRecord last;
  absl::flat_hash_set<Seq> removed;
  absl::flat_hash_map<Seq, std::string> shown;
  std::vector<Snapshot> snapshots;
  std::vector<Damage> damage;
  uint64_t more_damage = 0;
  File hot;
  std::optional<HotFormat> format;
  std::unique_ptr<BodiesFile> bodies;
  uint64_t hot_bytes = 0, bodies_bytes = 0, disk_bytes = 0;

  void found(const std::string& file, uint64_t offset, const std::string& what) {
    if (damage.size() < kDamageListed) {
      damage.push_back({file, offset, what});
    } else {
      ++more_damage;
    }
  }

  absl::Status open() {
    const std::vector<std::string> paths = journal_paths(directory);
    if (paths.empty()) return absl::NotFoundError(fmt::format("{}: there is no index in it", directory));
    absl::Status first_error;
    for (const std::string& path : paths) {
      absl::StatusOr<File> file = File::open(path, O_RDONLY);
      if (absl::IsNotFound(file.status())) continue;  // a daemon has renamed it
      RETURN_IF_ERROR(file.status());
      absl::StatusOr<JournalContents> contents = read_journal(*file);
      if (absl::IsFailedPrecondition(contents.status())) return contents.status();
      if (!contents.ok()) {
        if (first_error.ok()) first_error = contents.status();
        found(path, 0, std::string(contents.status().message()));
        continue;
      }
      journal(path, *contents);
    }
    if (snapshots.empty()) return first_error;
    return open_columns();
  }

  void journal(const std::string& path, JournalContents& contents) {
    const bool newest = snapshots.empty();
    // An incomplete record at the end of the newest journal is being written, or its process died.
    const JournalEntry& end = contents.entries.back();
    if (!contents.damage.empty() && !(newest && contents.damage.ends_with("is not complete")))
      found(path, end.end, contents.damage);
    if (newest) {
      epoch = contents.epoch;
      identity = contents.identity;
      for (const JournalEntry& entry : contents.entries) {
        removed.insert(entry.record.removed.begin(), entry.record.removed.end());
        for (const Shown& better : entry.record.shown) shown[better.seq] = better.copy;
      }
      last = end.record;
      last.source_position = contents.source_position(contents.entries.size() - 1);
    } else if (contents.epoch != epoch) {
      found(path, 0, "belongs to another index");
    }
    Snapshot snapshot{.file = path,
                      .checkpoint = contents.entries.front().record,
                      .last_commit = end.record.commits,
                      .bytes = contents.file_bytes};
    snapshot.checkpoint.removed.clear();
    snapshot.checkpoint.shown.clear();
    snapshots.push_back(std::move(snapshot));
  }

  absl::Status open_columns() {
    absl::erase_if(removed, [&](Seq seq) { return seq < last.keep_from; });
    last.removed.assign(removed.begin(), removed.end());
    std::sort(last.removed.begin(), last.removed.end());
    format.emplace(identity.num_perm, identity.mask_words, epoch);
    ASSIGN_OR_RETURN(hot, File::open(join(directory, "hot"), O_RDONLY));
    ASSIGN_OR_RETURN(File bodies_file, File::open(join(directory, "bodies"), O_RDONLY));
    const auto check = [&](const File& file, FileKind kind, uint64_t needed) -> absl::Status {
      const absl::StatusOr<FileHeader> header = read_header(file, kind);
      if (!header.ok()) {
        found(file.path(), 0, std::string(header.status().message()));
      } else if (header->epoch != epoch) {
        found(file.path(), 20, "belongs to another index");
      }
      ASSIGN_OR_RETURN(const uint64_t size, file.size());
      if (size < needed) found(file.path(), size, fmt::format("ends here, the last commit needs {}", needed));
      disk_bytes += on_disk(file);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(check(hot, FileKind::hot, format->offset(last.next_seq)));
    RETURN_IF_ERROR(check(bodies_file, FileKind::bodies, last.bodies_end));
    hot_bytes = format->offset(last.next_seq);
    bodies_bytes = last.bodies_end;
    bodies = std::make_unique<BodiesFile>(std::move(bodies_file), last.bodies_end);
    return absl::OkStatus();
  }

  // Whether a process that uses the directory has freed these rows since open().
  bool given_back(Seq seq) const {
    for (const std::string& path : journal_paths(directory)) {
      const absl::StatusOr<File> file = File::open(path, O_RDONLY);
      if (!file.ok()) continue;
      const absl::StatusOr<JournalContents> now = read_journal(*file, true);
      if (now.ok() && now->epoch == epoch) return seq < now->entries.front().record.keep_from;
    }
    return false;
  }

  void read(const std::function<bool(const StoredDocument&)>& visit,
            const std::function<void(double)>& progress) {
    const size_t row_bytes = format->row_bytes();
    const uint64_t rows_per_block = std::max<uint64_t>(1, (1 << 20) / row_bytes);
    PodVector<char> block(rows_per_block * row_bytes);
    std::string buffer;
    for (Seq first = last.keep_from; first < last.next_seq; first += rows_per_block) {
      const uint64_t rows = std::min(rows_per_block, last.next_seq - first);
      if (const absl::Status status = hot.read_at(format->offset(first), block.data(), rows * row_bytes);
          !status.ok()) {
        return found(hot.path(), format->offset(first), std::string(status.message()));
      }
      for (uint64_t i = 0; i < rows; ++i) {
        const Seq seq = first + i;
        StoredRow stored;
        if (!format->decode(seq, block.data() + i * row_bytes, stored)) {
          if (!given_back(seq))
            found(hot.path(), format->offset(seq), fmt::format("row {}: its checksum does not fit", seq));
          continue;
        }
        stored.removed = removed.contains(seq);
        const absl::StatusOr<Body> body = bodies->read(stored.row.body, buffer);
        if (!body.ok()) {
          if (!given_back(seq)) {
            found(bodies->file().path(), stored.row.body.offset,
                  fmt::format("the body of {}: {}", seq, std_sv(body.status().message())));
          }
          continue;
        }
        const bool live = !stored.removed && seq >= last.lowest_live;
        const auto copy = shown.find(seq);
        if (visit && !visit({.row = stored,
                             .live = live,
                             .body = *body,
                             .shown = copy == shown.end() ? std::string_view() : copy->second}))
          return;
      }
      progress(static_cast<double>(first + rows - last.keep_from) /
               static_cast<double>(last.next_seq - last.keep_from));
    }
  }
};

StateView::StateView(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateView::~StateView() = default;

absl::StatusOr<std::unique_ptr<StateView>> StateView::open(const std::string& directory) {
  auto impl = std::make_unique<Impl>();
  impl->directory = directory;
  RETURN_IF_ERROR(impl->open());
  return std::unique_ptr<StateView>(new StateView(std::move(impl)));
}

const Epoch& StateView::epoch() const { return impl_->epoch; }
const Identity& StateView::identity() const { return impl_->identity; }
const CommitRecord& StateView::last() const { return impl_->last; }
const std::vector<Snapshot>& StateView::snapshots() const { return impl_->snapshots; }
uint64_t StateView::hot_bytes() const { return impl_->hot_bytes; }
uint64_t StateView::bodies_bytes() const { return impl_->bodies_bytes; }
uint64_t StateView::disk_bytes() const { return impl_->disk_bytes; }
void StateView::read(const std::function<bool(const StoredDocument&)>& visit,
                     const std::function<void(double)>& progress) {
  impl_->read(visit, progress);
}
absl::Status StateView::live_rows(const std::function<absl::Status(StoredRow&)>& visit) const {
  absl::Status status;
  const CommitRecord& last = impl_->last;
  const Seq first = std::max(last.keep_from, last.lowest_live);
  const auto visit_live = [&](StoredRow& row) {
    if (status.ok() && !impl_->removed.contains(row.seq)) status = visit(row);
  };
  RETURN_IF_ERROR(impl_->format->scan(impl_->hot, first, last.next_seq, visit_live));
  return status;
}
const Bodies& StateView::bodies() const { return *impl_->bodies; }
const std::vector<Damage>& StateView::damage() const { return impl_->damage; }
uint64_t StateView::more_damage() const { return impl_->more_damage; }

void IndexChecksum::add(const StoredDocument& document, int num_perm, int mask_words) {
  if (!document.live) return;
  const Row& row = document.row.row;
  std::string fixed;
  put_fixed(fixed, document.row.seq);
  put_digest(fixed, row.digest);
  if (row.slices != nullptr) {
    fixed.append(reinterpret_cast<const char*>(row.slices), static_cast<size_t>(num_perm));
    fixed.append(reinterpret_cast<const char*>(row.mask), sizeof(uint32_t) * static_cast<size_t>(mask_words));
  }
  put_fixed(fixed, static_cast<uint64_t>(document.body.metadata.size()));
  put_fixed(fixed, static_cast<uint64_t>(document.body.coded_set.size()));
  sum_ = XXH3_64bits_withSeed(fixed.data(), fixed.size(), sum_);
  sum_ = XXH3_64bits_withSeed(document.body.metadata.data(), document.body.metadata.size(), sum_);
  sum_ = XXH3_64bits_withSeed(document.body.coded_set.data(), document.body.coded_set.size(), sum_);
  if (!document.shown.empty())
    sum_ = XXH3_64bits_withSeed(document.shown.data(), document.shown.size(), sum_);
}

std::string IndexChecksum::hex() const { return fmt::format("{:016x}", sum_); }

Identity stored_identity(const std::string& directory) {
  if (directory.empty() || journal_paths(directory).empty()) return {};
  const auto view = StateView::open(directory);
  return view.ok() ? (*view)->identity() : Identity();
}

}  // namespace doppel
