#include "files/arrow/arrow_rows.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "files/tables/table_reader.h"

namespace doppel::arrow {
namespace {

constexpr uint8_t kSchema = 1, kDictionary = 2, kBatch = 3;
constexpr uint64_t kMostHead = 256 << 20;  // bytes of a message's metadata

absl::Status damaged(const std::string& what) { return absl::DataLossError(what); }

absl::Status read_at(int fd, uint64_t at, size_t size, std::string& out) {
  out.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, out.data() + done, size - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("cannot be read");
    if (got == 0) return damaged("the file ends too early");
    done += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

const Field* find_dictionary(const std::vector<Field>& fields, int64_t id) {
  for (const Field& field : fields) {
    if (field.dictionary == id) return &field;
    if (const Field* inside = find_dictionary(field.children, id); inside != nullptr) return inside;
  }
  return nullptr;
}

}  // namespace

bool is_old_stream(std::string_view head) {
  constexpr size_t kLeast = 64, kLength = sizeof(uint32_t);
  if (head.size() < kLeast) return false;
  const auto length = load<uint32_t>(head.data());
  if (length < kLeast || length > kMostHead || length % 4 != 0) return false;
  FlatBuffer buffer(head.substr(kLength, length));
  const FlatTable message = FlatTable::root(buffer);
  const auto version = message.number<int16_t>(0);
  const bool is_schema = message.number<uint8_t>(1) == kSchema && message.number<int64_t>(3) == 0;
  return buffer.ok() && version >= 0 && version <= kVersion5 && is_schema;
}

absl::StatusOr<std::vector<tables::Column>> ArrowRows::open(const FormatOptions& format, uint64_t skip) {
  skipped_ = to_skip_ = skip;
  struct stat info = {};
  if (::fstat(fd_.get(), &info) != 0) return io_error("cannot be read");
  size_ = static_cast<uint64_t>(info.st_size);
  std::string begins;
  RETURN_IF_ERROR(read_at(fd_.get(), 0, std::min<uint64_t>(size_, kFileBegins.size()), begins));
  old_stream_ = begins != kFileBegins && !begins.starts_with(kStreamBegins);
  ASSIGN_OR_RETURN(schema_, begins == kFileBegins ? read_footer() : read_first_message());
  std::vector<tables::Column> columns;
  columns.reserve(schema_.fields.size());
  for (const Field& field : schema_.fields) columns.push_back(field.column);
  ASSIGN_OR_RETURN(columns, tables::choose_columns(columns, format));
  fields_ = chosen_fields(schema_.fields, columns);
  json_.resize(fields_.size());
  return columns;
}

// A file is a stream, behind which its footer, the footer's length and the magic follow.
absl::StatusOr<Schema> ArrowRows::read_footer() {
  constexpr std::string_view kEnd = "ARROW1";
  constexpr uint64_t kTail = sizeof(uint32_t) + kEnd.size(), kBlock = 24;
  std::string end;
  if (size_ < kFileBegins.size() + kTail)
    return damaged("its footer is missing: the file is truncated or still being written");
  RETURN_IF_ERROR(read_at(fd_.get(), size_ - kTail, kTail, end));
  if (!end.ends_with(kEnd))
    return damaged("its footer is missing: the file is truncated or still being written");
  const uint64_t bytes = load<uint32_t>(end.data());
  if (bytes > size_ - kTail - kFileBegins.size()) return damaged("its footer is damaged");
  std::string text;
  RETURN_IF_ERROR(read_at(fd_.get(), size_ - kTail - bytes, bytes, text));
  FlatBuffer buffer(text);
  const FlatTable footer = FlatTable::root(buffer);
  const auto version = footer.number<int16_t>(0);
  if (!buffer.ok()) return damaged("its footer is damaged");
  RETURN_IF_ERROR(check_version(version));
  ASSIGN_OR_RETURN(Schema schema, read_schema(footer.table(1)));
  std::vector<Block> listed;
  for (const auto& [list, kind] : {std::pair{2, kDictionary}, std::pair{3, kBatch}}) {
    const FlatVector blocks = footer.vector(list, kBlock);
    for (uint64_t i = 0; i < blocks.size(); ++i) {
      listed.push_back({.at = static_cast<uint64_t>(blocks.number<int64_t>(i, kBlock)),
                        .head_bytes = static_cast<uint32_t>(blocks.number<int32_t>(i, kBlock, 8)),
                        .body_bytes = static_cast<uint64_t>(blocks.number<int64_t>(i, kBlock, 16)),
                        .kind = kind});
    }
  }
  if (!buffer.ok()) return damaged("its footer is damaged");
  at_ = kFileBegins.size();
  in_file_ = true;
  // Some versions of polars write the schema without its length.
  const absl::StatusOr<Schema> first = read_first_message();
  if (first.ok() && *first != schema)
    return damaged("its footer and its first message name different columns");
  uint64_t begin = at_;
  if (!first.ok()) begin = size_;
  for (const Block& block : listed) begin = first.ok() ? begin : std::min(begin, block.at);
  blocks_ = std::move(listed);
  if (begin < size_) RETURN_IF_ERROR(check_blocks(begin, size_ - kTail - bytes));
  return schema;
}

// The messages that the footer lists fill the file between its schema and its footer, except for padding and
// the end of the stream.
absl::Status ArrowRows::check_blocks(uint64_t begin, uint64_t end) const {
  constexpr uint64_t kMostPadding = 64, kEndOfStream = 2 * sizeof(uint32_t);
  std::vector<Block> blocks = *blocks_;
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.at < b.at; });
  for (const Block& block : blocks) {
    if (block.at > size_ || block.body_bytes > size_ || block.end() > end)
      return damaged("its footer names a place behind the end of the file");
    if (block.at < begin || block.at - begin >= kMostPadding) {
      return damaged(fmt::format("bytes {} to {} are in none of the batches that its footer names, or in two",
                                 std::min(begin, block.at), std::max(begin, block.at)));
    }
    begin = block.end();
  }
  if (end - begin >= kMostPadding + kEndOfStream)
    return damaged(
        fmt::format("bytes {} to {} are in none of the batches that its footer names", begin, end));
  return absl::OkStatus();
}

absl::StatusOr<Schema> ArrowRows::read_first_message() {
  Message message;
  ASSIGN_OR_RETURN(const bool any, next_message(message));
  if (!any || message.kind != kSchema) return damaged("it does not begin with a schema");
  FlatBuffer buffer(message.head);
  ASSIGN_OR_RETURN(Schema schema, read_schema(FlatTable::root(buffer).table(2)));
  if (!buffer.ok()) return damaged("its schema is damaged");
  return schema;
}

// Returns false if there are no more messages.
absl::StatusOr<bool> ArrowRows::next_message(Message& out) {
  if (!blocks_) return read_message(out);
  if (block_ == blocks_->size()) return false;
  const Block& block = (*blocks_)[block_++];
  at_ = block.at;
  ASSIGN_OR_RETURN(const bool any, read_message(out));
  if (!any) return damaged("its footer names a place where nothing begins");
  if (out.kind != block.kind || out.body_bytes != block.body_bytes || out.body - block.at != block.head_bytes)
    return damaged(fmt::format("byte {}: the message is not the one that its footer names", message_));
  return true;
}

// Reads the message at at_. Returns false at the end of the stream.
absl::StatusOr<bool> ArrowRows::read_message(Message& out) {
  message_ = at_;
  if (size_ == at_) return false;
  std::string prefix;
  RETURN_IF_ERROR(read_at(fd_.get(), at_, std::min(size_ - at_, 2 * sizeof(uint32_t)), prefix));
  if (prefix.size() < sizeof(uint32_t)) return damaged("the file ends too early");
  uint64_t head_bytes = 0;
  if (prefix.starts_with(kStreamBegins)) {
    if (prefix.size() < 2 * sizeof(uint32_t)) return damaged("the file ends too early");
    head_bytes = load<uint32_t>(prefix.data() + sizeof(uint32_t));
  } else {
    // Files and streams before Arrow 0.15 have no such prefix.
    if (!in_file_ && !old_stream_) return damaged(fmt::format("byte {}: no message begins here", message_));
    prefix.resize(sizeof(uint32_t));
    head_bytes = load<uint32_t>(prefix.data());
  }
  at_ += prefix.size();
  if (head_bytes == 0) {
    if (in_file_ || at_ == size_) return false;
    return damaged(fmt::format("byte {}: the stream ends here, and {} bytes follow", message_, size_ - at_));
  }
  if (head_bytes > kMostHead || head_bytes > size_ - at_) return damaged("the file ends too early");
  RETURN_IF_ERROR(read_at(fd_.get(), at_, head_bytes, out.head));
  counter_->fetch_add(prefix.size() + head_bytes, std::memory_order_relaxed);
  at_ += head_bytes;
  FlatBuffer head(out.head);
  const FlatTable message = FlatTable::root(head);
  out.version = message.number<int16_t>(0);
  out.kind = message.number<uint8_t>(1);
  out.body = at_;
  out.body_bytes = static_cast<uint64_t>(message.number<int64_t>(3));
  if (!head.ok()) return damaged(fmt::format("byte {}: the message is damaged", message_));
  RETURN_IF_ERROR(check_version(out.version));
  if (out.body_bytes > size_ - at_) return damaged("the file ends too early");
  at_ += out.body_bytes;
  return true;
}

absl::Status ArrowRows::read_dictionary(const Message& message, const FlatTable& dictionary) {
  const auto id = dictionary.number<int64_t>(0);
  if (!schema_.dictionaries.contains(id)) return damaged(fmt::format("no column has the dictionary {}", id));
  const Field* field = find_dictionary(fields_, id);
  if (field == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const BatchHead head,
                   read_batch_head(dictionary.table(1), message.version, message.body_bytes));
  if (head.nodes.empty() || head.nodes[0] != head.rows)
    return damaged(fmt::format("it does not have its {} values", head.rows));
  Field alone = *field;
  alone.node = alone.buffer = alone.views_before = alone.unions_before = 0;
  ASSIGN_OR_RETURN(Values values, Values::read(alone, false, head,
                                               Body(fd_.get(), message.body, head.packing, counter_,
                                                    unpacked_dictionaries_)));
  std::vector<Values>& parts = dictionaries_[id];
  if (!dictionary.truth(2)) parts.clear();
  parts.push_back(std::move(values));
  return absl::OkStatus();
}

// Reads the next batch with rows that no earlier run has read. Returns false if there is none.
absl::StatusOr<bool> ArrowRows::next_batch() {
  Message message;
  while (true) {
    lost_end_ = true;  // until the number of rows of the next batch is known
    row_ = rows_ = 0;
    ASSIGN_OR_RETURN(const bool more, next_message(message));
    if (!more && to_skip_ > 0) {
      return damaged(
          fmt::format("the file has fewer rows than the {} that were read from it earlier", skipped_));
    }
    if (!more) return false;
    FlatBuffer buffer(message.head);
    const FlatTable head = FlatTable::root(buffer).table(2);
    if (message.kind == kDictionary)
      RETURN_IF_ERROR(in_batch("a dictionary: ", read_dictionary(message, head)));
    if (message.kind == kDictionary) continue;
    if (message.kind != kBatch)
      return damaged(fmt::format("byte {}: a message that is neither a batch nor a dictionary", message_));
    ++batches_;
    const absl::StatusOr<BatchHead> batch = read_batch_head(head, message.version, message.body_bytes);
    if (!batch.ok()) return in_batch({}, batch.status());
    if (!buffer.ok()) return in_batch({}, damaged("its head is damaged"));
    RETURN_IF_ERROR(in_batch({}, check_batch(*batch, schema_)));
    if (batch->rows <= to_skip_) {
      to_skip_ -= batch->rows;
      continue;
    }
    row_ = std::exchange(to_skip_, 0);
    rows_ = batch->rows;
    lost_end_ = false;
    RETURN_IF_ERROR(read_batch(message, *batch));
    return true;
  }
}

absl::Status ArrowRows::read_batch(const Message& message, const BatchHead& batch) {
  values_.clear();
  unpacked_ = {};
  const Body body(fd_.get(), message.body, batch.packing, counter_, unpacked_);
  for (const Field& field : fields_) {
    absl::StatusOr<NestedValues> values = NestedValues::read(field, batch, body);
    if (!values.ok()) return in_batch({}, values.status());
    const uint64_t size = values->values().size();
    if (size != batch.rows) {
      return in_batch(fmt::format("column \"{}\": ", field.column.name),
                      damaged(fmt::format("it has {} values for {} rows", size, batch.rows)));
    }
    values_.push_back(*std::move(values));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ArrowRows::next(std::vector<tables::Cell>& out) {
  if (row_ == rows_) {
    ASSIGN_OR_RETURN(const bool more, next_batch());
    if (!more) return false;
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    const absl::Status status = read_cell(i, out[i]);
    if (!status.ok()) return in_batch(fmt::format("column \"{}\": ", fields_[i].column.name), status);
  }
  ++row_;
  return true;
}

absl::Status ArrowRows::read_cell(size_t column, tables::Cell& out) {
  const Field& field = fields_[column];
  if (field.column.kind != tables::Kind::value) {
    std::string& json = json_[column];
    json.clear();
    const auto lookup = [this](const Field& of_field, const tables::Cell& place, tables::Cell& value) {
      return find(of_field, place, value);
    };
    RETURN_IF_ERROR(values_[column].append(row_, lookup, row_bytes_, json));
    out = {.there = true, .bytes = json};
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(values_[column].values().get(row_, out));
  if (!field.dictionary || !out.there) return absl::OkStatus();
  const tables::Cell place = out;
  return find(field, place, out);
}

// The next message can still be found, because the head of this one gave its length. Its rows are useful
// unless a dictionary was lost.
std::optional<uint64_t> ArrowRows::give_up() {
  struct stat info = {};
  if (lost_end_ || ::fstat(fd_.get(), &info) != 0 || static_cast<uint64_t>(info.st_size) != size_)
    return std::nullopt;
  const uint64_t lost = rows_ - row_;
  row_ = rows_ = 0;
  return lost;
}

// Looks up an index in the dictionary of a field.
absl::Status ArrowRows::find(const Field& field, const tables::Cell& place, tables::Cell& out) const {
  auto at = static_cast<uint64_t>(place.number);
  if (const auto parts = dictionaries_.find(*field.dictionary); parts != dictionaries_.end()) {
    for (const Values& part : parts->second) {
      if (at < part.size()) return part.get(at, out);
      at -= part.size();
    }
  }
  return damaged(fmt::format("place {} is not in its dictionary", place.number));
}

absl::Status ArrowRows::in_batch(const std::string& column, const absl::Status& status) const {
  if (status.ok()) return status;
  const uint64_t batch = batches_ == 0 ? 0 : batches_ - 1;
  return {status.code(), absl_sv(fmt::format("batch {}, {}{}", batch, column, std_sv(status.message())))};
}

}  // namespace doppel::arrow
