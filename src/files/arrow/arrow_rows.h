#pragma once
// The rows of an Arrow file (.arrow, .feather), whose footer lists its messages, or of an Arrow stream in a
// file, whose messages follow each other. Holds one batch of rows in memory, with only the chosen columns.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files/arrow/batch.h"
#include "files/arrow/schema.h"
#include "files/byte_stream.h"
#include "files/tables/rows.h"

namespace doppel::arrow {

inline constexpr std::string_view kFileBegins{"ARROW1\0\0", 8};
inline constexpr std::string_view kStreamBegins = "\xff\xff\xff\xff";
// Whether a file begins as a stream of before Arrow 0.15, which had no such prefix.
bool is_old_stream(std::string_view head);

class ArrowRows final : public tables::Rows {
 public:
  // Adds the bytes that it reads to `counter`. Truncates the JSON of a nested column at row_bytes.
  ArrowRows(Fd fd, ByteCounter counter, uint64_t row_bytes = uint64_t{256} << 20)
      : fd_(std::move(fd)), counter_(std::move(counter)), row_bytes_(row_bytes) {}

  absl::StatusOr<std::vector<tables::Column>> open(const FormatOptions& format, uint64_t skip) override;
  absl::StatusOr<bool> next(std::vector<tables::Cell>& out) override;
  uint64_t place() const override { return message_; }
  std::optional<uint64_t> give_up() override;

 private:
  struct Message {
    uint8_t kind = 0;
    int16_t version = 0;
    std::string head;
    uint64_t body = 0, body_bytes = 0;
  };
  absl::StatusOr<Schema> read_footer();
  absl::StatusOr<Schema> read_first_message();
  absl::StatusOr<bool> next_message(Message& out);
  absl::StatusOr<bool> read_message(Message& out);
  absl::Status read_dictionary(const Message& message, const FlatTable& dictionary);
  absl::StatusOr<bool> next_batch();
  absl::Status read_batch(const Message& message, const BatchHead& batch);
  absl::Status read_cell(size_t column, tables::Cell& out);
  absl::Status find(const Field& field, const tables::Cell& place, tables::Cell& out) const;
  absl::Status in_batch(const std::string& column, const absl::Status& status) const;

  Fd fd_;
  ByteCounter counter_;
  const uint64_t row_bytes_;
  bool old_stream_ = false;
  bool in_file_ = false;                      // the messages are in a file with a footer
  uint64_t size_ = 0, at_ = 0, message_ = 0;  // of the file; of the next message, and of the current one
  // A message as the footer of a file lists it.
  struct Block {
    uint64_t at = 0, head_bytes = 0, body_bytes = 0;  // the head with its prefix
    uint8_t kind = 0;
    uint64_t end() const { return at + head_bytes + body_bytes; }
  };
  absl::Status check_blocks(uint64_t begin, uint64_t end) const;
  std::optional<std::vector<Block>> blocks_;  // of a file with a footer
  size_t block_ = 0;                          // the next entry of blocks_
  Schema schema_;                             // of all columns
  std::vector<Field> fields_;
  std::map<int64_t, std::vector<Values>> dictionaries_;  // by id; a dictionary may come in several parts
  Unpacked unpacked_, unpacked_dictionaries_;            // of this batch, and of all dictionaries
  std::vector<NestedValues> values_;                     // of the current batch, parallel to fields_
  std::vector<std::string> json_;                        // of the current row, for nested columns
  uint64_t row_ = 0, rows_ = 0;                          // of the current batch
  uint64_t batches_ = 0;
  bool lost_end_ = false;  // the messages behind this one cannot be found, or need a lost dictionary
  uint64_t skipped_ = 0, to_skip_ = 0;  // rows that earlier runs have read, and rows still to be skipped
};

}  // namespace doppel::arrow
