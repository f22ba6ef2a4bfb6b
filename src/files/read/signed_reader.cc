#include "files/read/signed_reader.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "engine/signed_record.h"
#include "files/byte_stream.h"
#include "files/places.h"
#include "files/read/content.h"
#include "files/read/listing.h"
#include "state/scheme.h"

namespace doppel {
namespace {

// Room for everything in a signed record except a rejected record.
constexpr uint64_t kBesides = 16 << 20;

}  // namespace

SignedReader::SignedReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                           ByteCounter counter, LineMark mark)
    : BufferedReader(options, filling, file, std::move(fd), std::move(counter), std::move(mark)) {}

RecordReader::State SignedReader::take(Batch& batch) {
  if (!started_) start(batch);
  pipe_.begin();
  while (batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records) {
    const Step step = damaged_ ? Step::short_of_bytes : this->step(batch);
    if (step == Step::full) return State::full;
    if (step == Step::taken) continue;
    if (ended_) return end(batch);
    if (file_.pipe && !worth_waiting(batch)) return State::waiting;
    if (!ended_) refill(batch);
  }
  return State::full;
}

// Takes a header, a record or an end marker.
SignedReader::Step SignedReader::step(Batch& batch) {
  wanted_ = kFrameHead;
  if (open().size() < wanted_) return Step::short_of_bytes;
  if (open().starts_with(kSignedMagic)) return header(batch);
  if (mark_.offset == 0 || mark_.tail != 0) {
    damage(batch, "not signed records as doppel sign writes them");
    return Step::taken;
  }
  const std::optional<uint32_t> length = parse_frame_head(open());
  if (!length || *length > options_.max_line_bytes + kBesides) {
    damage(batch, "the file is damaged here; what follows is not read");
    return Step::taken;
  }
  if (*length == 0) {
    forward(kFrameHead);
    mark_.tail = 1;
    return Step::taken;
  }
  if (!batch.records.empty() && batch.bytes + *length > options_.batch_bytes) return Step::full;
  wanted_ = kFrameHead + *length;
  if (open().size() < wanted_) return Step::short_of_bytes;
  Record& record = batch.records.emplace_back();
  record.value = open().substr(kFrameHead, *length);
  record.source = file_.source();
  record.offset = mark_.offset;
  batch.bytes += *length;
  filling_.used_by(batch);
  forward(wanted_);
  ++mark_.lines;
  return Step::taken;
}

SignedReader::Step SignedReader::header(Batch& batch) {
  wanted_ = kSignedHeaderHead;
  if (open().size() < wanted_) return Step::short_of_bytes;
  const absl::StatusOr<size_t> size = signed_header_size(open());
  if (size.ok()) {
    wanted_ = *size;
    if (open().size() < wanted_) return Step::short_of_bytes;
  }
  const absl::StatusOr<SignedFileHeader> header =
      size.ok() ? parse_signed_header(open().substr(0, *size)) : size.status();
  if (!header.ok()) {
    damage(batch, std::string(std_sv(header.status().message())));
    return Step::taken;
  }
  const std::vector<std::string> differences = signed_differences(header->scheme, options_.signed_scheme);
  if (!differences.empty() && !options_.signed_scheme.empty()) {
    damage(batch,
           fmt::format("these records were signed in another way; {}", absl::StrJoin(differences, "; ")));
    return Step::taken;
  }
  forward(*size);
  mark_.tail = 0;
  return Step::taken;
}

RecordReader::State SignedReader::end(Batch& batch) {
  if (!damaged_ && open().empty() && mark_.offset == 0) {
    damage(batch, "an empty file: signed records begin with a header");
  } else if (!damaged_ && !open().empty()) {
    damage(batch, fmt::format("the file ends within what begins here: {} of {} bytes are there",
                              open().size(), wanted_));
  } else if (!damaged_ && mark_.tail == 0) {
    damage(batch,
           fmt::format("the file ends without its end mark after {} records: it is truncated or still being "
                       "written",
                       mark_.lines));
  }
  // Damaged data is not read again unless the file grows.
  const uint64_t read = file_.packing == Packing::none ? mark_.offset : stream_->disk_bytes();
  mark_.disk_length = std::max<uint64_t>({read, damaged_ ? file_.size : 0, 1});
  return State::ended;
}

void SignedReader::forward(size_t bytes) {
  begin_ += bytes;
  mark_.offset += bytes;
}

void SignedReader::damage(Batch& batch, const std::string& cause) {
  damaged_ = ended_ = true;
  batch.problems.push_back(make_problem(file_.path, 0, mark_.offset, cause));
}

void SignedReader::refill(Batch& batch) {
  const absl::StatusOr<size_t> got = read_more(wanted_ - std::min(wanted_, open().size()));
  if (!got.ok()) {
    damage(batch, std::string(std_sv(got.status().message())));
  } else if (*got == 0) {
    ended_ = true;
  }
}

namespace {

std::optional<SignedFileHeader> header_of(ByteStream& stream) {
  std::string bytes;
  size_t wanted = kSignedHeaderHead;
  while (bytes.size() < wanted) {
    const size_t had = bytes.size();
    bytes.resize(wanted);
    const absl::StatusOr<size_t> got = stream.read(bytes.data() + had, wanted - had);
    if (!got.ok() || *got == 0) return std::nullopt;
    bytes.resize(had + *got);
    if (bytes.size() != kSignedHeaderHead || wanted != kSignedHeaderHead) continue;
    const absl::StatusOr<size_t> size = signed_header_size(bytes);
    if (!size.ok()) return std::nullopt;
    wanted = *size;
  }
  absl::StatusOr<SignedFileHeader> header = parse_signed_header(bytes);
  if (!header.ok()) return std::nullopt;
  return *std::move(header);
}

}  // namespace

absl::StatusOr<std::optional<SignedFileHeader>> first_signed_header(const std::vector<std::string>& paths) {
  FilesSourceOptions options{.paths = paths, .layout = Layout::signed_records};
  std::erase_if(options.paths, is_url);
  if (options.paths.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(Listing listing, list_files(options));
  for (InputFile& file : listing.files) {
    if (file.pipe) continue;
    Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok()) continue;
    look_inside(fd.get(), options, file);
    if (!file.refused.empty()) continue;
    const std::unique_ptr<ByteStream> stream =
        make_byte_stream(std::move(fd), file.packing, std::make_shared<std::atomic<uint64_t>>(0));
    if (std::optional<SignedFileHeader> header = header_of(*stream)) return header;
  }
  return std::nullopt;
}

}  // namespace doppel
