#include "state/state_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/checksums.h"
#include "base/faults.h"
#include "base/status.h"
#include "state/state_dir_impl.h"

namespace doppel {

// Commits and checkpoints.

namespace {

constexpr uint64_t kJournalBytesMax = 64 << 20;  // of commits; then a checkpoint is due

// Sorts by number, and keeps the last copy of each cluster.
std::vector<Shown> tidy(const std::vector<Shown>& all) {
  absl::btree_map<Seq, const std::string*> last;
  for (const Shown& shown : all) last[shown.seq] = &shown.copy;
  std::vector<Shown> out;
  out.reserve(last.size());
  for (const auto& [seq, copy] : last) out.push_back({seq, *copy});
  return out;
}

}  // namespace

// Checks the invariants of a commit, because each later start would trust a wrong one.
void StateDir::Impl::check(const Commit& commit) const {
  Seq next = state.next_seq;
  uint64_t body_end = last_body_end;
  for (const StoredRow& stored : commit.rows) {
    DOPPEL_CHECK(stored.seq == next, "the numbers of committed rows ascend without gaps", stored.seq, next);
    ++next;
    const BodyRef body = stored.row.body;
    if (body.size == 0) continue;
    DOPPEL_CHECK(body.offset >= body_end && body.offset + body.size <= bodies->bytes(),
                 "bodies have the order of their rows, within what was appended", stored.seq, body.offset,
                 body.size, body_end, bodies->bytes());
    body_end = body.offset + body.size;
  }
  DOPPEL_CHECK(commit.lowest_live >= state.lowest_live && commit.lowest_live <= next,
               "the lowest live number never goes back and is at most the next number", commit.lowest_live,
               state.lowest_live, next);
  DOPPEL_CHECK(commit.keep_from.value_or(0) <= commit.lowest_live, "rows that live are kept",
               commit.keep_from.value_or(0), commit.lowest_live);
  for (const Seq seq : commit.removed)
    DOPPEL_CHECK(seq < next, "what a commit removes was stored", seq, next);
  for (const Shown& better : commit.shown)
    DOPPEL_CHECK(better.seq < next, "the original of a better copy was stored", better.seq, next);
  DOPPEL_CHECK(commit.documents >= state.documents, "the count of judged documents never goes back",
               commit.documents, state.documents);
}

absl::Status StateDir::Impl::commit(const Commit& commit) {
  check(commit);
  if (!journal.takes_commits()) RETURN_IF_ERROR(checkpoint());
  CommitRecord next{.commits = state.commits + 1,
                    .next_seq = state.next_seq + commit.rows.size(),
                    .lowest_live = commit.lowest_live,
                    .keep_from = std::max(state.keep_from, commit.keep_from.value_or(commit.lowest_live)),
                    .documents = commit.documents,
                    .made_ms = Clock::unix_ms(),
                    .source_position = commit.source_position,
                    .sink_position = commit.sink_position,
                    .clock = commit.clock,
                    .removed = commit.removed};
  rows.clear();
  for (const StoredRow& stored : commit.rows) {
    format->append(stored, rows);
    if (stored.removed) next.removed.push_back(stored.seq);
    if (stored.row.body.size != 0) last_body_end = stored.row.body.offset + stored.row.body.size;
  }
  tidy(next.removed, next.keep_from);
  next.shown = tidy(commit.shown);
  std::erase_if(next.shown, [&](const Shown& better) { return removed.contains(better.seq); });

  RETURN_IF_ERROR(bodies->flush());
  next.bodies_end = bodies->bytes();
  next.bodies_crc = bodies->take_crc();
  kill_point("after_bodies");
  RETURN_IF_ERROR(hot.write_at(format->offset(state.next_seq), rows));
  kill_point("after_rows");
  next.hot_crc = crc32c(rows);
  DOPPEL_CHECK(rows.size() == commit.rows.size() * format->row_bytes(), "all rows have one length",
               rows.size(), commit.rows.size(), format->row_bytes());
  // A start would discard a record that does not follow the previous one, and everything behind it.
  DOPPEL_CHECK(follows(state, next), "a commit follows the one before", state.commits, next.commits,
               state.next_seq, next.next_seq, state.bodies_end, next.bodies_end, state.lowest_live,
               next.lowest_live, state.keep_from, next.keep_from);
  const bool synced = options.fsync == Fsync::commit;
  if (synced) RETURN_IF_ERROR(sync_columns());
  std::string record = encode_commit(next, state.source_position);
  RETURN_IF_ERROR(journal.append(record));
  kill_point("after_commit");
  if (synced) RETURN_IF_ERROR(journal.sync());

  std::vector<Seq> before = std::move(state.removed);
  removed.insert(next.removed.begin(), next.removed.end());
  if (pending) pending->since.push_back(std::move(record));
  before.insert(before.end(), next.removed.begin(), next.removed.end());
  apply_shown(next);
  state = std::move(next);
  state.removed = std::move(before);
  state.shown.clear();
  if (pending) {
    const bool ready = pending->synced.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
    // Wait if there are too many commits since, rather than keeping them all in memory.
    if (!ready && journal.commit_bytes() <= 4 * kJournalBytesMax) return absl::OkStatus();
    absl::Status status = finish_checkpoint();
    checkpoints.failed += status.ok() ? 0 : 1;
    return status;
  }
  if (!checkpoint_is_due()) return absl::OkStatus();
  if (!durable()) return checkpoint();
  start_checkpoint();
  return absl::OkStatus();
}

// A cluster ends with its original.
void StateDir::Impl::apply_shown(const CommitRecord& record) {
  for (const Shown& better : record.shown) shown[better.seq] = better.copy;
  for (const Seq seq : record.removed) shown.erase(seq);
  shown.erase(shown.begin(), shown.lower_bound(record.keep_from));
}

CommitRecord StateDir::Impl::whole_state() const {
  CommitRecord out = state;
  out.shown.reserve(shown.size());
  for (const auto& [seq, copy] : shown) out.shown.push_back({seq, copy});
  return out;
}

bool StateDir::Impl::checkpoint_is_due() const {
  const bool late =
      options.checkpoint_interval_ms > 0 &&
      Clock::now() - checkpoint_time >= std::chrono::milliseconds(options.checkpoint_interval_ms);
  return late || state.next_seq - checkpoint_seq >= options.checkpoint_documents ||
         journal.commit_bytes() > kJournalBytesMax;
}

absl::Status StateDir::Impl::sync_columns() {
  if (mutated(Mutation::columns_are_not_synced)) return absl::OkStatus();
  RETURN_IF_ERROR(bodies->file().sync());
  return hot.sync();
}

// Syncs the columns in the background. This takes time for the rows and bodies that came since the last
// checkpoint.
void StateDir::Impl::start_checkpoint() {
  tidy(state.removed, state.keep_from);
  pending.emplace();
  pending->record = whole_state();
  pending->start = Clock::now();
  pending->synced = std::async(options.sync_on, [this] { return sync_columns(); });
}

absl::Status StateDir::Impl::finish_checkpoint() {
  Pending done = *std::exchange(pending, std::nullopt);
  RETURN_IF_ERROR(done.synced.get());
  if (options.sync_outputs) RETURN_IF_ERROR(options.sync_outputs());
  return begin_journal(std::move(done.record), done.since, done.start);
}

absl::Status StateDir::Impl::begin_journal(CommitRecord checkpoint, const std::vector<std::string>& since,
                                           Clock::time_point start) {
  // A checkpoint without new commits would only displace an older one.
  const bool news = checkpoint.commits != checkpoint_commits;
  DOPPEL_CHECK(checkpoint.commits >= checkpoint_commits && checkpoint.next_seq >= checkpoint_seq,
               "a checkpoint is never older than the one before", checkpoint.commits, checkpoint_commits,
               checkpoint.next_seq, checkpoint_seq);
  DOPPEL_CHECK(checkpoint.commits + since.size() == state.commits,
               "a checkpoint and the commits since are all commits", checkpoint.commits, since.size(),
               state.commits);
  const int kept = news ? std::max(1, options.snapshots) - 1 : static_cast<int>(kept_from.size());
  checkpoint.hot_crc = checkpoint.bodies_crc = 0;
  checkpoint.made_ms = Clock::unix_ms();
  if (news || kept_from.empty()) {
    kept_from.insert(kept_from.begin(), checkpoint.keep_from);
    kept_from.resize(std::min(kept_from.size(), static_cast<size_t>(kept) + 1));
  }
  ASSIGN_OR_RETURN(journal, JournalWriter::begin(options.directory, epoch, identity, checkpoint, since,
                                                 news ? kept : -1, durable()));
  checkpoint_seq = checkpoint.next_seq;
  checkpoint_commits = checkpoint.commits;
  checkpoint_time = Clock::now();
  ++checkpoints.made;
  checkpoints.last_ms = checkpoint.made_ms;
  checkpoints.last_s = std::chrono::duration<double>(checkpoint_time - start).count();
  give_back();
  return absl::OkStatus();
}

absl::Status StateDir::Impl::checkpoint() {
  if (pending) {
    const bool whole = pending->since.empty();
    RETURN_IF_ERROR(finish_checkpoint());
    if (whole) return absl::OkStatus();
  }
  const Clock::time_point start = Clock::now();
  if (durable()) {
    if (options.sync_outputs) RETURN_IF_ERROR(options.sync_outputs());
    RETURN_IF_ERROR(sync_columns());
  }
  tidy(state.removed, state.keep_from);
  return begin_journal(whole_state(), {}, start);
}

// Frees the space of rows that no kept checkpoint needs. Best effort: if it fails, the files are only
// larger than necessary.
void StateDir::Impl::give_back() {
  const Seq lowest = *std::min_element(kept_from.begin(), kept_from.end());
  if (lowest <= punched) return;
  DOPPEL_CHECK(lowest <= state.keep_from && lowest <= state.next_seq,
               "the space of rows that are kept is not given back", lowest, state.keep_from, state.next_seq);
  hot.punch(kFileHeaderBytes, format->offset(lowest));
  punched = lowest;
  if (lowest == state.next_seq) {
    bodies->give_back_below(state.bodies_end);
    return;
  }
  // Bodies are in the order of rows, so the next row with a body tells where to stop.
  PodVector<char> bytes(format->row_bytes());
  for (Seq seq = lowest; seq < std::min(lowest + 1000, state.next_seq); ++seq) {
    StoredRow stored;
    if (!hot.read_at(format->offset(seq), bytes.data(), bytes.size()).ok() ||
        !format->decode(seq, bytes.data(), stored)) {
      return;
    }
    if (stored.row.body.size == 0) continue;
    bodies->give_back_below(stored.row.body.offset);
    return;
  }
}

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
