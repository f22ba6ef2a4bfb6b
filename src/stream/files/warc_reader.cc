#include "stream/files/warc_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "formats/warc.h"

namespace doppel {
namespace {

constexpr size_t kRead = 64 << 10;
constexpr size_t kBeginning = 64 << 10;  // of a record that is too large: enough for every head

}  // namespace

WarcReader::WarcReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                       ByteCounter counter, LineMark mark)
    : options_(options),
      filling_(filling),
      file_(file),
      fd_(fd.get()),
      stream_(make_byte_stream(std::move(fd), file.packing, std::move(counter), file.head, file.part)),
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
    skip_empty_lines(batch);
    if (damaged_ || open().empty()) break;
    if (!record(batch)) {
      if (damaged_) break;
      return State::full;
    }
  }
  mark_.disk_length = std::max<uint64_t>(stream_->disk_bytes(), damaged_ ? file_.size : 1);
  return State::ended;
}

// False: the place that was reached earlier is not there any more.
bool WarcReader::start(Batch& batch) {
  started_ = true;
  begin_ = filling_.make_room(filling_.end(), 1);
  while (end_ < mark_.offset) {
    const uint64_t before = end_;
    read_more(batch, 1);
    if (end_ == before) {
      if (!damaged_) damage(batch, end_, "the data ends before the place that was reached earlier");
      return false;
    }
    // Nothing of this is wanted but what is behind the place.
    const uint64_t unwanted = std::min(end_, mark_.offset) - at_;
    begin_ += unwanted;
    at_ += unwanted;
  }
  return true;
}

void WarcReader::read_more(Batch& batch, size_t wanted) {
  begin_ = filling_.make_room(begin_, std::max({wanted, std::min(kRead, filling_.usual() / 4), size_t{1}}));
  absl::StatusOr<size_t> got = stream_->read(filling_.data() + filling_.end(), filling_.room());
  if (!got.ok()) {
    damage(batch, end_, std::string(std_sv(got.status().message())));
    return;
  }
  if (*got == 0) {
    ended_ = true;
    return;
  }
  if (std::optional<uint64_t> stored = stream_->stored_at(); stored && file_.packing != Packing::none)
    members_.push_back({end_, *stored});
  filling_.appended(*got);
  end_ += *got;
}

// Whether that many bytes are there, from begin_ on; reads them if need be.
bool WarcReader::have(size_t bytes, Batch& batch) {
  while (filling_.end() - begin_ < bytes && !ended_ && !damaged_) {
    read_more(batch, bytes - (filling_.end() - begin_));
  }
  return filling_.end() - begin_ >= bytes;
}

void WarcReader::forward(size_t bytes) {
  begin_ += bytes;
  at_ += bytes;
}

void WarcReader::skip_empty_lines(Batch& batch) {
  while (have(1, batch) && (open().front() == '\r' || open().front() == '\n')) forward(1);
}

void WarcReader::damage(Batch& batch, uint64_t offset, const std::string& cause) {
  damaged_ = ended_ = true;
  batch.problems.push_back(make_problem(file_.shown(), 0, offset, cause));
}

// False: the batch is full without it, or the file is damaged.
bool WarcReader::record(Batch& batch) {
  while (!has_warc_head(open()) && open().size() < kMaxWarcHead && have(open().size() + 1, batch)) {
  }
  if (damaged_) return false;
  absl::StatusOr<WarcRecord> head = parse_warc_record(open());
  if (!head.ok()) {
    damage(batch, at_,
           ended_ && open().starts_with("WARC/") && !has_warc_head(open())
               ? fmt::format("the file ends after {} bytes of a record's head", open().size())
               : std::string(std_sv(head.status().message())));
    return false;
  }
  const uint64_t whole = head->head_bytes + head->content_length;
  const bool large = head->content_length > options_.max_whole_bytes;
  const size_t wanted = large ? head->head_bytes + kBeginning : whole;
  if (!batch.records.empty() && batch.bytes + wanted > options_.batch_bytes) return false;
  if (!have(wanted, batch)) {
    if (!damaged_) {
      damage(batch, at_,
             fmt::format("the file ends within the record that begins here: it has {} bytes, {} are there",
                         whole, open().size()));
    }
    return false;
  }
  Record& record = batch.records.emplace_back();
  record.value = open().substr(0, wanted);
  record.source = file_.source();
  record.offset = at_;
  record.warc = true;
  while (!members_.empty() && members_.front().at < at_) members_.pop_front();
  if (file_.packing == Packing::none) {
    record.warc_offset = at_;
  } else if (!members_.empty() && members_.front().at == at_) {
    record.warc_offset = members_.front().stored;
  }
  batch.bytes += wanted;
  filling_.used_by(batch);
  forward(wanted);
  for (uint64_t left = whole - wanted; left > 0;) {
    if (!have(1, batch)) {
      if (!damaged_)
        damage(batch, at_, fmt::format("the file ends {} bytes before the end of a record", left));
      return false;
    }
    const uint64_t step = std::min<uint64_t>(left, open().size());
    forward(step);
    left -= step;
  }
  mark_.offset = at_;
  mark_.lines += 1;
  return true;
}

}  // namespace doppel
