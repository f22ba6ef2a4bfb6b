// One data path: rows and bodies are written once, to where they stay; a commit is a small record that
// says how much of them counts. So the state costs a row and a body for each representative, and what
// a crash leaves behind the last good record is simply cut off.

#include "state/state_dir.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/crc32c.h"
#include "base/kill_point.h"
#include "base/pod_vector.h"
#include "base/status.h"
#include "state/bodies_file.h"
#include "state/hot_file.h"
#include "state/journal.h"
#include "state/lock.h"
#include "state/recovery.h"
#include "state/scheme.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kDamagedName = "DAMAGED";
constexpr uint64_t kBodiesEnd = uint64_t{1} << 40;
constexpr uint64_t kJournalBytesMax = 64 << 20;  // of commits, then a checkpoint is due

int64_t now_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// Ascending, each once, none below `lowest`.
void tidy(std::vector<Seq>& removed, Seq lowest) {
  std::sort(removed.begin(), removed.end());
  removed.erase(std::unique(removed.begin(), removed.end()), removed.end());
  removed.erase(removed.begin(), std::lower_bound(removed.begin(), removed.end(), lowest));
}

}  // namespace

struct StateDir::Impl {
  StateOptions options;
  std::string hot_path, bodies_path, journal_path;
  Epoch epoch{};
  Identity identity;
  File lock;
  File hot;
  std::optional<HotFormat> format;
  std::unique_ptr<BodiesFile> bodies;
  JournalWriter journal;
  CommitRecord state;                // as of the last commit; `removed`: all, not tidied
  absl::flat_hash_set<Seq> removed;  // the same, to be looked up
  Seq checkpoint_seq = 0;
  uint64_t checkpoint_commits = 0;
  Clock::time_point checkpoint_time = Clock::now();
  std::vector<Seq> kept_from;  // of the checkpoints that are kept, the newest first
  // Bodies come in the order of rows: then space is given back by cutting below one offset.
  uint64_t last_body_end = 0;
  Seq punched = 0;  // rows below have been given back
  Recovered recovered;
  std::string rows;  // encoded, of one commit
  PodVector<char> one_row;
  bool failed = false;
  CheckpointStats checkpoints;

  // A checkpoint whose columns are being synced, and the commits since.
  struct Pending {
    CommitRecord record;
    Clock::time_point start;
    std::vector<CommitRecord> since;
    std::future<absl::Status> synced;
  };
  std::optional<Pending> pending;

  bool durable() const { return options.fsync != Fsync::none; }
  absl::Status open(const Supports& supports);
  absl::Status create();
  absl::Status recover(const Supports& supports);
  absl::Status check_header(const FileHeader& header, const File& file) const;
  absl::Status refuse_differences(const Identity& stored) const;
  absl::Status open_columns(File& bodies_file);
  absl::Status cut(const JournalContents& contents, const JournalEntry& entry, const File& bodies_file);
  absl::Status check(const Commit& commit) const;
  absl::Status commit(const Commit& commit);
  bool checkpoint_is_due() const;
  void start_checkpoint();
  absl::Status finish_checkpoint();
  absl::Status begin_journal(CommitRecord checkpoint, const std::vector<CommitRecord>& since,
                             Clock::time_point start);
  absl::Status checkpoint();
  void give_back();
};

// ---- open

absl::Status StateDir::Impl::open(const Supports& supports) {
  const std::string& directory = options.directory;
  RETURN_IF_ERROR(make_directories(directory));
  ASSIGN_OR_RETURN(lock, lock_directory(directory));
  hot_path = join(directory, "hot");
  bodies_path = join(directory, "bodies");
  journal_path = join(directory, kJournalName);
  ::unlink(join(directory, kNewJournalName).c_str());  // a checkpoint that was not finished
  identity = {options.data_scheme, options.rule, options.num_perm, options.mask_words};
  RETURN_IF_ERROR(journal_paths(directory).empty() ? create() : recover(supports));

  if (options.epoch && *options.epoch != epoch) {
    return absl::FailedPreconditionError(fmt::format("{}: holds index {}, not {}", directory,
                                                     epoch_string(epoch), epoch_string(*options.epoch)));
  }
  recovered.epoch = epoch_string(epoch);
  recovered.fresh = state.commits == 0;
  recovered.next_seq = state.next_seq;
  recovered.first_row = recovered.lowest_live = state.lowest_live;
  recovered.source_position = state.source_position;
  recovered.sink_position = state.sink_position;
  recovered.clock = state.clock;
  recovered.documents = state.documents;
  tidy(state.removed, state.keep_from);
  removed.insert(state.removed.begin(), state.removed.end());
  struct stat info{};
  const std::string key_path = join(directory, "hash.key");
  if (::stat(key_path.c_str(), &info) == 0 && (info.st_mode & 0077) != 0) {
    recovered.notes.push_back(
        fmt::format("{0}: others than its owner may use the secret key; run: chmod 600 {0}", key_path));
  }
  return absl::OkStatus();
}

absl::Status StateDir::Impl::create() {
  // A start that was killed before its first checkpoint leaves headers at most. Anything more is
  // an index that lost its journal, or not ours.
  for (const auto& [path, kind] : {std::pair(hot_path, FileKind::hot), {bodies_path, FileKind::bodies}}) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || static_cast<uint64_t>(info.st_size) <= kFileHeaderBytes) continue;
    ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
    const bool ours = read_header(file, kind).ok();
    return absl::Status(
        ours ? absl::StatusCode::kDataLoss : absl::StatusCode::kFailedPrecondition,
        fmt::format(
            "{}: holds {} bytes, but {} is missing; restore the journal, or use another state directory",
            path, info.st_size, journal_path));
  }
  if (options.epoch) {
    epoch = *options.epoch;
  } else {
    ASSIGN_OR_RETURN(epoch, make_epoch());
  }
  format.emplace(options.num_perm, options.mask_words, epoch);
  ASSIGN_OR_RETURN(hot, File::open(hot_path, O_RDWR | O_CREAT | O_TRUNC));
  RETURN_IF_ERROR(hot.write_at(0, encode_header({.kind = FileKind::hot,
                                                 .num_perm = static_cast<uint32_t>(options.num_perm),
                                                 .mask_words = static_cast<uint32_t>(options.mask_words),
                                                 .epoch = epoch})));
  ASSIGN_OR_RETURN(File file, File::open(bodies_path, O_RDWR | O_CREAT | O_TRUNC));
  RETURN_IF_ERROR(file.write_at(0, encode_header({.kind = FileKind::bodies, .epoch = epoch})));
  bodies = std::make_unique<BodiesFile>(std::move(file), kFileHeaderBytes);
  return checkpoint();
}

absl::Status StateDir::Impl::check_header(const FileHeader& header, const File& file) const {
  if (header.epoch != epoch) {
    return absl::DataLossError(fmt::format(
        "{}: belongs to index {}, {} to index {}; restore all files of the directory from one copy",
        file.path(), epoch_string(header.epoch), journal_path, epoch_string(epoch)));
  }
  return absl::OkStatus();
}

absl::Status StateDir::Impl::refuse_differences(const Identity& stored) const {
  // num_perm and mask_words shape the rows; they are compared like any other name.
  const auto shape = [](const Identity& i) {
    return fmt::format("{}\nnum_perm={}\nmask_words={}\n", i.data_scheme, i.num_perm, i.mask_words);
  };
  std::vector<std::string> differences = scheme_differences(shape(stored), shape(identity));
  for (std::string& difference : rule_differences(stored.rule, identity.rule, options.accepted))
    differences.push_back(std::move(difference));
  if (differences.empty()) return absl::OkStatus();
  std::string message = fmt::format(
      "{}: this index was made with other settings; use those, or a new state directory", options.directory);
  for (const std::string& difference : differences) message.append("\n  ").append(difference);
  return absl::FailedPreconditionError(message);
}

absl::Status StateDir::Impl::open_columns(File& bodies_file) {
  for (const std::string& path : {hot_path, bodies_path}) {
    if (exists(path)) continue;
    return absl::DataLossError(
        fmt::format("{}: is missing; restore it, or use another state directory", path));
  }
  ASSIGN_OR_RETURN(hot, File::open(hot_path, O_RDWR));
  ASSIGN_OR_RETURN(bodies_file, File::open(bodies_path, O_RDWR));
  return absl::OkStatus();
}

// The newest journal that is good in itself and that the columns support.
absl::Status StateDir::Impl::recover(const Supports& supports) {
  const std::string& directory = options.directory;
  std::vector<std::string> paths = journal_paths(directory);
  std::vector<JournalContents> journals;  // the readable ones, the newest first
  std::vector<std::string> readable;
  absl::Status first_error;
  std::vector<std::string> notes;
  const auto cannot_use = [&](const absl::Status& why) {
    if (first_error.ok()) first_error = why;
    notes.emplace_back(why.message());
  };
  if (paths.front() != journal_path) notes.push_back(fmt::format("{}: is missing", journal_path));
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
    // Of older ones the commits are read when it comes to that.
    absl::StatusOr<JournalContents> contents = read_journal(file, !journals.empty());
    if (contents.ok()) {
      journals.push_back(*std::move(contents));
      readable.push_back(path);
    } else if (absl::IsFailedPrecondition(contents.status())) {
      return contents.status();  // of another version
    } else {
      cannot_use(contents.status());
    }
  }
  if (journals.empty()) return first_error;
  RETURN_IF_ERROR(refuse_differences(journals.front().identity));
  epoch = journals.front().epoch;
  format.emplace(options.num_perm, options.mask_words, epoch);
  File bodies_file;
  RETURN_IF_ERROR(open_columns(bodies_file));
  ASSIGN_OR_RETURN(const FileHeader hot_header, read_header(hot, FileKind::hot));
  RETURN_IF_ERROR(check_header(hot_header, hot));
  ASSIGN_OR_RETURN(const FileHeader bodies_header, read_header(bodies_file, FileKind::bodies));
  RETURN_IF_ERROR(check_header(bodies_header, bodies_file));

  // Rows that came between the oldest checkpoint and the newest are verified, because there it helps to know;
  // after damage was found, everything is.
  const std::string mark = join(directory, kDamagedName);
  std::string reason;
  if (std::ifstream text(mark); text) std::getline(text, reason);
  const CommitRecord& newest = journals.front().entries.back().record;
  Seq limit = newest.next_seq;
  std::string damage;
  if (exists(mark)) {
    const BodiesFile all(File::open(bodies_path, O_RDONLY).value_or(File()), kBodiesEnd);
    ASSIGN_OR_RETURN(limit, first_bad_row(hot, *format, &all, newest.keep_from, newest.next_seq, damage));
  } else if (journals.size() > 1) {
    const Seq to = journals.front().entries.front().record.next_seq;
    const Seq from = std::max(journals.back().entries.front().record.next_seq, newest.lowest_live);
    Seq bad = to;
    if (from < to) {
      ASSIGN_OR_RETURN(bad, first_bad_row(hot, *format, nullptr, from, to, damage));
    }
    if (bad < to) limit = bad;
  }
  if (!damage.empty()) notes.push_back(damage);

  for (size_t j = 0; j < journals.size(); ++j) {
    if (j > 0) {
      ASSIGN_OR_RETURN(const File file, File::open(readable[j], O_RDONLY));
      ASSIGN_OR_RETURN(journals[j], read_journal(file));
      absl::Status fits = refuse_differences(journals[j].identity);
      if (fits.ok() && journals[j].epoch != epoch)
        fits = absl::DataLossError(fmt::format("{}: belongs to another index", readable[j]));
      if (!fits.ok()) {
        cannot_use(fits);
        continue;
      }
    }
    absl::StatusOr<Recovery> found =
        choose_commit(journals[j], readable[j], hot, *format, bodies_file, limit, supports);
    if (!found.ok()) {
      cannot_use(found.status());
      continue;
    }
    const JournalEntry& chosen = journals[j].entries[found->entry];
    if (readable[j] != journal_path) {
      notes.push_back(fmt::format("going on from commit {} of {}", chosen.record.commits, readable[j]));
    }
    RETURN_IF_ERROR(promote_journal(directory, readable[j]));
    RETURN_IF_ERROR(cut(journals[j], chosen, bodies_file));
    if (exists(mark)) {
      notes.push_back(fmt::format("{}; everything was verified: {}", reason,
                                  damage.empty() ? "nothing is damaged now" : "what was damaged is cut off"));
      ::unlink(mark.c_str());
    }
    state = chosen.record;
    state.removed.clear();
    for (size_t i = 0; i <= found->entry; ++i) {
      const std::vector<Seq>& more = journals[j].entries[i].record.removed;
      state.removed.insert(state.removed.end(), more.begin(), more.end());
    }
    recovered.notes = std::move(notes);
    for (std::string& note : found->notes) recovered.notes.push_back(std::move(note));
    checkpoint_seq = journals[j].entries.front().record.next_seq;
    checkpoint_commits = journals[j].entries.front().record.commits;
    checkpoints.last_ms = journals[j].entries.front().record.made_ms;
    for (size_t k = j; k < journals.size(); ++k)
      kept_from.push_back(journals[k].entries.front().record.keep_from);
    bodies = std::make_unique<BodiesFile>(std::move(bodies_file), state.bodies_end);
    ASSIGN_OR_RETURN(File file, File::open(journal_path, O_RDWR));
    journal = JournalWriter(std::move(file), journals[j].entries.front().end, chosen);
    return absl::OkStatus();
  }
  if (!reason.empty() && absl::IsDataLoss(first_error))
    return absl::DataLossError(fmt::format("{}: {}", reason, std_sv(first_error.message())));
  return first_error;
}

// The journal first: were the columns cut first and the machine lost power in between, records of the
// journal would count what is no longer there (which recovery would find, but why rely on it).
absl::Status StateDir::Impl::cut(const JournalContents& contents, const JournalEntry& entry,
                                 const File& bodies_file) {
  const auto cut_one = [&](const File& file, uint64_t length) -> absl::Status {
    ASSIGN_OR_RETURN(const uint64_t size, file.size());
    if (size <= length) return absl::OkStatus();
    recovered.cut_bytes += size - length;
    RETURN_IF_ERROR(file.cut(length));
    return durable() ? file.sync() : absl::OkStatus();
  };
  if (contents.file_bytes > entry.end) {
    ASSIGN_OR_RETURN(const File file, File::open(journal_path, O_RDWR));
    RETURN_IF_ERROR(cut_one(file, entry.end));
  }
  RETURN_IF_ERROR(cut_one(hot, format->offset(entry.record.next_seq)));
  return cut_one(bodies_file, entry.record.bodies_end);
}

// ---- commit and checkpoint

absl::Status StateDir::Impl::check(const Commit& commit) const {
  Seq next = state.next_seq;
  uint64_t body_end = last_body_end;
  for (const StoredRow& stored : commit.rows) {
    if (stored.seq != next++) {
      return absl::InternalError(fmt::format("commit: row {} where {} was expected", stored.seq, next - 1));
    }
    const BodyRef body = stored.row.body;
    if (body.size == 0) continue;
    if (body.offset < body_end || body.offset + body.size > bodies->bytes()) {
      return absl::InternalError(
          fmt::format("commit: the body of row {} at offset {} is out of order", stored.seq, body.offset));
    }
    body_end = body.offset + body.size;
  }
  if (commit.lowest_live < state.lowest_live || commit.lowest_live > next) {
    return absl::InternalError(
        fmt::format("commit: lowest live number {} after {}", commit.lowest_live, state.lowest_live));
  }
  if (commit.keep_from > commit.lowest_live) {
    return absl::InternalError(
        fmt::format("commit: rows from {} on are kept, but the lowest live number is {}", *commit.keep_from,
                    commit.lowest_live));
  }
  for (const Seq seq : commit.removed) {
    if (seq >= next) return absl::InternalError(fmt::format("commit: {} is removed, but not stored", seq));
  }
  return absl::OkStatus();
}

absl::Status StateDir::Impl::commit(const Commit& commit) {
  RETURN_IF_ERROR(check(commit));
  CommitRecord next{.commits = state.commits + 1,
                    .next_seq = state.next_seq + commit.rows.size(),
                    .lowest_live = commit.lowest_live,
                    .keep_from = std::max(state.keep_from, commit.keep_from.value_or(commit.lowest_live)),
                    .documents = commit.documents,
                    .made_ms = now_ms(),
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

  RETURN_IF_ERROR(bodies->flush());
  next.bodies_end = bodies->bytes();
  next.bodies_crc = bodies->take_crc();
  kill_point("after_bodies");
  RETURN_IF_ERROR(hot.write_at(format->offset(state.next_seq), rows));
  kill_point("after_rows");
  next.hot_crc = crc32c(rows);
  const bool each = options.fsync == Fsync::commit;
  if (each) {
    RETURN_IF_ERROR(bodies->file().sync());
    RETURN_IF_ERROR(hot.sync());
  }
  RETURN_IF_ERROR(journal.append(next));
  kill_point("after_commit");
  if (each) RETURN_IF_ERROR(journal.sync());

  std::vector<Seq> before = std::move(state.removed);
  removed.insert(next.removed.begin(), next.removed.end());
  if (pending) pending->since.push_back(next);
  before.insert(before.end(), next.removed.begin(), next.removed.end());
  state = std::move(next);
  state.removed = std::move(before);
  if (pending) {
    const bool ready = pending->synced.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    // Too many commits beside it: better to wait than to keep them all in memory.
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

bool StateDir::Impl::checkpoint_is_due() const {
  const bool late =
      options.checkpoint_interval_ms > 0 &&
      Clock::now() - checkpoint_time >= std::chrono::milliseconds(options.checkpoint_interval_ms);
  return late || state.next_seq - checkpoint_seq >= options.checkpoint_documents ||
         journal.commit_bytes() > kJournalBytesMax;
}

// The columns are synced beside the stream: what this takes grows with what came since the last time.
void StateDir::Impl::start_checkpoint() {
  tidy(state.removed, state.keep_from);
  pending.emplace();
  pending->record = state;
  pending->start = Clock::now();
  pending->synced = std::async(std::launch::async, [this]() -> absl::Status {
    RETURN_IF_ERROR(bodies->file().sync());
    return hot.sync();
  });
}

absl::Status StateDir::Impl::finish_checkpoint() {
  Pending done = *std::exchange(pending, std::nullopt);
  RETURN_IF_ERROR(done.synced.get());
  if (options.sync_outputs) RETURN_IF_ERROR(options.sync_outputs());
  return begin_journal(std::move(done.record), done.since, done.start);
}

absl::Status StateDir::Impl::begin_journal(CommitRecord checkpoint, const std::vector<CommitRecord>& since,
                                           Clock::time_point start) {
  // One without anything new would only push an older one out.
  const bool news = checkpoint.commits != checkpoint_commits;
  const int kept = news ? std::max(1, options.snapshots) - 1 : static_cast<int>(kept_from.size());
  checkpoint.hot_crc = checkpoint.bodies_crc = 0;
  checkpoint.made_ms = now_ms();
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
  if (pending) RETURN_IF_ERROR(finish_checkpoint());
  const Clock::time_point start = Clock::now();
  if (durable()) {
    if (options.sync_outputs) RETURN_IF_ERROR(options.sync_outputs());
    RETURN_IF_ERROR(bodies->file().sync());
    RETURN_IF_ERROR(hot.sync());
  }
  tidy(state.removed, state.keep_from);
  return begin_journal(state, {}, start);
}

// The space of rows that no checkpoint which is kept can ask for again.
// Best effort: where it fails, files are only larger than they must be.
void StateDir::Impl::give_back() {
  const Seq lowest = *std::min_element(kept_from.begin(), kept_from.end());
  if (lowest <= punched) return;
  hot.punch(kFileHeaderBytes, format->offset(lowest));
  punched = lowest;
  if (lowest == state.next_seq) {
    bodies->give_back_below(state.bodies_end);
    return;
  }
  // Bodies stand in the order of rows; some of the next rows has one.
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

// ---- the interface

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

absl::Status StateDir::load_rows(const std::function<void(const StoredRow&)>& visit) {
  const Recovered& r = impl_->recovered;
  auto removed = impl_->state.removed.begin();
  const auto removed_end = impl_->state.removed.end();
  return impl_->format->scan(impl_->hot, r.first_row, r.next_seq, [&](StoredRow& stored) {
    while (removed != removed_end && *removed < stored.seq) ++removed;
    stored.removed = removed != removed_end && *removed == stored.seq;
    visit(stored);
  });
}

absl::Status StateDir::start_at(Seq seq) {
  Impl& i = *impl_;
  if (i.state.commits != 0) return absl::InternalError("start_at: something was committed already");
  RETURN_IF_ERROR(i.hot.cut(i.format->offset(seq)));  // a hole
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
  // The hole where rows were given back, or where numbering began late.
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

CheckpointStats StateDir::checkpoint_stats() const {
  CheckpointStats out = impl_->checkpoints;
  out.commits_since = impl_->state.commits - impl_->checkpoint_commits;
  return out;
}

absl::Status discard_state(const std::string& directory, std::string* note) {
  namespace fs = std::filesystem;
  // The mark goes last, so that a directory that was emptied by half is never opened.
  if (!exists(join(directory, kDamagedName))) mark_damaged(directory, "it is being set aside");
  const fs::path to = damaged_folder(directory);
  std::error_code error;
  fs::remove_all(to, error);
  fs::create_directories(to, error);
  if (error) return io_error(fmt::format("{}: cannot be made anew", to.string()), error.value());
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name == "hot" || name == "bodies" || name.starts_with(kJournalName)) files.push_back(entry.path());
  }
  if (error) return io_error(fmt::format("{}: cannot be listed", directory), error.value());
  uint64_t bytes = 0;
  files.push_back(join(directory, kDamagedName));
  for (const fs::path& file : files) {
    bytes += fs::file_size(file, error);
    fs::rename(file, to / file.filename(), error);
    if (error) {
      return io_error(fmt::format("{}: cannot be moved to {}", file.string(), to.string()), error.value());
    }
  }
  if (note != nullptr) {
    *note = fmt::format("{} files with {} bytes are in {} now; they can be deleted", files.size(), bytes,
                        to.string());
  }
  return absl::OkStatus();
}

void mark_damaged(const std::string& directory, const std::string& reason) {
  std::ofstream(join(directory, kDamagedName)) << reason << '\n';
}

}  // namespace doppel
