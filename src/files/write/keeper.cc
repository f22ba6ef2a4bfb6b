#include "files/write/keeper.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "files/places.h"

namespace doppel {

TextCutter::TextCutter(const FormatOptions& format) : field_(format), decoder_(make_decoder(format)) {}

std::optional<TextCutter::Shorter> TextCutter::without(const Record& record, std::span<const ByteRange> cut) {
  const std::optional<TextField::Place> place = field_.find(record);
  Document document;
  if (!place || !decoder_->decode(record, document).ok()) return std::nullopt;
  if (document.page || !document.charset.empty()) return std::nullopt;  // the record has other bytes
  Shorter out{.column = std::string(place->column)};
  size_t at = 0;
  for (const ByteRange& range : cut) {
    DOPPEL_CHECK(at <= range.begin && range.begin < range.end && range.end <= document.text.size(),
                 "what is cut is in the text, in order", at, range.begin, range.end, document.text.size());
    out.text += document.text.substr(at, range.begin - at);
    at = range.end;
  }
  out.text += document.text.substr(at);
  out.empty = out.text.find_first_not_of(" \t\r\n") == std::string::npos;
  out.record = field_.replaced(record, *place, out.text);
  return out;
}

namespace {

namespace fs = std::filesystem;

// The path of a kept file: inside the directory, whatever the source is called.
fs::path kept_path(const std::string& directory, std::string_view source) {
  fs::path out(directory);
  // "s3://bucket/key" becomes "s3/bucket/key", because a colon is no part of a name everywhere.
  std::string name(source);
  if (is_url(name)) name.erase(name.find(':'), 1);
  for (const fs::path& part : fs::path(name).relative_path()) {
    if (part != ".." && part != ".") out /= part;
  }
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Keeper>> Keeper::open(const FilesSinkOptions& options, bool resume,
                                                     const std::vector<OutputLength>& lengths,
                                                     std::function<void(const std::string&)> report) {
  std::unique_ptr<Keeper> keeper(new Keeper(options, std::move(report)));
  if (options.keep.ends_with(".parquet")) {
    ASSIGN_OR_RETURN(keeper->rows_, parquet::RowCopy::open(options.keep, options.kept_columns));
  } else {
    ASSIGN_OR_RETURN(keeper->file_, open_output(options.keep, resume, lengths));
    keeper->has_earlier_ = keeper->file_ != nullptr && keeper->file_->length() != 0;
  }
  if (options.cut.has_value()) keeper->cutter_ = std::make_unique<TextCutter>(*options.cut);
  for (const std::string& directory : {options.keep_files, options.keep_directory}) {
    if (directory.empty()) continue;
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) return io_error("cannot make the directory " + directory, error.value());
  }
  return keeper;
}

std::optional<TextCutter::Shorter> Keeper::without(const Record& record, std::span<const ByteRange> cut) {
  if (cutter_ == nullptr) return std::nullopt;
  return cutter_->without(record, cut);
}

// Makes the directory of `to`, which is to hold what is kept of `source`. Returns whether it holds nothing of
// it yet.
absl::StatusOr<bool> Keeper::make_place(const std::string& to, std::string_view source) {
  const auto [known, fresh] = kept_.try_emplace(to, source);
  if (!fresh && known->second != source) {
    return invalid(
        fmt::format("{} and {} would both be kept as {}; give them in two runs", known->second, source, to));
  }
  std::error_code error;
  fs::create_directories(fs::path(to).parent_path(), error);
  // Removes the file first, because it may be a link to another file.
  if (fresh && !error) fs::remove(to, error);
  if (error) return io_error(to, error.value());
  return fresh;
}

// Opens the output for the record's source as file_. Inputs are read one after the other, so one open file
// is enough.
absl::Status Keeper::keep_beside(const Record& record) {
  const std::string_view source = record.source;
  if (file_ != nullptr && source_ == source) return absl::OkStatus();
  if (file_ != nullptr) RETURN_IF_ERROR(file_->finish());
  file_.reset();
  fs::path to = kept_path(options_.keep_directory, source == "-" ? "stdin.jsonl" : source);
  if (record.row) to += ".jsonl";  // rows are kept as lines
  ASSIGN_OR_RETURN(const bool fresh, make_place(to.string(), source));
  std::error_code error;
  ASSIGN_OR_RETURN(file_, fresh ? OutputFile::open(to.string())
                                : OutputFile::resume(to.string(), fs::file_size(to, error)));
  source_ = source;
  return absl::OkStatus();
}

// Copies the rows of the previous input when the next one begins; inputs are read one after the other.
absl::Status Keeper::keep_rows_of(std::string_view source) {
  if (source_ == source) return absl::OkStatus();
  if (!source_.empty()) RETURN_IF_ERROR(rows_->end());
  source_ = source;
  return rows_->begin(source_);
}

absl::Status Keeper::keep(const Record& record, bool kept) {
  if (rows_ != nullptr) RETURN_IF_ERROR(keep_rows_of(record.source));
  if (!options_.keep_directory.empty() && !record.whole_file) RETURN_IF_ERROR(keep_beside(record));
  return kept ? keep_record(record) : absl::OkStatus();
}

// Keeps the record with a shorter text, unless the text is empty.
absl::Status Keeper::keep_shorter(const Record& record, TextCutter::Shorter shorter,
                                  std::span<const ByteRange> cut) {
  ++cut_.documents;
  for (const ByteRange& range : cut) cut_.bytes += range.end - range.begin;
  if (shorter.empty) {
    ++cut_.emptied;
    return keep(record, false);
  }
  if (rows_ != nullptr) {
    RETURN_IF_ERROR(keep_rows_of(record.source));
    rows_->add_with(record.offset, shorter.column, std::move(shorter.text));
    return absl::OkStatus();
  }
  if (record.whole_file) {
    if (!copies_files()) return miss_file(record.source);
    ASSIGN_OR_RETURN(const std::string to, place_of_copy(record.source));
    ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> out, OutputFile::open(to));
    out->append(shorter.record);
    return out->finish();
  }
  Record other = record;
  other.value = shorter.record;
  return keep(other, true);
}

absl::StatusOr<std::string> Keeper::place_of_copy(std::string_view source) {
  const fs::path to =
      kept_path(options_.keep_files.empty() ? options_.keep_directory : options_.keep_files, source);
  RETURN_IF_ERROR(make_place(to.string(), source).status());
  return to.string();
}

// Counts a unique document that no output can hold. Nobody misses it if nothing is kept.
absl::Status Keeper::miss_file(std::string_view source) {
  if (options_.keep.empty() && options_.keep_directory.empty()) return absl::OkStatus();
  if (files_not_kept_.count++ == 0) files_not_kept_.first = source;
  return absl::OkStatus();
}

// One file holds one kind of records, or nobody could read it. The source refuses local files of several
// kinds before the run; here is what it cannot know then.
bool Keeper::admits(const Record& record) {
  const std::string_view kind = record.warc ? "WARC records" : record.mail ? "mail" : "lines";
  if (kind_.empty() || !options_.keep_directory.empty()) kind_ = kind;
  if (kind_ == kind) return true;
  if (records_not_kept_.count++ == 0) {
    records_not_kept_.first =
        fmt::format("{}: byte {}: {}, but {} has {}; a directory (--keep DIR/) gets a file for each input",
                    record.source, record.offset, kind, options_.keep, kind_);
  }
  return false;
}

absl::Status Keeper::keep_record(const Record& record) {
  if (rows_ != nullptr) {
    rows_->add(record.offset);
    return absl::OkStatus();
  }
  if (!record.whole_file) {
    if (file_ == nullptr || !admits(record)) return absl::OkStatus();
    if (!record.warc) {
      file_->append(record.value);
      file_->append("\n");
      return absl::OkStatus();
    }
    return keep_warc(record);
  }
  std::error_code none;
  const bool there = copies_files() && fs::is_regular_file(fs::path(record.source), none);
  return there ? copy_file(record.source) : miss_file(record.source);
}

absl::Status Keeper::copy_file(std::string_view source) {
  ASSIGN_OR_RETURN(const std::string to, place_of_copy(source));
  std::error_code error;
  fs::copy_file(fs::path(source), to, fs::copy_options::overwrite_existing, error);
  if (error) return io_error(fmt::format("cannot copy {} to {}", source, to), error.value());
  return absl::OkStatus();
}

absl::Status Keeper::keep_warc(const Record& record) {
  if (record.rest != nullptr && record.rest->bytes == nullptr) {
    const std::string which =
        fmt::format("{}: byte {}: the record is not kept: {}", record.source, record.offset,
                    record.rest->missing.empty() ? "it is too large to be held" : record.rest->missing);
    report_(which);
    if (records_not_kept_.count++ == 0) records_not_kept_.first = which;
    return absl::OkStatus();
  }
  file_->append(record.value);
  while (record.rest != nullptr) {
    ASSIGN_OR_RETURN(const std::string_view piece, record.rest->bytes->next());
    if (piece.empty()) break;
    RETURN_IF_ERROR(file_->stream(piece));
  }
  file_->append("\r\n\r\n");
  return file_->is_packed() ? file_->flush() : absl::OkStatus();  // one member per record
}

absl::Status Keeper::finish() {
  if (file_ != nullptr) RETURN_IF_ERROR(file_->finish());
  if (rows_ == nullptr) return absl::OkStatus();
  if (!source_.empty()) RETURN_IF_ERROR(rows_->end());
  return rows_->finish();
}

}  // namespace doppel
