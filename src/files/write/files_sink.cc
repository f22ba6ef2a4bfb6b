#include "files/write/files_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/check.h"
#include "base/json_text.h"
#include "base/kill_point.h"
#include "base/status.h"
#include "formats/place.h"
#include "records/rejected_record.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

// What a commit stores: path and length of each output. The entry with an empty path holds the number up to
// which removed originals were announced.
struct Length {
  std::string path;
  uint64_t bytes = 0;
};

struct Position {
  std::vector<Length> lengths;
  std::optional<Seq> announced;
};

Position parse_position(std::string_view position) {
  Position out;
  ByteReader in(position);
  while (in.ok() && !in.rest().empty()) {
    std::string path(in.string());
    if (path.empty()) {
      out.announced = in.varint();
    } else {
      out.lengths.push_back({std::move(path), in.varint()});
    }
  }
  return out;
}

uint64_t committed_length(const std::vector<Length>& lengths, const std::string& path) {
  for (const Length& length : lengths) {
    if (length.path == path) return length.bytes;
  }
  return 0;
}

absl::StatusOr<std::unique_ptr<OutputFile>> open_output(const std::string& path, bool resume,
                                                        const std::vector<Length>& lengths) {
  if (path.empty()) return std::unique_ptr<OutputFile>();
  std::error_code ignored;
  if (!resume || path == "-" || !fs::exists(path, ignored)) return OutputFile::open(path);
  return OutputFile::resume(path, committed_length(lengths, path));
}

// The path of a kept file: inside the directory, whatever the source is called.
fs::path kept_path(const std::string& directory, std::string_view source) {
  fs::path out(directory);
  for (const fs::path& part : fs::path(source).relative_path()) {
    if (part != ".." && part != ".") out /= part;
  }
  return out;
}

}  // namespace

bool FilesSink::supports(const FilesSinkOptions& options, std::string_view position) {
  for (const Length& length : parse_position(position).lengths) {
    if (length.path != options.output && length.path != options.keep && length.path != options.rejects)
      continue;
    std::error_code error;
    if (!fs::is_regular_file(length.path, error)) continue;  // moved away: a new file begins
    if (fs::file_size(length.path, error) < length.bytes) return false;
  }
  return true;
}

absl::Status FilesSink::check_outputs_are_there(const FilesSinkOptions& options, std::string_view position,
                                                const std::string& state) {
  for (const Length& length : parse_position(position).lengths) {
    if (length.bytes == 0) continue;
    if (length.path != options.output && length.path != options.keep && length.path != options.rejects)
      continue;
    std::error_code error;
    if (fs::exists(length.path, error)) continue;
    return invalid(fmt::format(
        "{}: the file is gone, but the state in {} has written {} bytes to it and does not write them again: "
        "put it back, name another output for new events, or start with another state directory",
        length.path, state, length.bytes));
  }
  return absl::OkStatus();
}

bool FilesSink::is_known(std::string_view position, const std::string& path) {
  const std::vector<Length> lengths = parse_position(position).lengths;
  return std::any_of(lengths.begin(), lengths.end(), [&](const Length& l) { return l.path == path; });
}

std::string FilesSink::foreign_output(const FilesSinkOptions& options, std::string_view position) {
  const std::vector<Length> lengths = parse_position(position).lengths;
  for (const std::string& path : {options.output, options.keep, options.rejects}) {
    std::error_code error;
    const bool known =
        std::any_of(lengths.begin(), lengths.end(), [&](const Length& l) { return l.path == path; });
    if (!known && fs::is_regular_file(path, error) && fs::file_size(path, error) > 0) return path;
  }
  return {};
}

absl::StatusOr<std::unique_ptr<FilesSink>> FilesSink::open(const FilesSinkOptions& options,
                                                           std::string_view position,
                                                           std::function<void(const std::string&)> report) {
  std::unique_ptr<FilesSink> sink(new FilesSink(options, std::move(report)));
  const auto [lengths, announced] = parse_position(position);
  sink->lowest_live_ = options.lowest_live;
  sink->announced_ = announced.value_or(options.lowest_live);
  const bool resume = !position.empty();
  if (options.mode == FilesOutput::verdicts && options.output.ends_with(".parquet")) {
    ASSIGN_OR_RETURN(sink->table_, VerdictTable::open(options.output));
  } else {
    ASSIGN_OR_RETURN(sink->output_, open_output(options.output, resume, lengths));
  }
  if (options.keep.ends_with(".parquet")) {
    ASSIGN_OR_RETURN(sink->kept_rows_, parquet::RowCopy::open(options.keep, options.kept_columns));
  } else {
    ASSIGN_OR_RETURN(sink->keep_, open_output(options.keep, resume, lengths));
    sink->keeps_on_ = sink->keep_ != nullptr && sink->keep_->length() != 0;
  }
  ASSIGN_OR_RETURN(sink->rejects_, open_output(options.rejects, resume, lengths));
  if (options.cut.has_value()) sink->cutter_ = std::make_unique<TextCutter>(*options.cut);
  for (const std::string& directory : {options.keep_files, options.keep_directory}) {
    if (directory.empty()) continue;
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) return io_error("cannot make the directory " + directory, error.value());
  }
  return sink;
}

std::string FilesSink::position() const {
  std::string out;
  for (const OutputFile* file : {output_.get(), keep_.get(), rejects_.get()}) {
    if (file == nullptr || file->path() == "-") continue;
    put_string(out, file->path());
    put_varint(out, file->length());
  }
  if (options_.originals != nullptr) {
    put_string(out, "");
    put_varint(out, announced_);
  }
  return out;
}

absl::Status FilesSink::write(const Decided& decided) {
  for (const Problem& problem : decided.batch.problems) report_(problem.message);
  const Resolved& resolved = decided.work.resolved;
  auto better = resolved.better.begin();
  for (size_t i = 0; i < decided.batch.records.size(); ++i) {
    RETURN_IF_ERROR(
        write_one(decided.batch.records[i], decided.work.sign.documents[i], resolved.outcomes[i]));
    for (; better != resolved.better.end() && better->document == i; ++better)
      RETURN_IF_ERROR(write_better(decided, *better));
  }
  if (options_.originals != nullptr) RETURN_IF_ERROR(ends(decided));
  kill_point("before_outputs");
  RETURN_IF_ERROR(hand_on(options_.sync));
  kill_point("after_outputs");
  return absl::OkStatus();
}

absl::Status FilesSink::write_better(const Decided& decided, const BetterCopy& better) {
  Metadata document, original;
  RETURN_IF_ERROR(decode_metadata(decided.work.sign.documents[better.document].metadata, document));
  RETURN_IF_ERROR(decode_metadata(decided.work.resolved.outcomes[better.document].original, original));
  line_.clear();
  RETURN_IF_ERROR(append_better_copy(line_, options_.context, document, original, better));
  line_ += '\n';
  output_->append(line_);
  return absl::OkStatus();
}

absl::Status FilesSink::ends(const Decided& decided) {
  const auto write = [&](const End& end) -> absl::Status {
    Metadata metadata;
    RETURN_IF_ERROR(decode_metadata(end.metadata, metadata));
    line_.clear();
    append_original_removed(line_, options_.context, metadata, removal_reason_name(end.reason));
    line_ += '\n';
    output_->append(line_);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(write_removed(decided, *options_.originals, write));
  const Resolved& resolved = decided.work.resolved;
  lowest_live_ = resolved.lowest_live;
  ASSIGN_OR_RETURN(const Seq announced,
                   write_expired(resolved, announced_, *options_.engine, *options_.originals, write));
  DOPPEL_CHECK(announced >= announced_ && announced <= std::max(announced_, lowest_live_),
               "only the end of what is dead is written, once", announced, announced_, lowest_live_);
  announced_ = announced;
  return absl::OkStatus();
}

absl::Status FilesSink::sync() { return hand_on(true); }

absl::Status FilesSink::hand_on(bool to_disk) {
  for (OutputFile* file : {output_.get(), keep_.get(), rejects_.get()}) {
    if (file != nullptr) RETURN_IF_ERROR(to_disk ? file->sync() : file->flush());
  }
  return absl::OkStatus();
}

absl::Status FilesSink::write_one(const Record& record, const SignedDocument& document,
                                  const Outcome& outcome) {
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  Metadata metadata, original;
  RETURN_IF_ERROR(decode_metadata(document.metadata, metadata));
  if (duplicate || outcome.again) RETURN_IF_ERROR(decode_metadata(outcome.original, original));
  std::optional<TextCutter::Shorter> shorter;
  if (!outcome.cut.empty()) {
    if (cutter_ != nullptr) shorter = cutter_->without(record, outcome.cut);
    if (!shorter.has_value()) {
      Outcome whole = outcome;
      whole.cut.clear();
      return write_one(record, document, whole);
    }
  }

  line_.clear();
  if (table_ != nullptr) {
    RETURN_IF_ERROR(table_->add(metadata.name(), outcome, duplicate ? original.name() : ""));
  } else {
    append_result(document, metadata, original, outcome);
  }
  if (output_ != nullptr) output_->append(line_);

  const bool kept = outcome.verdict == Verdict::unique && !(outcome.again && keeps_on_);
  if (shorter.has_value() && kept) {
    RETURN_IF_ERROR(keep_shorter(record, *std::move(shorter), outcome.cut));
  } else if (!options_.keep_later) {
    RETURN_IF_ERROR(keep(record, kept));
  }
  if (outcome.verdict == Verdict::rejected) {
    RejectedRecord signed_elsewhere;
    const Record& rejected = *signed_elsewhere.of(&record, document);
    report_(fmt::format("{}: {}", place_in_words(rejected), document.reason));
    if (rejects_ != nullptr && !rejected.whole_file) {
      rejects_->append(rejected.value);
      rejects_->append("\n");
    }
  }
  return absl::OkStatus();
}

// Appends the line of a document, if the output has one for it.
void FilesSink::append_result(const SignedDocument& document, const Metadata& metadata,
                              const Metadata& original, const Outcome& outcome) {
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  const bool clusters = options_.mode == FilesOutput::clusters;
  if (options_.mode == FilesOutput::verdicts) {
    append_verdict(line_, metadata, original, outcome, document.reason);
  } else if (duplicate && clusters) {
    add_to_cluster(metadata, original, outcome);
  } else if (duplicate) {
    append_duplicate_of(line_, options_.context, metadata, original, outcome);
  } else if (options_.mode == FilesOutput::all_events) {
    append_verdict_event(line_, metadata, outcome, document.reason);
  } else if (!outcome.related.empty() && !clusters) {
    append_partial_copy_of(line_, options_.context, metadata, outcome);
  }
  if (!line_.empty()) line_ += '\n';
}

// Opens the output for the record's source as keep_. Inputs are read one after the other, so one open file
// is enough.
absl::Status FilesSink::keep_beside(const Record& record) {
  const std::string_view source = record.source;
  if (keep_ != nullptr && kept_source_ == source) return absl::OkStatus();
  if (keep_ != nullptr) RETURN_IF_ERROR(keep_->finish());
  keep_.reset();
  fs::path to = kept_path(options_.keep_directory, source == "-" ? "stdin.jsonl" : source);
  if (record.row) to += ".jsonl";  // rows are kept as lines
  const auto [known, fresh] = kept_.try_emplace(to.string(), source);
  if (!fresh && known->second != source) {
    return invalid(fmt::format("{} and {} would both be kept as {}; give them in two runs", known->second,
                               source, to.string()));
  }
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  // Removes the file first, because it may be a link to another file.
  if (fresh && !error) fs::remove(to, error);
  if (error) return io_error(to.string(), error.value());
  ASSIGN_OR_RETURN(keep_, fresh ? OutputFile::open(to.string())
                                : OutputFile::resume(to.string(), fs::file_size(to, error)));
  kept_source_ = source;
  return absl::OkStatus();
}

// Copies the rows of the previous input when the next one begins; inputs are read one after the other.
absl::Status FilesSink::keep_rows_of(std::string_view source) {
  if (kept_source_ == source) return absl::OkStatus();
  if (!kept_source_.empty()) RETURN_IF_ERROR(kept_rows_->end());
  kept_source_ = source;
  return kept_rows_->begin(kept_source_);
}

absl::Status FilesSink::keep(const Record& record, bool kept) {
  if (kept_rows_ != nullptr) RETURN_IF_ERROR(keep_rows_of(record.source));
  if (!options_.keep_directory.empty() && !record.whole_file) RETURN_IF_ERROR(keep_beside(record));
  return kept ? keep_record(record) : absl::OkStatus();
}

// Keeps the record with a shorter text, unless the text is empty.
absl::Status FilesSink::keep_shorter(const Record& record, TextCutter::Shorter shorter,
                                     std::span<const ByteRange> cut) {
  ++cut_.documents;
  for (const ByteRange& range : cut) cut_.bytes += range.end - range.begin;
  if (shorter.empty) {
    ++cut_.emptied;
    return keep(record, false);
  }
  if (kept_rows_ != nullptr) {
    RETURN_IF_ERROR(keep_rows_of(record.source));
    kept_rows_->add_with(record.offset, shorter.column, std::move(shorter.text));
    return absl::OkStatus();
  }
  if (record.whole_file) {
    if (options_.keep_files.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string to, place_of_copy(record));
    ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> out, OutputFile::open(to));
    out->append(shorter.record);
    return out->finish();
  }
  Record other = record;
  other.value = shorter.record;
  return keep(other, true);
}

absl::StatusOr<std::string> FilesSink::place_of_copy(const Record& record) const {
  fs::path to = kept_path(options_.keep_files, record.source);
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) return io_error(fmt::format("cannot make the directory of {}", to.string()), error.value());
  return to.string();
}

absl::Status FilesSink::keep_record(const Record& record) {
  if (kept_rows_ != nullptr) {
    kept_rows_->add(record.offset);
    return absl::OkStatus();
  }
  if (!record.whole_file) {
    if (keep_ == nullptr) return absl::OkStatus();
    if (!record.warc) {
      keep_->append(record.value);
      keep_->append("\n");
      return absl::OkStatus();
    }
    return keep_warc(record);
  }
  if (options_.keep_files.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string to, place_of_copy(record));
  std::error_code error;
  fs::copy_file(fs::path(record.source), to, fs::copy_options::overwrite_existing, error);
  if (error) return io_error(fmt::format("cannot copy {} to {}", record.source, to), error.value());
  return absl::OkStatus();
}

absl::Status FilesSink::keep_warc(const Record& record) {
  if (record.rest != nullptr && record.rest->bytes == nullptr) {
    const std::string which =
        fmt::format("{}: byte {}: the record is not kept: {}", record.source, record.offset,
                    record.rest->missing.empty() ? "it is too large to be held" : record.rest->missing);
    report_(which);
    if (not_kept_++ == 0) first_not_kept_ = which;
    return absl::OkStatus();
  }
  keep_->append(record.value);
  while (record.rest != nullptr) {
    ASSIGN_OR_RETURN(const std::string_view piece, record.rest->bytes->next());
    if (piece.empty()) break;
    RETURN_IF_ERROR(keep_->stream(piece));
  }
  keep_->append("\r\n\r\n");
  return keep_->is_packed() ? keep_->flush() : absl::OkStatus();  // one member per record
}

void FilesSink::add_to_cluster(const Metadata& document, const Metadata& original, const Outcome& outcome) {
  auto [it, fresh] = cluster_of_.try_emplace(outcome.seq, clusters_.size());
  if (fresh) {
    clusters_.emplace_back();
    std::string& head = clusters_.back().head;
    head = "{\"cluster_id\":";
    append_json_string(head, original.event_id());
    head += ",\"id\":";
    append_json_string(head, original.name());
  }
  Cluster& cluster = clusters_[it->second];
  std::string& out = cluster.members;
  if (cluster.size++ != 0) out += ',';
  out += "{\"id\":";
  append_json_string(out, document.name());
  out += ",\"event_id\":";
  append_json_string(out, document.event_id());
  out += outcome.kind == Kind::exact ? ",\"kind\":\"exact\"" : ",\"kind\":\"near\"";
  out += ",\"similarity\":";
  append_json_ppm(out, similarity_ppm(outcome.similarity));
  out += '}';
}

absl::Status FilesSink::finish() {
  for (const Cluster& cluster : clusters_) {
    output_->append(fmt::format("{},\"size\":{},\"duplicates\":[{}]}}\n", cluster.head, cluster.size + 1,
                                cluster.members));
  }
  clusters_.clear();
  if (table_ != nullptr) RETURN_IF_ERROR(table_->finish());
  for (OutputFile* file : {output_.get(), keep_.get(), rejects_.get()}) {
    if (file != nullptr) RETURN_IF_ERROR(file->finish());
  }
  if (kept_rows_ == nullptr) return absl::OkStatus();
  if (!kept_source_.empty()) RETURN_IF_ERROR(kept_rows_->end());
  return kept_rows_->finish();
}

}  // namespace doppel
