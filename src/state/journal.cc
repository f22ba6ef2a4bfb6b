#include "state/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/checksums.h"
#include "base/faults.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kTail = 4;
constexpr size_t kBlock = 4096;  // bytes per comparison

size_t body_size(uint64_t size) { return size - std::min<uint64_t>(size, kTail); }

size_t common_front(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t at = 0;
  while (most - at >= kBlock && std::memcmp(a.data() + at, b.data() + at, kBlock) == 0) at += kBlock;
  while (at < most && a[at] == b[at]) ++at;
  return at;
}

size_t common_back(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t n = 0;
  while (n < most && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}

}  // namespace

PositionDelta delta_of(std::string_view before, std::string_view after) {
  const std::string_view old = before.substr(0, body_size(before.size()));
  const std::string_view now = after.substr(0, body_size(after.size()));
  PositionDelta delta;
  delta.front = common_front(old, now);
  delta.back = common_back(old.substr(delta.front), now.substr(delta.front));
  delta.middle = now.substr(delta.front, now.size() - delta.front - delta.back);
  delta.tail = after.substr(now.size());
  return delta;
}

void put_delta(std::string& out, const PositionDelta& delta) {
  put_varint(out, delta.front);
  put_string(out, delta.middle);
  put_varint(out, delta.back);
  put_string(out, delta.tail);
}

PositionDelta take_delta(ByteReader& in) {
  PositionDelta delta;
  delta.front = in.varint();
  delta.middle = in.string();
  delta.back = in.varint();
  delta.tail = in.string();
  return delta;
}

bool fits(const PositionDelta& delta, uint64_t& length) {
  const uint64_t body = body_size(length);
  if (delta.front > body || delta.back > body - delta.front || delta.tail.size() > kTail) return false;
  length = delta.front + delta.middle.size() + delta.back + delta.tail.size();
  return true;
}

void apply(const PositionDelta& delta, std::string& position) {
  const size_t body = body_size(position.size());
  DOPPEL_CHECK(delta.front + delta.back <= body, "a delta fits its position", delta.front, delta.back, body);
  position.resize(body);
  position.replace(delta.front, body - delta.back - delta.front, delta.middle);
  position.append(delta.tail);
}

namespace {

constexpr size_t kFrameBytes = 8;
enum RecordType : uint8_t { kCheckpoint = 1, kWholeCommit = 2, kCommit = 3 };

// `identity` is set for a checkpoint, `position` for a commit.
std::string encode(const CommitRecord& record, const Identity* identity, const PositionDelta* position) {
  std::string out;
  out.push_back(static_cast<char>(identity != nullptr ? kCheckpoint : kCommit));
  put_varint(out, record.commits);
  put_varint(out, record.next_seq);
  put_varint(out, record.bodies_end);
  put_fixed(out, record.hot_crc);
  put_fixed(out, record.bodies_crc);
  put_varint(out, record.lowest_live);
  put_varint(out, record.keep_from);
  put_varint(out, record.documents);
  put_fixed(out, record.made_ms);
  if (position != nullptr) {
    put_delta(out, *position);
  } else {
    put_string(out, record.source_position);
  }
  put_string(out, record.sink_position);
  put_string(out, record.clock);
  put_varint(out, record.removed.size());
  Seq before = 0;
  for (const Seq seq : record.removed) {
    DOPPEL_CHECK(seq >= before, "removed numbers ascend in a commit record", seq, before);
    put_varint(out, seq - before);
    before = seq;
  }
  put_varint(out, record.shown.size());
  before = 0;
  for (const Shown& shown : record.shown) {
    DOPPEL_CHECK(shown.seq >= before, "clusters ascend in a commit record", shown.seq, before);
    put_varint(out, shown.seq - before);
    put_string(out, shown.copy);
    before = shown.seq;
  }
  if (identity != nullptr) {
    put_string(out, identity->data_scheme);
    put_string(out, identity->rule);
    put_varint(out, static_cast<uint64_t>(identity->num_perm));
    put_varint(out, static_cast<uint64_t>(identity->mask_words));
  }
  return out;
}

bool decode_shown_list(ByteReader& reader, std::vector<Shown>& out) {
  const uint64_t count = reader.varint();
  if (count > reader.rest().size()) return false;  // each takes at least two bytes
  out.reserve(count);
  Seq before = 0;
  for (uint64_t i = 0; i < count; ++i) {
    before += reader.varint();
    out.push_back({before, std::string(reader.string())});
  }
  return true;
}

bool decode(std::string_view payload, uint32_t version, JournalEntry& entry, Identity* identity) {
  CommitRecord& record = entry.record;
  ByteReader reader(payload);
  const auto type = reader.fixed<uint8_t>();
  if (identity != nullptr ? type != kCheckpoint : type != kCommit && type != kWholeCommit) return false;
  record.commits = reader.varint();
  record.next_seq = reader.varint();
  record.bodies_end = reader.varint();
  record.hot_crc = reader.fixed<uint32_t>();
  record.bodies_crc = reader.fixed<uint32_t>();
  record.lowest_live = reader.varint();
  record.keep_from = reader.varint();
  record.documents = reader.varint();
  record.made_ms = reader.fixed<int64_t>();
  if (type == kCommit) {
    entry.position = take_delta(reader);
  } else {
    record.source_position = reader.string();
  }
  record.sink_position = reader.string();
  record.clock = reader.string();
  const uint64_t removed = reader.varint();
  if (removed > reader.rest().size()) return false;  // each takes at least one byte
  record.removed.reserve(removed);
  Seq before = 0;
  for (uint64_t i = 0; i < removed; ++i) {
    before += reader.varint();
    record.removed.push_back(before);
  }
  if (version >= 4 && !decode_shown_list(reader, record.shown)) return false;
  if (identity != nullptr) {
    identity->data_scheme = reader.string();
    identity->rule = reader.string();
    identity->num_perm = static_cast<int>(reader.varint());
    identity->mask_words = static_cast<int>(reader.varint());
  }
  return reader.done();
}

std::string framed(std::string_view payload, uint32_t& crc) {
  std::string out;
  put_fixed(out, static_cast<uint32_t>(payload.size()));
  crc = crc32c(payload, crc32c(out, crc));
  put_fixed(out, crc);
  out.append(payload);
  return out;
}

}  // namespace

bool follows(const CommitRecord& before, const CommitRecord& next) {
  return next.commits == before.commits + 1 && next.next_seq >= before.next_seq &&
         next.bodies_end >= before.bodies_end && next.lowest_live >= before.lowest_live &&
         next.keep_from >= before.keep_from && next.keep_from <= next.lowest_live &&
         next.lowest_live <= next.next_seq;
}

namespace {

// `length` is the length of the source position before this entry; sets it to the length after this entry.
bool position_fits(const JournalEntry& entry, uint64_t& length) {
  if (entry.position) return fits(*entry.position, length);
  length = entry.record.source_position.size();
  return true;
}

}  // namespace

absl::StatusOr<JournalContents> read_journal(const File& file, bool checkpoint_only) {
  ASSIGN_OR_RETURN(const FileHeader header, read_header(file, FileKind::journal));
  JournalContents contents;
  contents.epoch = header.epoch;
  contents.version = header.version;
  ASSIGN_OR_RETURN(contents.file_bytes, file.size());
  std::string bytes(contents.file_bytes, '\0');
  RETURN_IF_ERROR(file.read_at(0, bytes.data(), bytes.size()));

  uint64_t offset = kFileHeaderBytes;
  uint32_t crc = 0;
  uint64_t position_bytes = 0;
  while (offset < bytes.size()) {
    const std::string_view rest = std::string_view(bytes).substr(offset);
    const uint64_t length = rest.size() < kFrameBytes ? 0 : load<uint32_t>(rest.data());
    if (rest.size() < kFrameBytes || rest.size() - kFrameBytes < length) {
      contents.damage = fmt::format("the record at offset {} is not complete", offset);
      break;
    }
    const std::string_view payload = rest.substr(kFrameBytes, length);
    crc = crc32c(payload, crc32c(rest.substr(0, 4), crc));
    JournalEntry entry{.record = {}, .end = offset + kFrameBytes + length, .crc = crc};
    const bool first = contents.entries.empty();
    if (crc != load<uint32_t>(rest.data() + 4) ||
        !decode(payload, header.version, entry, first ? &contents.identity : nullptr) ||
        !position_fits(entry, position_bytes) ||
        (!first && !follows(contents.entries.back().record, entry.record))) {
      contents.damage = fmt::format("the record at offset {} is damaged ({} of {} bytes are behind it)",
                                    offset, bytes.size() - entry.end, bytes.size());
      break;
    }
    offset = entry.end;
    contents.entries.push_back(std::move(entry));
    if (checkpoint_only) break;
  }
  if (contents.entries.empty()) {
    return absl::DataLossError(fmt::format(
        "{}: the checkpoint at offset {} is damaged: {}; restore the directory from a copy, or start a new "
        "one",
        file.path(), kFileHeaderBytes, contents.damage.empty() ? "the file ends there" : contents.damage));
  }
  return contents;
}

std::string JournalContents::source_position(size_t entry) const {
  size_t whole = entry;
  while (entries[whole].position) --whole;
  std::string out = entries[whole].record.source_position;
  for (size_t i = whole + 1; i <= entry; ++i) apply(*entries[i].position, out);
  return out;
}

std::string encode_commit(const CommitRecord& commit, std::string_view position_before) {
  const PositionDelta position = delta_of(position_before, commit.source_position);
  return encode(commit, nullptr, &position);
}

JournalWriter::JournalWriter(File file, uint32_t version, uint64_t start, const JournalEntry& last)
    : file_(std::move(file)), version_(version), start_(start), end_(last.end), crc_(last.crc) {}

namespace {

constexpr int kJournalsMax = 100;

std::string numbered(const std::string& directory, int number) {
  const std::string path = join(directory, kJournalName);
  return number == 0 ? path : fmt::format("{}.{}", path, number);
}

// The numbers of the journals that exist, ascending; 0 is "journal".
std::vector<int> journal_numbers(const std::string& directory) {
  std::vector<int> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kJournalName)) continue;
    int number = 0;
    if (name.size() > kJournalName.size() && !absl::SimpleAtoi(name.substr(kJournalName.size() + 1), &number))
      continue;
    if (number <= kJournalsMax && join(directory, name) == numbered(directory, number)) out.push_back(number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

absl::Status move_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return io_error(fmt::format("{}: cannot be renamed to {}", from, to));
}

// Renames each journal to the next number, unless `kept` is negative. "journal" also keeps its name, so
// that there is always one.
absl::Status shift_journals(const std::string& directory, int kept) {
  if (kept < 0) return absl::OkStatus();
  const std::vector<int> numbers = journal_numbers(directory);
  for (auto n = numbers.rbegin(); n != numbers.rend() && *n > 0; ++n) {
    const std::string path = numbered(directory, *n);
    if (*n >= kept) {
      ::unlink(path.c_str());
    } else {
      RETURN_IF_ERROR(move_file(path, numbered(directory, *n + 1)));
    }
  }
  const std::string newest = numbered(directory, 0);
  const std::string before = numbered(directory, 1);
  if (kept <= 0 || !exists(newest)) return absl::OkStatus();
  ::unlink(before.c_str());
  if (::link(newest.c_str(), before.c_str()) == 0) return absl::OkStatus();
  return move_file(newest, before);  // no hard links here: a start finds the other journal
}

}  // namespace

std::vector<std::string> journal_paths(const std::string& directory) {
  std::vector<std::string> paths;
  for (const int n : journal_numbers(directory)) paths.push_back(numbered(directory, n));
  return paths;
}

std::optional<LastCommit> last_commit(const std::string& directory) {
  const std::vector<std::string> journals = journal_paths(directory);
  if (journals.empty()) return std::nullopt;
  const absl::StatusOr<File> file = File::open(journals.front(), O_RDONLY);
  if (!file.ok()) return std::nullopt;
  absl::StatusOr<JournalContents> journal = read_journal(*file);
  if (!journal.ok() || journal->entries.empty()) return std::nullopt;
  std::string position = journal->source_position(journal->entries.size() - 1);
  LastCommit out{.epoch = journal->epoch,
                 .rule = journal->identity.rule,
                 .record = std::move(journal->entries.back().record)};
  out.record.source_position = std::move(position);
  return out;
}

std::string damaged_folder(const std::string& directory) { return join(directory, "damaged"); }

absl::Status promote_journal(const std::string& directory, const std::string& path) {
  const std::vector<std::string> paths = journal_paths(directory);
  size_t at = 0;
  while (at < paths.size() && paths[at] != path) ++at;
  if (at == 0 && path == numbered(directory, 0)) return absl::OkStatus();
  RETURN_IF_ERROR(make_directories(damaged_folder(directory)));
  for (size_t i = 0; i < at; ++i) {
    RETURN_IF_ERROR(
        move_file(paths[i], join(damaged_folder(directory), paths[i].substr(paths[i].rfind('/') + 1))));
  }
  for (size_t i = at; i < paths.size(); ++i)
    RETURN_IF_ERROR(move_file(paths[i], numbered(directory, static_cast<int>(i - at))));
  return absl::OkStatus();
}

absl::StatusOr<JournalWriter> JournalWriter::begin(const std::string& directory, const Epoch& epoch,
                                                   const Identity& identity, const CommitRecord& checkpoint,
                                                   const std::vector<std::string>& since, int kept,
                                                   bool durable) {
  kill_point("before_checkpoint");
  ASSIGN_OR_RETURN(File file, File::open(join(directory, kNewJournalName), O_RDWR | O_CREAT | O_TRUNC));
  JournalEntry entry;
  std::string bytes = encode_header({.kind = FileKind::journal, .epoch = epoch}) +
                      framed(encode(checkpoint, &identity, nullptr), entry.crc);
  const uint64_t start = bytes.size();
  CommitRecord before = checkpoint;
  uint64_t position_bytes = checkpoint.source_position.size();
  for (const std::string& commit : since) {
    JournalEntry next;
    DOPPEL_CHECK(decode(commit, kJournalVersion, next, nullptr) && position_fits(next, position_bytes) &&
                     follows(before, next.record),
                 "the commits of a new journal follow each other", before.commits, next.record.commits,
                 before.next_seq, next.record.next_seq);
    bytes += framed(commit, entry.crc);
    before = std::move(next.record);
  }
  entry.end = bytes.size();
  RETURN_IF_ERROR(file.write_at(0, bytes));
  if (durable) RETURN_IF_ERROR(file.sync());
  kill_point("checkpoint_written");
  RETURN_IF_ERROR(shift_journals(directory, kept));
  kill_point("before_journal_rename");
  RETURN_IF_ERROR(file.rename_to(numbered(directory, 0)));
  kill_point("after_journal_rename");
  if (durable) RETURN_IF_ERROR(sync_directory(directory));
  kill_point("checkpoint_renamed");
  return JournalWriter(std::move(file), kJournalVersion, start, entry);
}

absl::Status JournalWriter::append(std::string_view commit) {
  DOPPEL_CHECK(end_ >= start_ && start_ > kFileHeaderBytes, "commits are behind the checkpoint", start_,
               end_);
  DOPPEL_CHECK(takes_commits(), "a journal of an older version takes no commits of this one", version_);
  uint32_t crc = crc_;
  const std::string bytes = framed(commit, crc);
  RETURN_IF_ERROR(file_.write_at(end_, bytes));
  end_ += bytes.size();
  crc_ = crc;
  return absl::OkStatus();
}

}  // namespace doppel
