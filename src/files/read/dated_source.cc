#include "files/read/dated_source.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "files/fd.h"
#include "files/read/content.h"
#include "files/read/listing.h"
#include "files/warc/each_record.h"
#include "files/warc/warc_reader.h"
#include "formats/decoder.h"
#include "formats/warc/warc.h"
#include "pipeline/buffers.h"

namespace doppel {
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
      return invalid(fmt::format(
          "{}: cannot be read in the order of dates (--order date), because several records share one "
          "gzip member or zstd frame; rewrite it: warcio recompress",
          file.shown()));
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const DatedPlace& a, const DatedPlace& b) { return a.time_ms < b.time_ms; });
  return std::make_unique<DatedSource>(options, std::move(listing), std::move(places), std::move(problems));
}

}  // namespace doppel
