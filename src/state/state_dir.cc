#include "state/state_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "state/recovery.h"
#include "state/state_dir_impl.h"

namespace doppel {

StateDir::StateDir(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateDir::~StateDir() = default;

absl::StatusOr<std::unique_ptr<StateDir>> StateDir::open(const StateOptions& options,
                                                         const Supports& supports) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  RETURN_IF_ERROR(impl->open(supports));
  return std::unique_ptr<StateDir>(new StateDir(std::move(impl)));
}

const Recovered& StateDir::recovered() const { return impl_->recovered; }
const Epoch& StateDir::epoch() const { return impl_->epoch; }

absl::Status StateDir::load_rows(const std::function<void(const StoredRow&)>& visit, Seq from) {
  const Recovered& r = impl_->recovered;
  auto removed = impl_->state.removed.begin();
  const auto removed_end = impl_->state.removed.end();
  const auto visit_stored = [&](StoredRow& stored) {
    while (removed != removed_end && *removed < stored.seq) ++removed;
    stored.removed = removed != removed_end && *removed == stored.seq;
    visit(stored);
  };
  // Loaded rows are not read again, so the page cache may use their memory for the next ones.
  constexpr Seq kRowsAtOnce = Seq{1} << 18;
  for (; removed != removed_end && *removed < from; ++removed)
    if (*removed >= r.first_row) visit({.seq = *removed, .row = {}, .removed = true});
  for (from = std::max(from, r.first_row); from < r.next_seq;) {
    const Seq to = std::min(r.next_seq, from + kRowsAtOnce);
    RETURN_IF_ERROR(impl_->format->scan(impl_->hot, from, to, visit_stored));
    impl_->hot.forget(impl_->format->offset(from), impl_->format->offset(to));
    from = to;
  }
  return absl::OkStatus();
}

void StateDir::set_rule(std::string rule) { impl_->identity.rule = std::move(rule); }

absl::Status StateDir::add_to_scheme(std::string_view line) {
  std::string& scheme = impl_->identity.data_scheme;
  if (const std::optional<std::string> stored = scheme_line(scheme, line))
    return impl_->refuse(scheme_differences(*stored, line));
  if (!scheme.empty() && !scheme.ends_with('\n')) scheme += '\n';
  scheme.append(line);
  return checkpoint();
}

absl::Status StateDir::start_at(Seq seq) {
  Impl& i = *impl_;
  DOPPEL_CHECK(i.state.commits == 0, "numbering begins before the first commit", i.state.commits, seq);
  RETURN_IF_ERROR(i.hot.cut(i.format->offset(seq)));  // a hole in the file
  i.state.next_seq = i.state.lowest_live = i.state.keep_from = seq;
  i.kept_from.clear();
  i.recovered.next_seq = i.recovered.lowest_live = i.recovered.first_row = seq;
  i.checkpoint_seq = i.punched = seq;
  return checkpoint();
}

absl::StatusOr<StoredRow> StateDir::read_row(Seq seq) {
  if (seq >= impl_->state.next_seq)
    return absl::OutOfRangeError(fmt::format("{}: there is no row {}", impl_->hot_path, seq));
  impl_->one_row.resize(impl_->format->row_bytes());
  RETURN_IF_ERROR(
      impl_->hot.read_at(impl_->format->offset(seq), impl_->one_row.data(), impl_->one_row.size()));
  // A hole: the row was freed, or numbering began behind it.
  const bool hole =
      seq < impl_->state.lowest_live &&
      std::all_of(impl_->one_row.begin(), impl_->one_row.end(), [](auto byte) { return byte == 0; });
  if (hole) return StoredRow{.seq = seq, .removed = true};
  StoredRow stored;
  if (!impl_->format->decode(seq, impl_->one_row.data(), stored))
    return absl::DataLossError(
        fmt::format("{}: row {} at offset {} is damaged", impl_->hot_path, seq, impl_->format->offset(seq)));
  stored.seq = seq;
  stored.removed = impl_->removed.contains(seq);
  return stored;
}

const std::string* StateDir::shown(Seq seq) const {
  const auto found = impl_->shown.find(seq);
  return found == impl_->shown.end() ? nullptr : &found->second;
}

Bodies& StateDir::bodies() { return *impl_->bodies; }

absl::Status StateDir::commit(const Commit& commit) {
  if (impl_->failed) {
    return absl::FailedPreconditionError(
        fmt::format("{}: an earlier write failed; start again", impl_->options.directory));
  }
  absl::Status status = impl_->commit(commit);
  impl_->failed = !status.ok();
  return status;
}

absl::Status StateDir::checkpoint() {
  if (impl_->failed) {
    return absl::FailedPreconditionError(
        fmt::format("{}: an earlier write failed; start again", impl_->options.directory));
  }
  absl::Status status = impl_->checkpoint();
  impl_->failed = !status.ok();
  impl_->checkpoints.failed += status.ok() ? 0 : 1;
  return status;
}

void StateDir::begin_checkpoint() {
  if (!impl_->failed && !impl_->pending && impl_->durable()) impl_->start_checkpoint();
}

CheckpointStats StateDir::checkpoint_stats() const {
  CheckpointStats out = impl_->checkpoints;
  out.commits_since = impl_->state.commits - impl_->checkpoint_commits;
  return out;
}

absl::Status discard_state(const std::string& directory, std::string* note) {
  namespace fs = std::filesystem;
  // The mark is moved last, so that a partly emptied directory is never opened.
  if (!exists(join(directory, kDamagedName))) mark_damaged(directory, "it is being set aside");
  const fs::path to = damaged_folder(directory);
  std::error_code error;
  fs::remove_all(to, error);
  fs::create_directories(to, error);
  if (error) return io_error(fmt::format("{}: cannot be created again", to.string()), error.value());
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name == "hot" || name == "bodies" || name.starts_with(kJournalName)) files.push_back(entry.path());
  }
  if (error) return io_error(fmt::format("{}: cannot be listed", directory), error.value());
  uint64_t bytes = 0;
  files.push_back(join(directory, kDamagedName));
  for (const fs::path& file : files) {
    if (file.filename() == kDamagedName) RETURN_IF_ERROR(sync_directory(directory));
    bytes += fs::file_size(file, error);
    fs::rename(file, to / file.filename(), error);
    if (error) {
      return io_error(fmt::format("{}: cannot be moved to {}", file.string(), to.string()), error.value());
    }
  }
  RETURN_IF_ERROR(sync_directory(to.string()));
  RETURN_IF_ERROR(sync_directory(directory));
  if (note != nullptr) {
    *note = fmt::format("{} files with {} bytes are in {} now; they can be deleted", files.size(), bytes,
                        to.string());
  }
  return absl::OkStatus();
}

void mark_damaged(const std::string& directory, const std::string& reason) {
  // If this fails, a later start finds the damage when it reads that place.
  write_durably(join(directory, kDamagedName), reason + "\n").IgnoreError();
}

}  // namespace doppel
