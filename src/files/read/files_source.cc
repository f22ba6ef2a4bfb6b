// Reads one file after the other, in the order of the listing: with a LineReader, ValueReader, WarcReader,
// SignedReader or TableReader, or whole. The position consists of what earlier runs read, the files
// finished since, and the place in the current file.

#include "files/read/files_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <type_traits>
#include <utility>

#include "base/status.h"
#include "files/arrow/arrow_rows.h"
#include "files/parquet/parquet_rows.h"
#include "files/position.h"
#include "files/read/content.h"
#include "files/read/dated_source.h"
#include "files/read/line_reader.h"
#include "files/read/listing.h"
#include "files/read/resume.h"
#include "files/read/signed_reader.h"
#include "files/read/value_reader.h"
#include "files/read/whole_file.h"
#include "files/tables/table_reader.h"
#include "files/warc/warc_reader.h"
#include "files/within_memory.h"
#include "formats/presets.h"
#include "pipeline/buffers.h"

namespace doppel {
namespace {

class FilesSource final : public Source {
 public:
  FilesSource(FilesSourceOptions options, Listing listing, const Position& position)
      : options_(std::move(options)),
        listing_(std::make_shared<Listing>(std::move(listing))),
        filling_(options_.buffer_bytes) {
    problems_ = std::move(listing_->problems);
    resume_ = find_resume_points(options_, *listing_, position, writer_, problems_);
    for (size_t i = 0; i < listing_->files.size(); ++i) {
      const InputFile& file = listing_->files[i];
      endless_ = endless_ || file.pipe;
      total_ += file.size;
      if (resume_.skip[i]) {
        *counter_ += file.size;
      } else if (auto from = resume_.from.find(i); from != resume_.from.end() && file.as_stored()) {
        *counter_ += from->second.offset;
      }
    }
  }

  absl::StatusOr<bool> next(Batch& batch) override {
    batch.records.clear();
    batch.problems.clear();
    batch.memory.clear();
    batch.position.clear();
    batch.bytes = 0;
    while (told_ < problems_.size() && batch.problems.size() < options_.batch_records) {
      batch.problems.push_back(std::move(problems_[told_++]));
    }
    fill(batch);
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
        if (take(batch) != RecordReader::State::ended) return;
        if (!listing_->files[file_].pipe) writer_.add_done(reader_->mark());
        reader_.reset();
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

  // Returns false if the file must wait for the next batch.
  bool open_file(Batch& batch) {
    InputFile& file = listing_->files[file_];
    if (file.pipe && !batch.records.empty()) return false;  // it may have no data for a long time
    Fd fd(file.path == "-" ? ::dup(STDIN_FILENO) : ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
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
    if (!file.refused.empty() && file.kind != InputKind::values) {
      batch.problems.push_back({file.path, 0, 0, fmt::format("{}: {}", file.shown(), file.refused)});
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
      if (mark != 0) writer_.add_whole(mark);
      ++file_;
      return true;
    }
    LineMark mark;
    if (from != resume_.from.end()) {
      mark = from->second;
      writer_.take_pending();
      if (!is_file_of(fd.get(), file.as_stored(), mark, file.part)) {
        batch.problems.push_back(
            make_problem(file.path, mark.lines, mark.offset,
                         "the file was replaced after the start; the rest of the old file is not read"));
        mark = mark_of(fd.get(), file.part);
      }
    } else if (!file.pipe) {
      mark = mark_of(fd.get(), file.part);
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
      case InputKind::values:
        return reader(std::type_identity<ValueReader>());
      case InputKind::whole:
      case InputKind::lines:
        return reader(std::type_identity<LineReader>());
      case InputKind::parquet:
      case InputKind::arrow:
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
  uint64_t total_ = 0;
  bool endless_ = false;
};

// Collects the columns of the rows that will be copied. A damaged file is reported when it is read.
absl::Status admit_kept(const FilesSourceOptions& options, Listing& listing) {
  for (InputFile& file : listing.files) {
    if (file.pipe) return invalid(file.path + ": only rows of Parquet files are written to a Parquet file");
    const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    if (!fd.ok() || ::fstat(fd.get(), &info) != 0) continue;
    InputFile seen = file;
    look_inside(fd.get(), options, seen);
    if (!seen.refused.empty() && seen.kind != InputKind::values) continue;
    if (seen.kind != InputKind::parquet)
      return invalid(file.path + ": only rows of Parquet files are written to a Parquet file");
    const absl::StatusOr<parquet::Footer> footer =
        parquet::Footer::read(fd.get(), static_cast<uint64_t>(info.st_size));
    if (!footer.ok()) continue;
    const absl::Status admitted = options.kept_columns->admit(file.path, *footer);
    if (!admitted.ok()) return {admitted.code(), file.path + ": " + std::string(admitted.message())};
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> open_files_source(const FilesSourceOptions& options,
                                                          std::string_view position) {
  if (options.columns) RETURN_IF_ERROR(check_format_of_files(options.columns->format));
  if (options.by_date) return open_dated_source(options);
  ASSIGN_OR_RETURN(Position known, parse_position(position));
  ASSIGN_OR_RETURN(Listing listing, list_files(options));
  if (options.kept_columns != nullptr) RETURN_IF_ERROR(admit_kept(options, listing));
  return std::make_unique<FilesSource>(options, std::move(listing), known);
}

}  // namespace doppel
