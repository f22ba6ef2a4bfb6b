#pragma once
// Keeps unique records: in one file, as the rows of a table, in one file for each input, or as copies of
// whole files.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/rule.h"
#include "files/output_file.h"
#include "files/parquet/row_copy.h"
#include "files/write/outputs.h"
#include "formats/decoder.h"
#include "formats/fields.h"
#include "pipeline/stream.h"

namespace doppel {

// Removes passages from the texts of records.
class TextCutter {
 public:
  // The format of the records must pass check_format_of_plain_texts().
  explicit TextCutter(const FormatOptions& format);

  struct Shorter {
    std::string record, text;  // without the passages
    std::string column;        // that holds the text, if the record is a row
    bool empty = false;        // the shorter text has only space
  };
  // `cut`: bytes of the document's text, disjoint, ascending. Nullopt: the record does not hold its text as
  // it is compared.
  std::optional<Shorter> without(const Record& record, std::span<const ByteRange> cut);

 private:
  TextField field_;
  std::unique_ptr<Decoder> decoder_;
};

class Keeper {
 public:
  // `lengths` are those of an earlier run, if `resume`.
  static absl::StatusOr<std::unique_ptr<Keeper>> open(const FilesSinkOptions& options, bool resume,
                                                      const std::vector<OutputLength>& lengths,
                                                      std::function<void(const std::string&)> report);
  // Call it for each record of the input in order. `kept` says whether to keep the record.
  absl::Status keep(const Record& record, bool kept);
  // The record without some bytes of its text, or nullopt if nothing is to be cut.
  std::optional<TextCutter::Shorter> without(const Record& record, std::span<const ByteRange> cut);
  // Keeps the record with a shorter text, unless that is empty.
  absl::Status keep_shorter(const Record& record, TextCutter::Shorter shorter,
                            std::span<const ByteRange> cut);
  // Copies a whole file below keep_files, or else below keep_directory.
  absl::Status copy_file(std::string_view source);
  // The file that is being written; nullptr if there is none.
  OutputFile* file() const { return file_.get(); }
  // Whether the file has the records that earlier runs kept, also originals that come again.
  bool has_earlier() const { return has_earlier_; }
  absl::Status finish();

  // How many unique documents could not be kept, and which is the first.
  struct NotKept {
    uint64_t count = 0;
    std::string first;
  };
  // WARC records, and records of another kind than those in the one file. `first` is a message.
  const NotKept& records_not_kept() const { return records_not_kept_; }
  // Whole files, with neither keep_files nor keep_directory, or behind a URL or a pipe.
  const NotKept& files_not_kept() const { return files_not_kept_; }
  uint64_t not_kept() const { return records_not_kept_.count + files_not_kept_.count; }
  // The documents that were cut, the documents whose text became empty, and the bytes that were cut.
  struct Cut {
    uint64_t documents = 0, emptied = 0, bytes = 0;
  };
  const Cut& cut() const { return cut_; }

 private:
  Keeper(const FilesSinkOptions& options, std::function<void(const std::string&)> report)
      : options_(options), report_(std::move(report)) {}
  absl::Status keep_record(const Record& record);
  bool copies_files() const { return !options_.keep_files.empty() || !options_.keep_directory.empty(); }
  absl::StatusOr<bool> make_place(const std::string& to, std::string_view source);
  absl::StatusOr<std::string> place_of_copy(std::string_view source);
  absl::Status miss_file(std::string_view source);
  bool admits(const Record& record);
  absl::Status keep_warc(const Record& record);
  absl::Status keep_rows_of(std::string_view source);
  absl::Status keep_beside(const Record& record);

  const FilesSinkOptions options_;
  std::function<void(const std::string&)> report_;
  std::unique_ptr<OutputFile> file_;
  std::unique_ptr<parquet::RowCopy> rows_;  // instead of file_
  std::unique_ptr<TextCutter> cutter_;
  std::string source_;  // the input of file_ (with keep_directory), or of the rows
  absl::flat_hash_map<std::string, std::string> kept_;  // path -> its source
  std::string_view kind_;                               // of the records in file_; empty: not known yet
  Cut cut_;
  NotKept records_not_kept_, files_not_kept_;
  bool has_earlier_ = false;
};

}  // namespace doppel
