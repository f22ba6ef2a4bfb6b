#pragma once
// Reads a file from a stranger that begins as a table. Whatever its bytes say, reading must end, take no more
// memory than allowed, and give rows of JSON one after the other; continuing from a position must give the
// remaining rows.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "files/byte_stream.h"
#include "files/record_reader.h"
#include "files/tables/table_reader.h"

namespace doppel::fuzz {

using MakeRows = std::function<std::unique_ptr<tables::Rows>(Fd fd, ByteCounter counter)>;

constexpr size_t kMostRows = 2000;  // a run of one value may have billions
constexpr size_t kMostBytes = 1 << 20;

struct Rows {
  std::vector<std::string> values;
  std::vector<LineMark> marks;  // after each batch
  std::vector<size_t> counts;   // rows so far
  bool whole = false;
};

inline Rows read(std::string_view bytes, bool is_signed, const LineMark& from, const MakeRows& make) {
  FormatOptions format;
  if (is_signed) format.format = "signed";
  const FilesSourceOptions options{.layout = is_signed ? Layout::signed_records : Layout::automatic,
                                   .columns = format,
                                   .batch_records = 100,
                                   .batch_bytes = 64 << 10,
                                   .max_line_bytes = 256 << 10};
  const InputFile file{.path = "x", .kind = InputKind::lines};
  Fd fd(::memfd_create("table", MFD_CLOEXEC));
  if (!fd.ok() || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  Filling filling(64 << 10);
  const auto counter = std::make_shared<std::atomic<uint64_t>>(0);
  TableReader reader(options, filling, file, make(std::move(fd), counter), bytes.size(), counter, from);
  Rows out;
  size_t read = 0;
  uint64_t next = from.lines;
  while (out.values.size() < kMostRows && read < kMostBytes) {
    Batch batch;
    const auto state = reader.take(batch);
    for (const Record& record : batch.records) {
      if (record.offset < next) std::abort();
      next = record.offset + 1;
      if (!is_signed && (!record.value.starts_with('{') || !record.value.ends_with('}'))) std::abort();
      out.values.emplace_back(record.value);
      read += record.value.size();
    }
    filling.seal();
    out.marks.push_back(reader.mark());
    out.counts.push_back(out.values.size());
    if (state == RecordReader::State::ended) {
      out.whole = true;
      break;
    }
    if (batch.records.empty() && batch.problems.empty()) std::abort();
    if (next > kMostRows) break;
  }
  return out;
}

inline void read_as_anybody(std::string_view bytes, const MakeRows& make) {
  for (const bool is_signed : {false, true}) {
    const Rows rows = read(bytes, is_signed, {}, make);
    if (rows.values.empty() || !rows.whole) continue;
    const size_t middle = rows.counts.size() / 2;
    if (rows.counts[middle] == rows.values.size()) continue;
    const Rows rest = read(bytes, is_signed, rows.marks[middle], make);
    // Skipped pages are not read, so damage in them may not show.
    if (rest.values.size() < rows.values.size() - rows.counts[middle]) std::abort();
  }
}

}  // namespace doppel::fuzz
