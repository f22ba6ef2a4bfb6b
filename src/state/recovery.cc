// Opens a state directory: a new one, or at the newest commit that all files support.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "state/columns.h"
#include "state/file.h"
#include "state/journal.h"
#include "state/state_dir_impl.h"

namespace doppel {
namespace {

constexpr uint64_t kBodiesEnd = uint64_t{1} << 40;

// The last commit that all files support. The columns must be as long as it says. What they gained since the
// checkpoint must have the checksums in the commits, because after a power loss anything behind a checkpoint
// may be torn. The outputs must be long enough, too.
struct Recovery {
  size_t entry = 0;                // index in JournalContents::entries
  std::vector<std::string> notes;  // why it is not the last one
};

// Says what is wrong with [from, to) of a column that a commit counted; empty if nothing is.
absl::StatusOr<std::string> fault_of(const File& file, uint64_t size, uint64_t from, uint64_t to,
                                     uint32_t crc) {
  if (size < to) return fmt::format("{} ends at offset {}, the commit needs {}", file.path(), size, to);
  ASSIGN_OR_RETURN(const uint32_t found, crc_of_range(file, from, to));
  if (found != crc) return fmt::format("{} is damaged between offsets {} and {}", file.path(), from, to);
  return std::string();
}

// Returns the first row of [from, to) whose checksum does not match (with `bodies`, also the checksum of its
// body), or `to`. `what` then says what is wrong with it.
absl::StatusOr<Seq> first_bad_row(const File& hot, const HotFormat& format, const BodiesFile* bodies,
                                  Seq from, Seq to, std::string& what) {
  ASSIGN_OR_RETURN(const uint64_t size, hot.size());
  const uint64_t rows = size < format.offset(0) ? 0 : (size - format.offset(0)) / format.row_bytes();
  Seq good = from;
  absl::Status body_status;
  std::string buffer;
  const absl::Status status = format.scan(hot, from, std::min<Seq>(to, rows), [&](StoredRow& stored) {
    if (!body_status.ok()) return;
    if (bodies != nullptr) body_status = bodies->read(stored.row.body, buffer).status();
    if (body_status.ok()) good = stored.seq + 1;
  });
  for (const absl::Status& s : {status, body_status}) {
    if (s.ok()) continue;
    if (!absl::IsDataLoss(s)) return s;
    what = std::string(s.message());
    return good;
  }
  return to;  // choose_commit() notices if the file is too short
}

// Rows from `limit` on are known to be bad. It is an error if not even the checkpoint is supported; the
// message names the file.
absl::StatusOr<Recovery> choose_commit(const JournalContents& journal, const std::string& journal_path,
                                       const File& hot, const HotFormat& format, const File& bodies,
                                       Seq limit, const std::function<bool(std::string_view)>& supports) {
  Recovery recovery;
  if (!journal.damage.empty()) {
    recovery.notes.push_back(
        fmt::format("{}: {}; continuing from the previous commit", journal_path, journal.damage));
  }
  ASSIGN_OR_RETURN(const uint64_t hot_size, hot.size());
  ASSIGN_OR_RETURN(const uint64_t bodies_size, bodies.size());
  const CommitRecord& checkpoint = journal.entries.front().record;
  const auto too_short = [&](const File& file, uint64_t size, uint64_t needed) -> absl::Status {
    if (size >= needed) return absl::OkStatus();
    return absl::DataLossError(
        fmt::format("{}: ends at offset {}, the checkpoint at offset {} of {} needs {}; restore the "
                    "directory from a copy, or "
                    "start a new one",
                    file.path(), size, kFileHeaderBytes, journal_path, needed));
  };
  RETURN_IF_ERROR(too_short(hot, hot_size, format.offset(checkpoint.next_seq)));
  RETURN_IF_ERROR(too_short(bodies, bodies_size, checkpoint.bodies_end));

  if (checkpoint.next_seq > limit) {
    return absl::DataLossError(
        fmt::format("{}: row {} or its body is damaged, the checkpoint of {} needs it; "
                    "restore the directory from a copy, or start a new one",
                    hot.path(), limit, journal_path));
  }

  size_t good = 0;
  for (; good + 1 < journal.entries.size(); ++good) {
    const CommitRecord& before = journal.entries[good].record;
    const CommitRecord& next = journal.entries[good + 1].record;
    if (next.next_seq > limit) {
      recovery.notes.push_back(fmt::format(
          "commit {} cannot be used: row {} or its body is damaged; continuing from the previous commit",
          next.commits, limit));
      break;
    }
    ASSIGN_OR_RETURN(std::string fault, fault_of(hot, hot_size, format.offset(before.next_seq),
                                                 format.offset(next.next_seq), next.hot_crc));
    if (fault.empty()) {
      ASSIGN_OR_RETURN(fault,
                       fault_of(bodies, bodies_size, before.bodies_end, next.bodies_end, next.bodies_crc));
    }
    if (!fault.empty()) {
      recovery.notes.push_back(fmt::format(
          "commit {} cannot be used: {}; continuing from the previous commit", next.commits, fault));
      break;
    }
  }

  recovery.entry = good;
  for (;; --recovery.entry) {
    const CommitRecord& commit = journal.entries[recovery.entry].record;
    if (commit.commits == 0 || !supports || supports(commit.sink_position)) break;
    if (recovery.entry == 0) {
      return absl::FailedPreconditionError(
          fmt::format("{}: the outputs are shorter than commit {} (the checkpoint at offset {}) says, and "
                      "there is none before it; "
                      "restore the outputs, or start with a new state directory and new outputs",
                      journal_path, commit.commits, kFileHeaderBytes));
    }
  }
  if (recovery.entry < good) {
    recovery.notes.push_back(fmt::format("the outputs do not reach commit {}; continuing from commit {}",
                                         journal.entries[good].record.commits,
                                         journal.entries[recovery.entry].record.commits));
  }
  return recovery;
}

}  // namespace

absl::Status StateDir::Impl::open(const Supports& supports) {
  const std::string& directory = options.directory;
  RETURN_IF_ERROR(make_directories(directory));
  ASSIGN_OR_RETURN(lock, lock_directory(directory));
  mark_if_broken.emplace(join(directory, kDamagedName));
  hot_path = join(directory, "hot");
  bodies_path = join(directory, "bodies");
  journal_path = join(directory, kJournalName);
  ::unlink(join(directory, kNewJournalName).c_str());  // an unfinished checkpoint
  identity = {options.data_scheme, options.rule, options.num_perm, options.mask_words};
  RETURN_IF_ERROR(journal_paths(directory).empty() ? create() : recover(supports));

  if (options.epoch && *options.epoch != epoch) {
    return absl::FailedPreconditionError(fmt::format("{}: holds index {}, not {}", directory,
                                                     epoch_string(epoch), epoch_string(*options.epoch)));
  }
  recovered.epoch = epoch_string(epoch);
  recovered.rule = identity.rule;
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
  // A start that was killed before its first checkpoint leaves at most headers. More than that is an index
  // that lost its journal, or not ours.
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
  // Rows depend on num_perm and mask_words, so these are compared like any other name.
  const auto shape = [](const Identity& i) {
    return fmt::format("{}\nnum_perm={}\nmask_words={}\n", i.data_scheme, i.num_perm, i.mask_words);
  };
  std::vector<std::string> differences = scheme_differences(shape(stored), shape(identity));
  for (std::string& difference : rule_differences(stored.rule, identity.rule, options.accepted)) {
    // The rule names the relations that the scheme only shows to be there.
    const std::string name = difference.substr(0, difference.find(':'));
    std::erase_if(differences, [&](const std::string& other) { return other.starts_with(name + ":"); });
    differences.push_back(std::move(difference));
  }
  return refuse(differences);
}

absl::Status StateDir::Impl::refuse(const std::vector<std::string>& differences) const {
  return doppel::refuse_differences(
      fmt::format("{}: this index was made with other settings; use those, or a new state directory",
                  options.directory),
      differences);
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

// Uses the newest journal that is intact and that the columns support.
// Continues a state directory at the newest commit that all files support. recover() below names the steps in
// order.
class StateDir::Impl::Restart {
 public:
  Restart(Impl& state, const Supports& supports) : s_(state), supports_(supports) {}

  absl::Status read_journals();
  bool none() const { return journals_.empty(); }
  absl::Status open_files();
  absl::Status find_damage();
  // Whether the files support a commit of this journal; it is then the one that the directory has.
  absl::StatusOr<bool> continue_from(size_t j);
  size_t journals() const { return journals_.size(); }
  absl::Status failure() const;

 private:
  void cannot_use(const absl::Status& why) {
    if (first_error_.ok()) first_error_ = why;
    notes_.emplace_back(why.message());
  }
  absl::StatusOr<bool> read_whole(size_t j);
  void take(size_t j, const Recovery& found);

  Impl& s_;
  const Supports& supports_;
  std::vector<JournalContents> journals_;  // the readable ones, the newest first
  std::vector<std::string> paths_;         // theirs
  std::vector<std::string> notes_;
  absl::Status first_error_;
  File bodies_;
  std::string mark_ = join(s_.options.directory, kDamagedName);
  std::string reason_;  // in the mark
  std::string damage_;  // found now
  Seq limit_ = 0;       // rows from here on are damaged
};

// The commits of older journals are read only if they are needed.
absl::Status StateDir::Impl::Restart::read_journals() {
  const std::vector<std::string> paths = journal_paths(s_.options.directory);
  if (paths.front() != s_.journal_path) notes_.push_back(fmt::format("{}: is missing", s_.journal_path));
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
    absl::StatusOr<JournalContents> contents = read_journal(file, !journals_.empty());
    if (contents.ok()) {
      journals_.push_back(*std::move(contents));
      paths_.push_back(path);
    } else if (absl::IsFailedPrecondition(contents.status())) {
      return contents.status();  // written by another version
    } else {
      cannot_use(contents.status());
    }
  }
  return absl::OkStatus();
}

absl::Status StateDir::Impl::Restart::open_files() {
  RETURN_IF_ERROR(s_.refuse_differences(journals_.front().identity));
  s_.epoch = journals_.front().epoch;
  s_.format.emplace(s_.options.num_perm, s_.options.mask_words, s_.epoch);
  RETURN_IF_ERROR(s_.open_columns(bodies_));
  ASSIGN_OR_RETURN(const FileHeader hot_header, read_header(s_.hot, FileKind::hot));
  RETURN_IF_ERROR(s_.check_header(hot_header, s_.hot));
  ASSIGN_OR_RETURN(const FileHeader bodies_header, read_header(bodies_, FileKind::bodies));
  return s_.check_header(bodies_header, bodies_);
}

// Verifies the rows between the oldest and the newest checkpoint, where an older journal can help. If damage
// was found earlier, verifies everything.
absl::Status StateDir::Impl::Restart::find_damage() {
  if (std::ifstream text(mark_); text) std::getline(text, reason_);
  const CommitRecord& newest = journals_.front().entries.back().record;
  limit_ = newest.next_seq;
  if (exists(mark_)) {
    const BodiesFile all(File::open(s_.bodies_path, O_RDONLY).value_or(File()), kBodiesEnd);
    ASSIGN_OR_RETURN(limit_,
                     first_bad_row(s_.hot, *s_.format, &all, newest.keep_from, newest.next_seq, damage_));
  } else if (journals_.size() > 1) {
    const Seq to = journals_.front().entries.front().record.next_seq;
    const Seq from = std::max(journals_.back().entries.front().record.next_seq, newest.lowest_live);
    ASSIGN_OR_RETURN(const Seq bad, first_bad_row(s_.hot, *s_.format, nullptr, from, to, damage_));
    if (bad < to) limit_ = bad;
  }
  if (!damage_.empty()) notes_.push_back(damage_);
  return absl::OkStatus();
}

// Reads the commits of an older journal. False: the journal is of another index.
absl::StatusOr<bool> StateDir::Impl::Restart::read_whole(size_t j) {
  ASSIGN_OR_RETURN(const File file, File::open(paths_[j], O_RDONLY));
  ASSIGN_OR_RETURN(journals_[j], read_journal(file));
  absl::Status fits = s_.refuse_differences(journals_[j].identity);
  if (fits.ok() && journals_[j].epoch != s_.epoch)
    fits = absl::DataLossError(fmt::format("{}: belongs to another index", paths_[j]));
  if (!fits.ok()) cannot_use(fits);
  return fits.ok();
}

absl::StatusOr<bool> StateDir::Impl::Restart::continue_from(size_t j) {
  if (j > 0) {
    ASSIGN_OR_RETURN(const bool fits, read_whole(j));
    if (!fits) return false;
  }
  const absl::StatusOr<Recovery> found =
      choose_commit(journals_[j], paths_[j], s_.hot, *s_.format, bodies_, limit_, supports_);
  if (!found.ok()) {
    cannot_use(found.status());
    return false;
  }
  const JournalEntry& chosen = journals_[j].entries[found->entry];
  if (paths_[j] != s_.journal_path)
    notes_.push_back(fmt::format("continuing from commit {} of {}", chosen.record.commits, paths_[j]));
  RETURN_IF_ERROR(promote_journal(s_.options.directory, paths_[j]));
  RETURN_IF_ERROR(s_.cut(journals_[j], chosen, bodies_));
  if (exists(mark_)) {
    notes_.push_back(fmt::format("{}; everything was verified: {}", reason_,
                                 damage_.empty() ? "no damage is left" : "what was damaged is cut off"));
    ::unlink(mark_.c_str());
  }
  take(j, *found);
  ASSIGN_OR_RETURN(File file, File::open(s_.journal_path, O_RDWR));
  s_.journal = JournalWriter(std::move(file), journals_[j].version, journals_[j].entries.front().end, chosen);
  return true;
}

// Sets the members of the state directory to the chosen commit.
void StateDir::Impl::Restart::take(size_t j, const Recovery& found) {
  JournalContents& contents = journals_[j];
  const CommitRecord& checkpoint = contents.entries.front().record;
  s_.identity.data_scheme = contents.identity.data_scheme;  // it may have lines that not every run knows
  s_.identity.rule = rule_in_force(contents.identity.rule, s_.options.rule, s_.options.accepted);
  s_.state = contents.entries[found.entry].record;
  s_.state.source_position = contents.source_position(found.entry);
  s_.state.removed.clear();
  for (size_t i = 0; i <= found.entry; ++i) {
    const CommitRecord& record = contents.entries[i].record;
    s_.state.removed.insert(s_.state.removed.end(), record.removed.begin(), record.removed.end());
    s_.apply_shown(record);
  }
  s_.state.shown.clear();
  s_.recovered.notes = std::move(notes_);
  s_.recovered.notes.insert(s_.recovered.notes.end(), found.notes.begin(), found.notes.end());
  s_.checkpoint_seq = checkpoint.next_seq;
  s_.checkpoint_commits = checkpoint.commits;
  s_.checkpoints.last_ms = checkpoint.made_ms;
  for (size_t k = j; k < journals_.size(); ++k)
    s_.kept_from.push_back(journals_[k].entries.front().record.keep_from);
  s_.bodies = std::make_unique<BodiesFile>(std::move(bodies_), s_.state.bodies_end);
}

absl::Status StateDir::Impl::Restart::failure() const {
  if (!reason_.empty() && absl::IsDataLoss(first_error_))
    return absl::DataLossError(fmt::format("{}: {}", reason_, std_sv(first_error_.message())));
  return first_error_;
}

absl::Status StateDir::Impl::recover(const Supports& supports) {
  Restart restart(*this, supports);
  RETURN_IF_ERROR(restart.read_journals());
  if (restart.none()) return restart.failure();
  RETURN_IF_ERROR(restart.open_files());
  RETURN_IF_ERROR(restart.find_damage());
  for (size_t j = 0; j < restart.journals(); ++j) {
    ASSIGN_OR_RETURN(const bool done, restart.continue_from(j));
    if (done) return absl::OkStatus();
  }
  return restart.failure();
}

// Cuts the journal first. If the columns came first and the machine lost power in between, records of the
// journal would count data that is gone. Recovery would notice, but need not be relied on.
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

}  // namespace doppel
