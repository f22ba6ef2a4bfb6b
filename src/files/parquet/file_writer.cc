#include "files/parquet/file_writer.h"

#include <fmt/format.h>

#include "base/status.h"
#include "files/parquet/footer.h"
#include "files/parquet/values.h"

namespace doppel::parquet {
namespace {

using Type = ThriftWriter::Type;

constexpr size_t kPageBytes = 1 << 20;
constexpr int kLevel = 3;  // zstd compression level

// Appends the levels as runs, preceded by their length in bytes.
void append_levels(const std::vector<uint32_t>& levels, uint32_t most, std::string& out) {
  const size_t begin = out.size();
  put_fixed<uint32_t>(out, 0);
  for (size_t i = 0; i < levels.size();) {
    size_t end = i;
    while (end < levels.size() && levels[end] == levels[i]) ++end;
    put_varint(out, uint64_t{end - i} << 1);
    for (unsigned bits = 0; bits < bits_of_levels(most); bits += 8)
      out += static_cast<char>(levels[i] >> bits & 0xff);
    i = end;
  }
  const auto size = static_cast<uint32_t>(out.size() - begin - sizeof(uint32_t));
  std::string head;
  put_fixed<uint32_t>(head, size);
  out.replace(begin, head.size(), head);
}

}  // namespace

FileWriter::FileWriter(std::unique_ptr<WholeOutput> file)
    : file_(std::move(file)), zstd_(ZSTD_createCCtx(), ZSTD_freeCCtx) {}

absl::StatusOr<std::unique_ptr<FileWriter>> FileWriter::open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<WholeOutput> file, WholeOutput::open_unpacked(path));
  std::unique_ptr<FileWriter> out(new FileWriter(std::move(file)));
  RETURN_IF_ERROR(out->write(kMagic));
  return out;
}

absl::Status FileWriter::write(std::string_view bytes) {
  at_ += bytes.size();
  return file_->append(bytes);
}

void FileWriter::begin_column(const Leaf& leaf) {
  leaf_ = &leaf;
  groups_.back().chunks.push_back({.path = leaf.path, .stored = leaf.column.stored, .begin = at_});
}

absl::Status FileWriter::add(const Depth& levels, const Cell& cell) {
  // A page must end at the end of a row.
  const size_t bytes = values_.size() + 2 * (definitions_.size() + repetitions_.size());
  if (levels.repetition == 0 && bytes >= kPageBytes) RETURN_IF_ERROR(end_page());
  if (leaf_->depth.definition > 0) definitions_.push_back(levels.definition);
  if (leaf_->depth.repetition > 0) repetitions_.push_back(levels.repetition);
  if (levels.definition == leaf_->depth.definition) append_value(cell);
  ++count_;
  return absl::OkStatus();
}

void FileWriter::append_value(const Cell& cell) {
  switch (leaf_->column.stored) {
    case Stored::boolean:
      if (bits_ % 8 == 0) values_ += '\0';
      values_.back() = static_cast<char>(values_.back() | (cell.number != 0 ? 1 << bits_ % 8 : 0));
      ++bits_;
      return;
    case Stored::int32:
    case Stored::float32:
      return put_fixed(values_, static_cast<uint32_t>(cell.number));
    case Stored::int64:
    case Stored::float64:
      return put_fixed(values_, cell.number);
    case Stored::bytes:
      put_fixed(values_, static_cast<uint32_t>(cell.bytes.size()));
      values_ += cell.bytes;
      return;
    case Stored::int96:
    case Stored::fixed:
      values_ += cell.bytes;
  }
}

absl::Status FileWriter::end_page() {
  page_.clear();
  if (leaf_->depth.repetition > 0) append_levels(repetitions_, leaf_->depth.repetition, page_);
  if (leaf_->depth.definition > 0) append_levels(definitions_, leaf_->depth.definition, page_);
  page_ += values_;
  if (page_.size() > INT32_MAX) return absl::ResourceExhaustedError("a row of more than 2 GiB");
  packed_.resize(ZSTD_compressBound(page_.size()));
  const size_t size =
      ZSTD_compressCCtx(zstd_.get(), packed_.data(), packed_.size(), page_.data(), page_.size(), kLevel);
  if (ZSTD_isError(size) != 0) return absl::InternalError(ZSTD_getErrorName(size));
  packed_.resize(size);

  ThriftWriter head;
  head.begin();
  head.i32(1, static_cast<int64_t>(PageHead::Kind::data));
  head.i32(2, static_cast<int64_t>(page_.size()));
  head.i32(3, static_cast<int64_t>(packed_.size()));
  head.begin(5);
  head.i32(1, static_cast<int64_t>(count_));
  head.i32(2, static_cast<int64_t>(Encoding::plain));
  head.i32(3, static_cast<int64_t>(Encoding::rle));
  head.i32(4, static_cast<int64_t>(Encoding::rle));
  head.end();
  head.end();
  Chunk& chunk = groups_.back().chunks.back();
  chunk.values += count_;
  chunk.packed += head.bytes().size() + packed_.size();
  chunk.unpacked += head.bytes().size() + page_.size();
  RETURN_IF_ERROR(write(head.bytes()));
  RETURN_IF_ERROR(write(packed_));
  definitions_.clear();
  repetitions_.clear();
  values_.clear();
  bits_ = count_ = 0;
  return absl::OkStatus();
}

absl::Status FileWriter::end_column() {
  if (count_ > 0) RETURN_IF_ERROR(end_page());
  return absl::OkStatus();
}

void FileWriter::describe(const Chunk& chunk) {
  footer_.begin();
  footer_.i64(2, static_cast<int64_t>(chunk.begin));
  footer_.begin(3);
  footer_.i32(1, static_cast<int64_t>(chunk.stored));
  footer_.list(2, 2, Type::i32);
  footer_.element(static_cast<int64_t>(Encoding::plain));
  footer_.element(static_cast<int64_t>(Encoding::rle));
  footer_.list(3, chunk.path.size(), Type::binary);
  for (const std::string& name : chunk.path) footer_.element(std::string_view(name));
  footer_.i32(4, static_cast<int64_t>(Codec::zstd));
  footer_.i64(5, static_cast<int64_t>(chunk.values));
  footer_.i64(6, static_cast<int64_t>(chunk.unpacked));
  footer_.i64(7, static_cast<int64_t>(chunk.packed));
  footer_.i64(9, static_cast<int64_t>(chunk.begin));
  footer_.end();
  footer_.end();
}

absl::Status FileWriter::finish(std::string_view schema, std::string_view notes) {
  uint64_t rows = 0;
  for (const Group& group : groups_) rows += group.rows;
  footer_.begin();
  footer_.i32(1, 2);  // version of the format
  footer_.raw(2, Type::list, schema);
  footer_.i64(3, static_cast<int64_t>(rows));
  footer_.list(4, groups_.size(), Type::structure);
  for (const Group& group : groups_) {
    uint64_t unpacked = 0;
    footer_.begin();
    footer_.list(1, group.chunks.size(), Type::structure);
    for (const Chunk& chunk : group.chunks) {
      describe(chunk);
      unpacked += chunk.unpacked;
    }
    footer_.i64(2, static_cast<int64_t>(unpacked));
    footer_.i64(3, static_cast<int64_t>(group.rows));
    footer_.end();
  }
  if (!notes.empty()) footer_.raw(5, Type::list, notes);
  footer_.binary(6, "doppel");
  footer_.end();
  std::string tail;
  put_fixed(tail, static_cast<uint32_t>(footer_.bytes().size()));
  tail += kMagic;
  RETURN_IF_ERROR(write(footer_.bytes()));
  RETURN_IF_ERROR(write(tail));
  return file_->finish();
}

}  // namespace doppel::parquet
