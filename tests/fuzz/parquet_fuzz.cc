// A Parquet file of anybody: whatever its bytes say, reading ends, takes no more memory than its pages may
// have, and gives rows of JSON one after the other; and going on from a position gives the rest of them.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "stream/files/fd.h"
#include "stream/files/files_source.h"
#include "stream/files/parquet/parquet_reader.h"

namespace {

constexpr size_t kMostRows = 2000;  // a run of one value may have billions
constexpr size_t kMostBytes = 1 << 20;

struct Rows {
  std::vector<std::string> values;
  std::vector<doppel::LineMark> marks;  // after each batch
  std::vector<size_t> counts;           // rows up to there
  bool whole = false;
};

Rows read(std::string_view bytes, bool is_signed, const doppel::LineMark& from) {
  doppel::FormatOptions format;
  if (is_signed) format.format = "signed";
  const doppel::FilesSourceOptions options{
      .columns = format, .batch_records = 100, .batch_bytes = 64 << 10, .max_line_bytes = 256 << 10};
  doppel::InputFile file;
  file.path = "x.parquet";
  file.parquet = file.lines = true;
  file.signed_records = is_signed;
  doppel::Fd fd(::memfd_create("parquet", MFD_CLOEXEC));
  if (!fd.ok() || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  doppel::Filling filling(64 << 10);
  doppel::ParquetReader reader(options, filling, file, std::move(fd),
                               std::make_shared<std::atomic<uint64_t>>(0), from);
  Rows out;
  size_t read = 0;
  uint64_t next = from.lines;
  while (out.values.size() < kMostRows && read < kMostBytes) {
    doppel::Batch batch;
    const auto state = reader.take(batch);
    for (const doppel::Record& record : batch.records) {
      if (record.offset < next) std::abort();
      next = record.offset + 1;
      if (!is_signed && (!record.value.starts_with('{') || !record.value.ends_with('}'))) std::abort();
      out.values.emplace_back(record.value);
      read += record.value.size();
    }
    filling.seal();
    out.marks.push_back(reader.mark());
    out.counts.push_back(out.values.size());
    if (state == doppel::RecordReader::State::ended) {
      out.whole = true;
      break;
    }
    if (batch.records.empty() && batch.problems.empty()) std::abort();
    if (next > kMostRows) break;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool is_signed : {false, true}) {
    const Rows rows = read(bytes, is_signed, {});
    if (rows.values.empty() || !rows.whole) continue;
    const size_t middle = rows.counts.size() / 2;
    if (rows.counts[middle] == rows.values.size()) continue;
    const Rows rest = read(bytes, is_signed, rows.marks[middle]);
    // Pages that are jumped over are not looked into: damage in them may not show.
    if (rest.values.size() < rows.values.size() - rows.counts[middle]) std::abort();
  }
  return 0;
}
