#pragma once
// The rows of a CSV or TSV file (RFC 4180). Its first row names the columns; all values are texts. The file
// may be compressed, and in any charset that a text may have.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_stream.h"
#include "files/tables/rows.h"
#include "formats/bytes/charset.h"

namespace doppel::csv {

// One row of a text: its fields, and where the next row begins.
struct Row {
  std::vector<std::string_view> fields;  // in the text, or in `unquoted`
  std::deque<std::string> unquoted;      // fields that hold quotation marks
  size_t end = 0;
  uint64_t lines = 0;     // line feeds up to `end`
  bool unclosed = false;  // a quotation mark is not closed up to the end of the text
};
enum class Parsed { row, wants_more, no_row };
// Parses the row at the beginning of `text`. wants_more: the text ends within the row; never if it is `all`.
// no_row: quotation marks are wrong, and `end` is behind the next line feed.
Parsed parse_row(std::string_view text, char separator, bool all, Row& out);

// The character between the fields of a header: a comma, a semicolon, a tab or a vertical bar.
char separator_of(std::string_view header);

class CsvRows final : public tables::Rows {
 public:
  // `tabs`: the fields are separated by tabs, whatever the header says. A row may have `row_bytes`.
  CsvRows(std::unique_ptr<ByteStream> stream, bool tabs, uint64_t row_bytes)
      : stream_(std::move(stream)), tabs_(tabs), row_bytes_(row_bytes) {
    decoder_.begin_pieces();
  }

  absl::StatusOr<std::vector<tables::Column>> open(const FormatOptions& format, uint64_t skip) override;
  absl::StatusOr<bool> next(std::vector<tables::Cell>& out) override;
  uint64_t place() const override { return stream_->disk_bytes(); }
  std::string_view wrong_row() const override { return lost_end_ ? std::string_view() : last_row(); }
  Open open_rows() const override {
    return open_rows_ == 0 ? Open{} : Open{.rows = open_rows_, .bytes = offset() - open_at_};
  }
  absl::StatusOr<uint64_t> skip_seen(uint64_t bytes) override;

 private:
  // Sets row_. False: there are no more rows.
  absl::StatusOr<bool> read_row();
  absl::Status read_more();
  uint64_t offset() const { return erased_ + begin_; }
  std::string_view last_row() const;  // without the end of its line

  std::unique_ptr<ByteStream> stream_;
  const bool tabs_;
  const uint64_t row_bytes_;
  CharsetDecoder decoder_;
  std::string text_;  // decoded; the current row begins at begin_
  size_t begin_ = 0;
  uint64_t erased_ = 0;                   // decoded bytes that were in front of text_
  uint64_t open_rows_ = 0, open_at_ = 0;  // their number, and the offset of the first
  bool ended_ = false;                    // all bytes are in text_
  bool lost_end_ = false;                 // the rest cannot be read
  char separator_ = ',';
  size_t width_ = 0;            // fields of the header
  std::vector<size_t> chosen_;  // their numbers
  Row row_;
  uint64_t line_ = 1;  // of the current row
};

}  // namespace doppel::csv
