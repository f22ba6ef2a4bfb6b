#include "files/read/files_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory_limit.h"
#include "base/status.h"
#include "files/arrow/arrow_rows.h"
#include "files/byte_stream.h"
#include "files/csv/csv_rows.h"
#include "files/parquet/parquet_rows.h"
#include "files/places.h"
#include "files/position.h"
#include "files/read/content.h"
#include "files/read/kept.h"
#include "files/read/line_reader.h"
#include "files/read/listing.h"
#include "files/read/signed_reader.h"
#include "files/read/value_reader.h"
#include "files/tables/table_reader.h"
#include "files/warc/record_at.h"
#include "files/warc/warc_reader.h"
#include "formats/decoder.h"
#include "formats/presets.h"
#include "formats/warc/warc.h"
#include "pipeline/buffers.h"

namespace doppel {
namespace {

constexpr size_t kPieceBytes = 256 << 10;

// Hands out the bytes that were read before the file turned out to be large, then the rest of the stream.
// If the file is known to be large, it is opened only for its first piece, because file descriptors are
// scarce.
class FilePieces final : public PieceReader {
 public:
  FilePieces(const InputFile& file, ByteCounter counter)
      : path_(file.path), packing_(file.packing), counter_(std::move(counter)) {}
  FilePieces(const InputFile& file, std::shared_ptr<Buffer> first, std::string_view bytes,
             std::unique_ptr<ByteStream> rest)
      : path_(file.path), first_(std::move(first)), bytes_(bytes), stream_(std::move(rest)) {}

  absl::StatusOr<std::string_view> next() override {
    if (!bytes_.empty()) {
      std::string_view piece = bytes_.substr(0, kPieceBytes);
      bytes_.remove_prefix(piece.size());
      offset_ += piece.size();
      return piece;
    }
    first_.reset();
    if (!stream_) {
      Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
      if (!fd.ok()) return io_error(path_);
      stream_ = make_byte_stream(std::move(fd), packing_, std::move(counter_));
    }
    if (piece_.empty()) piece_.resize(kPieceBytes);
    absl::StatusOr<size_t> got = stream_->read(piece_.data(), piece_.size());
    if (!got.ok()) {
      return absl::Status(
          got.status().code(),
          absl::string_view(fmt::format("{}: byte {}: {}", path_, offset_, std_sv(got.status().message()))));
    }
    offset_ += *got;
    return std::string_view(piece_.data(), *got);
  }

 private:
  std::string path_;
  Packing packing_ = Packing::none;
  ByteCounter counter_;
  std::shared_ptr<Buffer> first_;
  std::string_view bytes_;
  std::unique_ptr<ByteStream> stream_;
  std::vector<char> piece_;
  uint64_t offset_ = 0;
};

Record& add_record(const InputFile& file, Batch& batch) {
  Record& record = batch.records.emplace_back();
  record.source = file.source();
  record.whole_file = true;
  return record;
}

}  // namespace

void read_whole_file(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                     const ByteCounter& counter, Batch& batch, uint64_t& mark) {
  mark = 0;
  struct stat info = {};
  std::array<char, kHeadBytes> head;
  size_t head_length = 0;
  if (!file.pipe) {
    ssize_t got = ::pread(fd.get(), head.data(), head.size(), 0);
    if (got < 0 || ::fstat(fd.get(), &info) != 0) {
      batch.problems.push_back(make_problem(file.path, 0, 0, system_cause()));
      return;
    }
    head_length = static_cast<size_t>(got);
  }
  auto size = static_cast<size_t>(info.st_size);
  auto delivered = [&] {
    if (!file.pipe)
      mark = whole_mark(info.st_dev, info.st_ino, size, {head.data(), std::min(head_length, size)});
  };
  if (file.packing == Packing::none && size > options.max_whole_bytes && file.remote == nullptr) {
    add_record(file, batch).pieces = std::make_shared<FilePieces>(file, counter);
    batch.bytes += size;
    delivered();
    return;
  }

  std::unique_ptr<ByteStream> stream = make_byte_stream(std::move(fd), file.packing, counter, file.head);
  size_t begin =
      filling.make_room(filling.end(), file.packing == Packing::none ? size + 1 : std::max<size_t>(size, 1));
  for (;;) {
    if (filling.room() == 0) begin = filling.make_room(begin, kPieceBytes);
    absl::StatusOr<size_t> got = stream->read(filling.data() + filling.end(), filling.room());
    if (!got.ok()) {
      std::string cause(std_sv(got.status().message()));
      batch.problems.push_back(make_problem(file.path, 0, filling.end() - begin, cause));
      return;
    }
    if (*got == 0) break;
    filling.appended(*got);
    if (filling.end() - begin > options.max_whole_bytes) {
      std::string_view bytes(filling.data() + begin, filling.end() - begin);
      add_record(file, batch).pieces =
          std::make_shared<FilePieces>(file, filling.buffer(), bytes, std::move(stream));
      batch.bytes += bytes.size();
      filling.used_by(batch);
      delivered();
      return;
    }
  }
  size_t length = filling.end() - begin;
  // A separator, so that the bytes behind a record are never taken for its end.
  begin = filling.make_room(begin, 1);
  filling.data()[filling.end()] = '\n';
  filling.appended(1);
  add_record(file, batch).value = {filling.data() + begin, length};
  batch.bytes += length;
  filling.used_by(batch);
  delivered();
}

// Reads one file after the other, in the order of the listing: with a LineReader, ValueReader, WarcReader,
// SignedReader or TableReader, or whole. The position consists of what earlier runs read, the files
// finished since, and the place in the current file.

namespace {

class FilesSource final : public Source {
 public:
  FilesSource(FilesSourceOptions options, Listing listing, const Position& position)
      : options_(std::move(options)),
        listing_(std::make_shared<Listing>(std::move(listing))),
        filling_(options_.buffer_bytes) {
    problems_ = std::move(listing_->problems);
    std::vector<std::shared_ptr<const RemoteFile>> remote;
    resume_ = find_resume_points(options_, *listing_, position, writer_, problems_);
    for (size_t i = 0; i < listing_->files.size(); ++i) {
      const InputFile& file = listing_->files[i];
      endless_ = endless_ || file.pipe;
      total_ += file.size;
      if (file.remote != nullptr && !resume_.skip[i]) remote.push_back(file.remote);
      if (resume_.skip[i]) {
        *counter_ += file.size;
      } else if (auto from = resume_.from.find(i); from != resume_.from.end() && file.as_stored()) {
        *counter_ += from->second.offset;
      }
    }
    if (!remote.empty()) options_.remote->plan(std::move(remote));
  }

  absl::StatusOr<bool> next(Batch& batch) override {
    batch.clear();
    while (told_ < problems_.size() && batch.problems.size() < options_.batch_records) {
      batch.problems.push_back(std::move(problems_[told_++]));
    }
    fill(batch);
    if (absl::IsCancelled(lost_)) return false;
    RETURN_IF_ERROR(lost_);
    if (batch.records.empty() && batch.problems.empty()) return false;
    filling_.seal();
    batch.memory.push_back(listing_);  // holds the paths
    if (reader_ && !listing_->files[file_].pipe) {
      LineMark current = reader_->mark();
      batch.position = writer_.encode(&current);
    } else {
      batch.position = writer_.encode(nullptr);
    }
    return true;
  }

  uint64_t bytes_total() const override { return endless_ ? 0 : total_; }
  uint64_t bytes_read() const override { return counter_->load(std::memory_order_relaxed); }

 private:
  void fill(Batch& batch) {
    while (batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records &&
           batch.bytes < options_.batch_bytes && file_ < listing_->files.size()) {
      if (reader_) {
        const RecordReader::State state = take(batch);
        if (arriving_ != nullptr && !still_arrives()) return;
        if (state != RecordReader::State::ended) return;
        if (!listing_->files[file_].pipe) writer_.add_done(reader_->mark());
        reader_.reset();
        arriving_.reset();
        ++file_;
      } else if (resume_.skip[file_]) {
        ++file_;
      } else if (!open_file(batch)) {
        return;
      }
    }
  }

  // Reads from reader_. A file that needs more memory than there is ends at that place.
  RecordReader::State take(Batch& batch) {
    RecordReader::State state = RecordReader::State::ended;
    const absl::Status status = within_memory([&] {
      state = reader_->take(batch);
      return absl::OkStatus();
    });
    if (status.ok()) return state;
    if (!batch.records.empty() && batch.records.back().source.empty()) batch.records.pop_back();
    const LineMark mark = reader_->mark();
    batch.problems.push_back(make_problem(listing_->files[file_].path, mark.lines, mark.offset,
                                          std::string(status.message()) + "; the rest is not read"));
    return RecordReader::State::ended;
  }

  // A reader takes a file that stops arriving for a damaged one. The run ends instead, before the batch's
  // commit, so that the next run reads on.
  bool still_arrives() {
    lost_ = arriving_->await(0);
    return lost_.ok();
  }

  Fd open(const InputFile& file) {
    if (file.path == "-") return Fd(::dup(STDIN_FILENO));
    if (file.remote == nullptr) return Fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    absl::StatusOr<Fd> fd = options_.remote->open(*file.remote);
    if (fd.ok()) {
      arriving_ = fd->arriving();
      lost_ = arriving_->await(std::min<uint64_t>(file.size, kLookedAtPacked));
    } else {
      lost_ = fd.status();
    }
    return lost_.ok() ? *std::move(fd) : Fd();
  }

  // Returns false if the file must wait for the next batch.
  bool open_file(Batch& batch) {
    InputFile& file = listing_->files[file_];
    if (file.pipe && !batch.records.empty()) return false;  // it may have no data for a long time
    Fd fd = open(file);
    if (!lost_.ok()) return false;
    auto from = resume_.from.find(file_);
    if (!fd.ok()) {
      batch.problems.push_back({file.path, 0, 0, file.path + ": " + system_cause()});
      if (from != resume_.from.end()) {
        writer_.take_pending();
        writer_.add_done(from->second);
      }
      ++file_;
      return true;
    }
    if (!file.pipe) {
      look_inside(fd.get(), options_, file);
    } else if (wait_for(fd.get())) {
      look_inside_pipe(fd.get(), options_, file);
    }
    const bool streamed = file.in_parts() && file.kind != InputKind::parquet && file.kind != InputKind::arrow;
    if (arriving_ != nullptr && !streamed) lost_ = arriving_->await(file.size);
    if (!lost_.ok()) return false;
    if (!file.refused.empty() && file.kind != InputKind::values) {
      arriving_.reset();
      batch.problems.push_back({file.path, 0, 0, refusal_of(file)});
      if (from != resume_.from.end()) writer_.take_pending();
      ++file_;
      return true;
    }
    if (!file.in_parts() && file.packing == Packing::none && !batch.records.empty() &&
        batch.bytes + file.size > options_.batch_bytes) {
      return false;
    }
    if (!file.in_parts()) {
      uint64_t mark = 0;
      read_whole_file(options_, filling_, file, std::move(fd), counter_, batch, mark);
      arriving_.reset();
      if (mark != 0) writer_.add_whole(file.remote != nullptr ? whole_mark_of(file) : mark);
      ++file_;
      return true;
    }
    LineMark mark;
    if (from != resume_.from.end()) {
      mark = from->second;
      writer_.take_pending();
      if (file.remote == nullptr && !is_file_of(fd.get(), file.as_stored(), mark, file.part)) {
        batch.problems.push_back(
            make_problem(file.path, mark.lines, mark.offset,
                         "the file was replaced after the start; the rest of the old file is not read"));
        mark = mark_of(fd.get(), file.part);
      }
    } else if (!file.pipe) {
      mark = file.remote != nullptr ? mark_of(file) : mark_of(fd.get(), file.part);
    }
    reader_ = reader_of(file, std::move(fd), std::move(mark));
    return true;
  }

  // Of a file that is read in parts.
  std::unique_ptr<RecordReader> reader_of(const InputFile& file, Fd fd, LineMark mark) {
    const auto reader = [&]<typename Reader>(std::type_identity<Reader>) -> std::unique_ptr<RecordReader> {
      return std::make_unique<Reader>(options_, filling_, file, std::move(fd), counter_, std::move(mark));
    };
    switch (file.kind) {
      case InputKind::signed_records:
        return reader(std::type_identity<SignedReader>());
      case InputKind::warc:
      case InputKind::arc:
        return reader(std::type_identity<WarcReader>());
      case InputKind::mbox:
        return reader(std::type_identity<MboxReader>());
      case InputKind::values:
        return reader(std::type_identity<ValueReader>());
      case InputKind::whole:
      case InputKind::lines:
        return reader(std::type_identity<LineReader>());
      case InputKind::parquet:
      case InputKind::arrow:
      case InputKind::csv:
        break;
    }
    struct stat info = {};
    const uint64_t size = ::fstat(fd.get(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : file.size;
    return std::make_unique<TableReader>(options_, filling_, file, rows_of(file, std::move(fd)), size,
                                         counter_, std::move(mark));
  }

  std::unique_ptr<tables::Rows> rows_of(const InputFile& file, Fd fd) const {
    // A page may hold many texts: a writer checks its size only after each thousand values or so.
    constexpr uint64_t kPageBytes = 512 << 20;
    if (file.kind == InputKind::csv) {
      std::string_view name = file.path;
      packing_of(name);
      const bool tabs = name.ends_with(".tsv") || name.ends_with(".TSV");
      return std::make_unique<csv::CsvRows>(make_byte_stream(std::move(fd), file.packing, counter_), tabs,
                                            options_.max_line_bytes);
    }
    if (file.kind == InputKind::arrow)
      return std::make_unique<arrow::ArrowRows>(std::move(fd), counter_, options_.max_line_bytes);
    return std::make_unique<parquet::ParquetRows>(
        std::move(fd), std::max<uint64_t>(kPageBytes, 2 * options_.max_line_bytes), options_.max_line_bytes,
        counter_, file.path, options_.kept_columns);
  }

  // Waits until a pipe has data or has ended. Returns false if the run is stopped.
  bool wait_for(int fd) const {
    constexpr int kAskAgainMs = 100;
    pollfd waiting{fd, POLLIN, 0};
    while (::poll(&waiting, 1, kAskAgainMs) <= 0) {
      if (options_.stop()) return false;
    }
    return true;
  }

  const FilesSourceOptions options_;
  std::shared_ptr<Listing> listing_;
  Filling filling_;
  ByteCounter counter_ = std::make_shared<std::atomic<uint64_t>>(0);
  PositionWriter writer_;
  Resume resume_;
  std::vector<Problem> problems_;  // found when the source was opened
  size_t told_ = 0;
  size_t file_ = 0;                       // the current file, or the next one
  std::unique_ptr<RecordReader> reader_;  // of file_
  std::shared_ptr<Arriving> arriving_;    // of a file behind a URL that is read
  absl::Status lost_;                     // why no more of it arrives
  uint64_t total_ = 0;
  bool endless_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> open_files_source(const FilesSourceOptions& options,
                                                          std::string_view position) {
  if (options.columns) RETURN_IF_ERROR(check_format_of_files(options.columns->format));
  if (options.by_date) return open_dated_source(options);
  ASSIGN_OR_RETURN(Position known, parse_position(position));
  ASSIGN_OR_RETURN(Listing listing, list_files(options));
  RETURN_IF_ERROR(check_kept(options, listing, !position.empty()));
  return std::make_unique<FilesSource>(options, std::move(listing), known);
}

namespace {

struct DatedPlace {
  int64_t time_ms;
  size_t file;
  uint64_t stored, offset;  // in the stored file, and in its unpacked bytes
};

class DatedSource final : public Source {
 public:
  DatedSource(FilesSourceOptions options, Listing listing, std::vector<DatedPlace> places,
              std::vector<std::string> problems)
      : options_(std::move(options)),
        batch_records_(options_.batch_records),
        listing_(std::make_shared<Listing>(std::move(listing))),
        places_(std::move(places)),
        filling_(options_.buffer_bytes) {
    problems_ = std::move(listing_->problems);
    for (std::string& problem : problems) problems_.push_back({.message = std::move(problem)});
  }

  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    batch.problems = std::exchange(problems_, {});
    while (next_ < places_.size() && batch.records.size() < batch_records_ &&
           batch.bytes < options_.batch_bytes && !options_.stop()) {
      if (!take(places_[next_], batch)) break;
      ++next_;
    }
    if (batch.records.empty() && batch.problems.empty()) return false;
    filling_.seal();
    batch.memory.push_back(listing_);
    return true;
  }

  uint64_t bytes_total() const override { return places_.size(); }
  uint64_t bytes_read() const override { return next_; }

 private:
  // Returns false if the batch is full.
  bool take(const DatedPlace& place, Batch& batch) {
    const InputFile& file = listing_->files[place.file];
    Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok()) {
      batch.problems.push_back(make_problem(file.shown(), 0, place.stored, system_cause()));
      return true;
    }
    InputFile from = file;
    from.part = {file.part.begin + place.stored, file.size - place.stored};
    const size_t before = batch.records.size();
    options_.batch_records = before + 1;
    WarcReader reader(options_, filling_, from, std::move(fd), counter_, {});
    const size_t problems = batch.problems.size();
    reader.take(batch);
    if (batch.records.size() == before) {
      if (batch.problems.size() != problems) return true;
      if (before > 0 || problems > 0) return false;
      batch.problems.push_back(make_problem(file.shown(), 0, place.stored,
                                            "the record that began here is gone: the file was changed"));
      return true;
    }
    Record& record = batch.records.back();
    record.source = file.source();
    record.offset = place.offset;
    record.warc_offset = place.stored;
    return true;
  }

  FilesSourceOptions options_;
  const size_t batch_records_;
  std::shared_ptr<Listing> listing_;
  std::vector<DatedPlace> places_;
  Filling filling_;
  ByteCounter counter_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::vector<Problem> problems_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> open_dated_source(const FilesSourceOptions& options) {
  ASSIGN_OR_RETURN(Listing listing, list_files(options));
  std::vector<DatedPlace> places;
  std::vector<std::string> problems;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    InputFile& file = listing.files[i];
    if (file.remote != nullptr) {
      return invalid(file.shown() +
                     ": --order date reads files again and again, so it takes local files; copy this one");
    }
    if (!file.pipe) {
      const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!fd.ok()) return io_error(file.path);
      look_inside(fd.get(), options, file);
    }
    if (!file.archive() || file.pipe) {
      return invalid(fmt::format(
          "{}: cannot be read in the order of dates (--order date), because it is not a WARC file",
          file.shown()));
    }
    int64_t last = std::numeric_limits<int64_t>::min();
    const size_t of_others = places.size();
    bool together = false;
    RETURN_IF_ERROR(each_warc_record(
        file,
        [&](const Record& record) {
          const absl::StatusOr<WarcRecord> head = parse_warc_record(record.value);
          if (head.ok()) last = parse_time(head->date).value_or(last);
          if (!record.warc_offset) together = true;
          places.push_back({last, i, record.warc_offset.value_or(0), record.offset});
        },
        problems));
    if (together) {
      places.resize(of_others);
      problems.push_back(
          fmt::format("{}: left out, because it cannot be read in the order of dates (--order date): several "
                      "records share "
                      "one gzip member or zstd frame; write it again: warcio recompress",
                      file.shown()));
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const DatedPlace& a, const DatedPlace& b) { return a.time_ms < b.time_ms; });
  return std::make_unique<DatedSource>(options, std::move(listing), std::move(places), std::move(problems));
}

}  // namespace doppel
