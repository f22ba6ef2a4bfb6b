#include "files/csv/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/status.h"
#include "files/tables/table_reader.h"

namespace doppel::csv {
namespace {

constexpr size_t kRead = 256 << 10;
constexpr std::string_view kSeparators = ",;\t|";

uint64_t lines_in(std::string_view text) {
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// The end of a field that begins with a quotation mark: behind the closing one; npos if there is none. A
// quotation mark in the field is doubled.
size_t end_of_quoted(std::string_view text, size_t begin, bool& doubled) {
  for (size_t at = text.find('"', begin + 1); at != text.npos; at = text.find('"', at + 2)) {
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    doubled = true;
  }
  return text.npos;
}

std::string without_doubles(std::string_view quoted) {
  std::string out;
  out.reserve(quoted.size());
  for (size_t i = 0; i < quoted.size(); ++i) {
    out += quoted[i];
    if (quoted[i] == '"') ++i;
  }
  return out;
}

}  // namespace

Parsed parse_row(std::string_view text, char separator, bool all, Row& out) {
  out.fields.clear();
  out.unquoted.clear();
  out.unclosed = false;
  // Without a closing quotation mark only the line is lost, not the rest of the file.
  const auto no_row = [&] {
    const size_t feed = text.find('\n');
    if (feed == text.npos && !all) return Parsed::wants_more;
    out.end = feed == text.npos ? text.size() : feed + 1;
    out.lines = lines_in(text.substr(0, out.end));
    return Parsed::no_row;
  };
  size_t feed = text.npos;  // the end of the line in which the field begins, once that is known
  for (size_t at = 0;; ++at) {
    std::string_view field;
    size_t end = 0;
    if (at < text.size() && text[at] == '"') {
      bool doubled = false;
      end = end_of_quoted(text, at, doubled);
      out.unclosed = end == text.npos;
      if (out.unclosed || (end == text.size() && !all)) return all ? no_row() : Parsed::wants_more;
      field = text.substr(at + 1, end - at - 2);
      if (doubled) field = out.unquoted.emplace_back(without_doubles(field));
      if (end < text.size() && text[end] == '\r') ++end;
      if (end == text.size() && !all) return Parsed::wants_more;
      if (end < text.size() && text[end] != separator && text[end] != '\n') return no_row();
    } else {
      if (feed == text.npos || feed < at) feed = std::min(text.find('\n', at), text.size());
      if (feed == text.size() && !all) return Parsed::wants_more;
      end = std::min(text.substr(0, feed).find(separator, at), feed);
      field = text.substr(at, end - at);
      if ((end == text.size() || text[end] == '\n') && field.ends_with('\r')) field.remove_suffix(1);
    }
    out.fields.push_back(field);
    at = end;
    if (at < text.size() && text[at] == separator) continue;
    out.end = std::min(at + 1, text.size());
    out.lines = lines_in(text.substr(0, out.end));
    return Parsed::row;
  }
}

char separator_of(std::string_view header) {
  std::array<size_t, kSeparators.size()> counts{};
  bool quoted = false;
  for (const char c : header) {
    quoted = quoted != (c == '"');
    if (c == '\n' && !quoted) break;
    if (const size_t i = kSeparators.find(c); i != kSeparators.npos && !quoted) ++counts[i];
  }
  return kSeparators[static_cast<size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
}

absl::StatusOr<std::vector<tables::Column>> CsvRows::open(const FormatOptions& format, uint64_t skip) {
  RETURN_IF_ERROR(read_more());
  separator_ = tabs_ ? '\t' : separator_of(text_);
  ASSIGN_OR_RETURN(const bool any, read_row());
  if (!any) return absl::DataLossError("it has no header");
  std::vector<tables::Column> columns;
  std::set<std::string_view> names;
  for (const std::string_view name : row_.fields) {
    if (!name.empty() && !names.insert(name).second)
      return absl::DataLossError(fmt::format("its header names two columns \"{}\"", name));
    columns.push_back({.name = std::string(name), .leaf = columns.size(), .optional = true});
  }
  width_ = columns.size();
  std::erase_if(columns, [](const tables::Column& column) { return column.name.empty(); });
  ASSIGN_OR_RETURN(columns, tables::choose_columns(columns, format));
  for (const tables::Column& column : columns) chosen_.push_back(column.leaf);
  for (; skip > 0; --skip) {
    const absl::StatusOr<bool> row = read_row();
    if (!row.ok() && lost_end_) return row.status();
    if (row.ok() && !*row)
      return absl::DataLossError("the file has fewer rows than were read from it earlier");
  }
  open_rows_ = 0;
  return columns;
}

absl::StatusOr<bool> CsvRows::next(std::vector<tables::Cell>& out) {
  ASSIGN_OR_RETURN(const bool any, read_row());
  if (!any) return false;
  if (row_.fields.size() > width_) {
    return absl::DataLossError(fmt::format("line {}: {} fields, but the header has {}", line_ - row_.lines,
                                           row_.fields.size(), width_));
  }
  for (size_t i = 0; i < chosen_.size(); ++i) {
    const bool there = chosen_[i] < row_.fields.size();
    out[i] = {.there = there, .bytes = there ? row_.fields[chosen_[i]] : std::string_view()};
  }
  return true;
}

std::string_view CsvRows::last_row() const {
  const std::string_view row = std::string_view(text_).substr(begin_ - row_.end, row_.end);
  return row.substr(0, row.find_last_not_of("\r\n") + 1);
}

absl::StatusOr<uint64_t> CsvRows::skip_seen(uint64_t bytes) {
  const uint64_t end = offset() + bytes;
  for (uint64_t rows = 0;; ++rows) {
    const absl::StatusOr<bool> row = read_row();
    if (!row.ok() && lost_end_) return row.status();
    if (row.ok() && !*row) return rows;
    if (offset() - row_.end + last_row().size() <= end) continue;
    // It has become longer, or is new. The next call reads it again.
    begin_ -= row_.end;
    line_ -= row_.lines;
    if (open_rows_ > 0) --open_rows_;
    return rows;
  }
}

absl::StatusOr<bool> CsvRows::read_row() {
  while (true) {
    const std::string_view text = std::string_view(text_).substr(begin_);
    if (text.empty() && ended_) return false;
    Parsed found = text.empty() ? Parsed::wants_more : parse_row(text, separator_, ended_, row_);
    if (found == Parsed::wants_more && text.size() <= row_bytes_) {
      RETURN_IF_ERROR(read_more());
      continue;
    }
    if (found == Parsed::wants_more) {
      found = parse_row(text, separator_, true, row_);
      if (found == Parsed::row) {
        lost_end_ = true;
        return absl::DataLossError(
            fmt::format("line {}: a row of more than the {} bytes that are allowed", line_, row_bytes_));
      }
    }
    // What follows an open row is open, too: it may turn out to be the inside of a field.
    const bool open = ended_ && (row_.unclosed || (row_.end == text.size() && !text.ends_with('\n')));
    const bool empty = found == Parsed::row && row_.fields.size() == 1 && row_.fields[0].empty();
    if (!empty && (open || open_rows_ > 0)) {
      if (open_rows_ == 0) open_at_ = offset();
      ++open_rows_;
    }
    begin_ += row_.end;
    line_ += row_.lines;
    if (found == Parsed::no_row) {
      return absl::DataLossError(fmt::format(
          "line {}: a quotation mark is not closed, or not at the end of its field", line_ - row_.lines));
    }
    if (!empty) return true;
  }
}

// Appends to text_. The row that is being read stays; rows before it go.
absl::Status CsvRows::read_more() {
  text_.erase(0, begin_);
  erased_ += begin_;
  begin_ = 0;
  std::string bytes(std::max(kRead, text_.size()), '\0');
  absl::StatusOr<size_t> got = stream_->read(bytes.data(), bytes.size());
  if (got.ok()) {
    ended_ = *got == 0;
    const absl::StatusOr<std::string_view> decoded = decoder_.next_piece({bytes.data(), *got});
    if (decoded.ok()) {
      text_ += *decoded;
      return absl::OkStatus();
    }
    got = decoded.status();
  }
  lost_end_ = true;
  return got.status();
}

}  // namespace doppel::csv
