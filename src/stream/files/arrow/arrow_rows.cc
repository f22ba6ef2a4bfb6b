#include "stream/files/arrow/arrow_rows.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/status.h"
#include "stream/files/tables/choice.h"

namespace doppel::arrow {
namespace {

constexpr uint8_t kSchema = 1, kDictionary = 2, kBatch = 3;
constexpr uint64_t kMostHead = 256 << 20;  // bytes of what describes a message

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

}  // namespace

absl::StatusOr<std::vector<tables::Column>> ArrowRows::open(const FormatOptions& format, uint64_t skip) {
  skipped_ = to_skip_ = skip;
  struct stat info = {};
  if (::fstat(fd_.get(), &info) != 0) return io_error("cannot be read");
  size_ = static_cast<uint64_t>(info.st_size);
  std::string begins;
  RETURN_IF_ERROR(read_at(fd_.get(), 0, std::min<uint64_t>(size_, kFileBegins.size()), begins));
  ASSIGN_OR_RETURN(const std::vector<Field> all,
                   begins == kFileBegins ? read_footer() : read_first_message());
  std::vector<tables::Column> columns;
  columns.reserve(all.size());
  for (const Field& field : all) columns.push_back(field.column);
  ASSIGN_OR_RETURN(columns, tables::choose_columns(columns, format));
  for (const tables::Column& column : columns) fields_.push_back(all[column.leaf]);
  return columns;
}

// The last bytes of a file: the footer, its length, and the magic word again.
absl::StatusOr<std::vector<Field>> ArrowRows::read_footer() {
  constexpr std::string_view kEnd = "ARROW1";
  constexpr uint64_t kTail = sizeof(uint32_t) + kEnd.size(), kBlock = 24;
  std::string end;
  if (size_ < kFileBegins.size() + kTail) return damaged("its end is missing");
  RETURN_IF_ERROR(read_at(fd_.get(), size_ - kTail, kTail, end));
  if (!end.ends_with(kEnd))
    return damaged("its end is missing; a part of it is lost, or it is still written");
  const uint64_t bytes = load<uint32_t>(end.data());
  if (bytes > size_ - kTail - kFileBegins.size()) return damaged("its footer is damaged");
  std::string text;
  RETURN_IF_ERROR(read_at(fd_.get(), size_ - kTail - bytes, bytes, text));
  FlatBuffer buffer(text);
  const FlatTable footer = FlatTable::root(buffer);
  ASSIGN_OR_RETURN(std::vector<Field> fields, read_schema(footer.table(1)));
  blocks_.emplace();
  for (const int list : {2, 3}) {  // dictionaries, batches
    const FlatVector blocks = footer.vector(list, kBlock);
    for (uint64_t i = 0; i < blocks.size(); ++i)
      blocks_->push_back(static_cast<uint64_t>(blocks.number<int64_t>(i, kBlock)));
  }
  if (!buffer.ok()) return damaged("its footer is damaged");
  return fields;
}

absl::StatusOr<std::vector<Field>> ArrowRows::read_first_message() {
  Message message;
  ASSIGN_OR_RETURN(const bool any, next_message(message));
  if (!any || message.kind != kSchema) return damaged("it does not begin with a schema");
  FlatBuffer buffer(message.head);
  ASSIGN_OR_RETURN(std::vector<Field> fields, read_schema(FlatTable::root(buffer).table(2)));
  if (!buffer.ok()) return damaged("its schema is damaged");
  return fields;
}

// False: there is none any more.
absl::StatusOr<bool> ArrowRows::next_message(Message& out) {
  if (!blocks_) return read_message(out);
  if (block_ == blocks_->size()) return false;
  at_ = (*blocks_)[block_++];
  if (at_ >= size_) return damaged("its footer names a place behind the end of the file");
  ASSIGN_OR_RETURN(const bool any, read_message(out));
  if (!any) return damaged("its footer names a place where nothing begins");
  return true;
}

// The one at at_. False: the stream ends here.
absl::StatusOr<bool> ArrowRows::read_message(Message& out) {
  message_ = at_;
  if (size_ == at_) return false;
  std::string prefix;
  RETURN_IF_ERROR(read_at(fd_.get(), at_, 2 * sizeof(uint32_t), prefix));
  at_ += prefix.size();
  uint64_t head_bytes = load<uint32_t>(prefix.data() + sizeof(uint32_t));
  if (!prefix.starts_with(kStreamBegins)) {
    if (!blocks_) return damaged(fmt::format("byte {}: no message begins here", message_));
    head_bytes = load<uint32_t>(prefix.data());  // as files were once written
    at_ -= sizeof(uint32_t);
  }
  if (head_bytes == 0) return false;
  if (head_bytes > kMostHead || head_bytes > size_ - at_) return damaged("the file ends too early");
  RETURN_IF_ERROR(read_at(fd_.get(), at_, head_bytes, out.head));
  counter_->fetch_add(prefix.size() + head_bytes, std::memory_order_relaxed);
  at_ += head_bytes;
  FlatBuffer head(out.head);
  const FlatTable message = FlatTable::root(head);
  out.kind = message.number<uint8_t>(1);
  out.body = at_;
  out.body_bytes = static_cast<uint64_t>(message.number<int64_t>(3));
  if (!head.ok()) return damaged(fmt::format("byte {}: the message is damaged", message_));
  if (out.body_bytes > size_ - at_) return damaged("the file ends too early");
  at_ += out.body_bytes;
  return true;
}

absl::Status ArrowRows::read_dictionary(const Message& message, const FlatTable& dictionary) {
  const auto id = dictionary.number<int64_t>(0);
  const auto field =
      std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.dictionary == id; });
  if (field == fields_.end()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const BatchHead head, read_batch_head(dictionary.table(1), message.body_bytes));
  Field alone = *field;
  alone.node = alone.buffer = alone.views_before = 0;
  ASSIGN_OR_RETURN(Values values,
                   Values::read(alone, false, head, Body(fd_.get(), message.body, head.packing, counter_)));
  std::vector<Values>& parts = dictionaries_[id];
  if (!dictionary.truth(2)) parts.clear();
  parts.push_back(std::move(values));
  return absl::OkStatus();
}

// The next one that has rows which no earlier run has read. False: there is none.
absl::StatusOr<bool> ArrowRows::next_batch() {
  Message message;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, next_message(message));
    if (!more && to_skip_ > 0) {
      return damaged(
          fmt::format("the file has fewer rows than the {} that were read of it earlier", skipped_));
    }
    if (!more) return false;
    FlatBuffer buffer(message.head);
    const FlatTable head = FlatTable::root(buffer).table(2);
    if (message.kind == kDictionary)
      RETURN_IF_ERROR(in_batch("a dictionary: ", read_dictionary(message, head)));
    if (message.kind != kBatch) continue;
    ++batches_;
    const absl::StatusOr<BatchHead> batch = read_batch_head(head, message.body_bytes);
    if (!batch.ok()) return in_batch({}, batch.status());
    if (!buffer.ok()) return in_batch({}, damaged("its head is damaged"));
    if (batch->rows <= to_skip_) {
      to_skip_ -= batch->rows;
      continue;
    }
    values_.clear();
    const Body body(fd_.get(), message.body, batch->packing, counter_);
    for (const Field& field : fields_) {
      const std::string column = fmt::format("column \"{}\": ", field.column.name);
      absl::StatusOr<Values> values = Values::read(field, field.dictionary.has_value(), *batch, body);
      if (!values.ok()) return in_batch(column, values.status());
      if (values->size() != batch->rows)
        return in_batch(column,
                        damaged(fmt::format("it has {} values for {} rows", values->size(), batch->rows)));
      values_.push_back(*std::move(values));
    }
    row_ = std::exchange(to_skip_, 0);
    rows_ = batch->rows;
    return true;
  }
}

absl::StatusOr<bool> ArrowRows::next(std::vector<tables::Cell>& out) {
  if (row_ == rows_) {
    ASSIGN_OR_RETURN(const bool more, next_batch());
    if (!more) return false;
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    absl::Status status = values_[i].get(row_, out[i]);
    if (status.ok() && fields_[i].dictionary && out[i].there) {
      tables::Cell place = out[i];
      status = find(fields_[i], place, out[i]);
    }
    if (!status.ok()) return in_batch(fmt::format("column \"{}\": ", fields_[i].column.name), status);
  }
  ++row_;
  return true;
}

// What lies at this place of the dictionary.
absl::Status ArrowRows::find(const Field& field, tables::Cell& place, tables::Cell& out) const {
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
