#include "files/warc/warc_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

#include "base/status.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

constexpr size_t kPiece = 1 << 20;

class SpilledBytes final : public PieceReader {
 public:
  SpilledBytes(std::unique_ptr<Spill> spill, uint64_t bytes) : spill_(std::move(spill)), bytes_(bytes) {}

  absl::StatusOr<std::string_view> next() override {
    piece_.resize(std::min<uint64_t>(kPiece, bytes_ - at_));
    if (piece_.empty()) return std::string_view();
    ssize_t got = 0;
    do got = ::pread(spill_->fd(), piece_.data(), piece_.size(), static_cast<off_t>(at_));
    while (got < 0 && errno == EINTR);
    if (got < 0) return io_error("a temporary file cannot be read");
    if (got == 0) return absl::DataLossError("a temporary file has become shorter");
    at_ += static_cast<uint64_t>(got);
    return std::string_view(piece_).substr(0, static_cast<size_t>(got));
  }

 private:
  std::unique_ptr<Spill> spill_;
  uint64_t bytes_, at_ = 0;
  std::string piece_;
};

}  // namespace

LargeRecord::LargeRecord(const WarcRecord& record, const std::string& directory) {
  const std::optional<size_t> begin = payload_begin(record);
  if (begin && sha1_of_header(record.payload_digest).empty()) {
    payload_.emplace();
    payload_->update(record.block.substr(*begin));
  }
  if (directory.empty()) return;
  absl::StatusOr<Spill> spill = Spill::open(directory);
  if (spill.ok()) {
    spill_ = std::make_unique<Spill>(*std::move(spill));
  } else {
    missing_ = std_sv(spill.status().message());
  }
}

void LargeRecord::add(std::string_view bytes) {
  if (payload_) payload_->update(bytes);
  if (spill_ == nullptr) return;
  bytes_ += bytes.size();
  const absl::StatusOr<uint64_t> place = spill_->append(bytes);
  if (place.ok()) return;
  missing_ = std_sv(place.status().message());
  spill_.reset();
}

std::shared_ptr<const RecordRest> LargeRecord::finish(bool whole) {
  auto rest = std::make_shared<RecordRest>();
  if (payload_ && whole) rest->payload_digest = payload_digest(*payload_);
  if (!whole) missing_ = "its end cannot be read";
  if (spill_ != nullptr && whole) {
    rest->bytes = std::make_shared<SpilledBytes>(std::move(spill_), bytes_);
  } else {
    rest->missing = missing_;
  }
  return rest;
}

namespace {

constexpr size_t kRead = 64 << 10;
constexpr size_t kBeginning = 64 << 10;  // of a record that is too large; enough for all heads
constexpr std::string_view kBegins = "WARC/", kEnds = "\r\n\r\n";

std::unique_ptr<ByteStream> stream_of(const InputFile& file, Fd fd, ByteCounter counter) {
  std::unique_ptr<ByteStream> stream =
      make_byte_stream(std::move(fd), file.packing, std::move(counter), file.head, file.part);
  return file.kind == InputKind::arc ? arc_as_warc(std::move(stream), file.packing,
                                                   file.pipe            ? 0
                                                   : file.part.is_all() ? file.size
                                                                        : file.part.size)
                                     : std::move(stream);
}

}  // namespace

WarcReader::WarcReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                       ByteCounter counter, LineMark mark)
    : options_(options),
      filling_(filling),
      file_(file),
      fd_(fd.get()),
      arriving_(fd.arriving()),
      stream_(stream_of(file, std::move(fd), std::move(counter))),
      mark_(std::move(mark)) {
  mark_.path = file.shown();
  mark_.disk_length = 0;
  mark_.tail = 0;
}

RecordReader::State WarcReader::take(Batch& batch) {
  bool more = started_ || start(batch);
  while (more) {
    if (batch.records.size() >= options_.batch_records || batch.problems.size() >= options_.batch_records)
      return State::full;
    skip_empty_lines();
    if (!open().empty()) {
      if (!record(batch) && !damaged_) return State::full;
    } else if (lost_) {
      too_short({});
    } else {
      break;
    }
    if (damaged_ && !go_on(batch)) break;
  }
  mark_.disk_length = std::max<uint64_t>(stream_->disk_bytes(), damaged_ ? file_.size : 1);
  return State::ended;
}

// Returns false if the place that an earlier run reached does not exist any more.
bool WarcReader::start(Batch& batch) {
  started_ = true;
  begin_ = filling_.make_room(filling_.end(), 1);
  while (end_ < mark_.offset) {
    const uint64_t before = end_;
    read_more(1);
    if (end_ == before && lost_ && next_member()) continue;  // an earlier run has reported the damage
    if (end_ == before) {
      too_short("the data ends before the place that was reached earlier");
      go_on(batch);
      return false;
    }
    // Drops the bytes before that place.
    const uint64_t unwanted = std::min(end_, mark_.offset) - at_;
    begin_ += unwanted;
    at_ += unwanted;
  }
  return true;
}

void WarcReader::read_more(size_t wanted) {
  begin_ = filling_.make_room(begin_, std::max({wanted, std::min(kRead, filling_.usual() / 4), size_t{1}}));
  absl::StatusOr<size_t> got = stream_->read(filling_.data() + filling_.end(), filling_.room());
  if (!got.ok()) {
    lost_cause_ = std_sv(got.status().message());
    lost_ = ended_ = true;
    return;
  }
  if (*got == 0) {
    ended_ = true;
    return;
  }
  if (std::optional<uint64_t> stored = stream_->stored_at(); stored && !file_.as_stored())
    members_.push_back({end_, *stored});
  filling_.appended(*got);
  end_ += *got;
}

// Whether `bytes` bytes are available from begin_ on. Reads more if necessary.
bool WarcReader::have(size_t bytes) {
  while (filling_.end() - begin_ < bytes && !ended_) {
    read_more(bytes - (filling_.end() - begin_));
  }
  return filling_.end() - begin_ >= bytes;
}

void WarcReader::forward(size_t bytes) {
  begin_ += bytes;
  at_ += bytes;
}

void WarcReader::skip_empty_lines() {
  while (have(1) && (open().front() == '\r' || open().front() == '\n')) forward(1);
}

void WarcReader::damage(uint64_t offset, std::string cause) {
  damaged_ = true;
  damaged_at_ = offset;
  cause_ = std::move(cause);
  damaged_in_ = member_;
  for (const Stored& member : members_) {
    if (member.at <= offset) damaged_in_ = member;
  }
}

void WarcReader::drop_members() {
  for (; !members_.empty() && members_.front().at < at_; members_.pop_front()) member_ = members_.front();
}

// Notes that the record needs more bytes than there are.
void WarcReader::too_short(std::string cause) {
  if (lost_) {
    damage(end_, lost_cause_);
  } else {
    damage(at_, std::move(cause));
  }
}

// Notes that the length of the record is wrong, because another one begins after `bytes` bytes. Returns
// false.
bool WarcReader::ends_early(size_t bytes) {
  damage(at_,
         fmt::format("the record that begins here is damaged: another one begins after {} bytes", bytes));
  forward(bytes);
  at_next_ = true;
  return false;
}

// Continues behind the damage, and reports it. Returns false if no record follows.
bool WarcReader::go_on(Batch& batch) {
  const uint64_t at = damaged_at_, from = at_;
  const std::optional<Stored> in = damaged_in_;
  std::string told = std::exchange(cause_, {});
  bool on = std::exchange(at_next_, false);
  if (!on && !std::exchange(ends_, false)) {
    on = next_head();
    if (on) told += fmt::format("; {} bytes are skipped", at_ - from);
  }
  if (!on && lost_) {
    on = next_member();
    if (on)
      told += fmt::format("; {} bytes{} are skipped", skipped_,
                          file_.kind == InputKind::arc ? "" : " of the file");
  }
  damaged_ = !on;
  Problem problem = make_problem(file_.shown(), 0, at, told);
  // People look for the place in the file as it is stored.
  if (in && file_.packing == Packing::none) {  // ARC, whose records are read as those of WARC
    problem.message = fmt::format("{}: in the record at byte {}: {}", file_.shown(), in->stored, told);
  } else if (in) {
    problem.message =
        fmt::format("{}: byte {} unpacked, in the {} at byte {}: {}", file_.shown(), at,
                    file_.packing == Packing::zst ? "zstd frame" : "gzip member", in->stored, told);
  }
  batch.problems.push_back(std::move(problem));
  return on;
}

// Where between these offsets another record begins: at a member of a compressed file, or with `lines` at a
// line.
std::optional<size_t> WarcReader::another(size_t first, size_t last, bool lines) {
  const auto begins = [&](size_t at) {
    have(at + kBegins.size());
    return begins_warc(open().substr(std::min(at, open().size())));
  };
  std::optional<size_t> found;
  for (const Stored& member : members_) {
    if (member.at < at_ + first) continue;
    if (member.at >= at_ + last) break;
    if (!begins(member.at - at_)) continue;
    found = member.at - at_;
    break;
  }
  if (!lines) return found;
  last = std::min(found.value_or(last), open().size());
  for (size_t line = first - 1; line < last;) {
    line = open().substr(0, last).find('\n', line);
    if (line == std::string_view::npos) break;
    ++line;
    if (line < last && begins(line)) return line;
  }
  return found;
}

// Whether the bytes from `bytes` on can follow the end of a record.
bool WarcReader::ends_well(size_t bytes) {
  if (open().substr(bytes, kEnds.size()) == kEnds) return true;
  for (size_t at = bytes; have(at + 1); ++at) {
    if (open()[at] == '\r' || open()[at] == '\n') continue;
    have(at + kBegins.size());
    return begins_warc(open().substr(at));
  }
  return true;
}

// Like ends_well(), for a record in an uncompressed file that is not read as a whole.
bool WarcReader::ends_well_far(uint64_t bytes) const {
  char end[1 + kBegins.size()];  // from the last byte of the record on
  const uint64_t at = at_ + bytes - 1;
  const uint64_t most = file_.part.is_all() ? sizeof end : file_.part.size - std::min(file_.part.size, at);
  if (arriving_ != nullptr && !arriving_->await(file_.part.begin + at + sizeof end).ok()) return true;
  const ssize_t got =
      ::pread(fd_, end, std::min<uint64_t>(sizeof end, most), static_cast<off_t>(file_.part.begin + at));
  if (got < 0 || got == 1) return true;
  const std::string_view behind(end + 1, static_cast<size_t>(std::max<ssize_t>(got, 1)) - 1);
  return behind.starts_with('\r') || behind.starts_with('\n') || begins_warc(behind);
}

// Moves to the next member or line that begins a record. The empty lines between two records may be
// damaged, too.
bool WarcReader::next_head() {
  for (size_t at = 1; at <= kEnds.size() && have(at + kBegins.size()); ++at) {
    if (!begins_warc(open().substr(at))) continue;
    forward(at);
    return true;
  }
  while (true) {
    const size_t here = open().size();
    if (const std::optional<size_t> found = another(1, here, true)) {
      forward(*found);
      return true;
    }
    if (here > 1) forward(here - 1);
    if (!have(2)) return false;
  }
}

bool WarcReader::next_member() {
  const std::optional<uint64_t> skipped = stream_->resume(begins_warc);
  if (!skipped) return false;
  skipped_ = *skipped;
  damaged_ = ended_ = lost_ = false;
  // The rest of the damaged member is not a record.
  begin_ = filling_.end();
  at_ = end_;
  members_.clear();
  member_.reset();
  return true;
}

// Takes one record. Returns false if the batch is full or the file is damaged.
bool WarcReader::record(Batch& batch) {
  drop_members();
  while (!has_warc_head(open()) && open().size() < kMaxWarcHead && have(open().size() + 1)) {
  }
  absl::StatusOr<WarcRecord> head = parse_warc_record(open());
  if (!head.ok()) {
    if (ended_ && begins_warc(open()) && !has_warc_head(open())) {
      too_short(fmt::format("the file ends after {} bytes of a record's head", open().size()));
    } else {
      damage(at_, std::string(std_sv(head.status().message())));
    }
    return false;
  }
  // The end of the head is damaged, and the end that was found belongs to a later head.
  if (const std::optional<size_t> next = another(1, head->head_bytes, true)) return ends_early(*next);
  const uint64_t whole = head->head_bytes + head->content_length;
  const bool large = head->content_length > options_.max_whole_bytes;
  const size_t wanted = large ? head->head_bytes + kBeginning : whole;
  if (!batch.records.empty() && batch.bytes + wanted > options_.batch_bytes) return false;
  have(wanted + kEnds.size());
  const bool there = open().size() >= wanted;
  if (const std::optional<size_t> next = another(1, wanted, false);
      next && (large || !there || !ends_well(wanted)))
    return ends_early(*next);
  if (file_.as_stored()) {
    const bool ends = large ? ends_well_far(whole) : there && ends_well(wanted);
    const std::optional<size_t> next = ends ? std::nullopt : another(1, wanted, true);
    if (next) return ends_early(*next);
    if (!ends && large) {
      damage(at_,
             fmt::format("the record that begins here is damaged or cut off: nothing follows its {} bytes",
                         whole));
      return false;
    }
  }
  if (!there) {
    too_short(fmt::format("the file ends within the record that begins here: it has {} bytes, {} are there",
                          whole, open().size()));
    ends_ = true;
    return false;
  }
  Record& record = batch.records.emplace_back();
  record.value = open().substr(0, wanted);
  record.source = file_.source();
  record.offset = at_;
  record.warc = true;
  if (file_.as_stored()) {
    record.warc_offset = at_;
  } else if (!members_.empty() && members_.front().at == at_) {
    record.warc_offset = members_.front().stored;
  }
  batch.bytes += wanted;
  filling_.used_by(batch);
  bool whole_there = true;
  if (large) {
    head = parse_warc_record(record.value);
    LargeRecord rest(*head, options_.rest_directory);
    forward(wanted);
    whole_there = the_rest(whole - wanted, rest);
    record.rest = rest.finish(whole_there);
  } else {
    forward(wanted);
  }
  mark_.offset = at_;
  mark_.lines += 1;
  return whole_there;
}

// Passes the rest of a large record on. Returns false if the file is damaged.
bool WarcReader::the_rest(uint64_t left, LargeRecord& rest) {
  while (left > 0) {
    if (!have(1)) {
      too_short(fmt::format("the file ends {} bytes before the end of a record", left));
      ends_ = true;
      return false;
    }
    drop_members();
    if (!members_.empty() && members_.front().at == at_ && have(kBegins.size()) && begins_warc(open()))
      return ends_early(0);
    uint64_t step = std::min<uint64_t>(left, open().size());
    for (const Stored& member : members_) {
      if (member.at <= at_) continue;
      step = std::min(step, member.at - at_);
      break;
    }
    rest.add(open().substr(0, step));
    forward(step);
    left -= step;
  }
  return true;
}

}  // namespace doppel
