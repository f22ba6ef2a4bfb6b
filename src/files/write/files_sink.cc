#include "files/write/files_sink.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "base/check.h"
#include "base/faults.h"
#include "base/reason.h"
#include "base/status.h"
#include "base/strings.h"
#include "engine/rule.h"
#include "files/write/outputs.h"
#include "fmt/format.h"
#include "formats/record.h"
#include "records/events.h"
#include "records/metadata.h"

namespace doppel {
namespace {

// When a file was last written, in milliseconds since 1970.
std::optional<double> time_of(const Record& record) {
  struct stat info = {};
  if (::stat(std::string(record.source).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<double>(info.st_mtim.tv_sec) * 1e3 + static_cast<double>(info.st_mtim.tv_nsec) / 1e6;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FilesSink>> FilesSink::open(const FilesSinkOptions& options,
                                                           std::string_view position,
                                                           std::function<void(const std::string&)> report) {
  const auto [lengths, announced] = parse_sink_position(position);
  const bool resume = !position.empty();
  ASSIGN_OR_RETURN(std::unique_ptr<Keeper> keeper, Keeper::open(options, resume, lengths, report));
  std::unique_ptr<FilesSink> sink(new FilesSink(options, std::move(report), std::move(keeper)));
  sink->lowest_live_ = options.lowest_live;
  sink->announced_ = announced.value_or(options.lowest_live);
  if (options.mode == FilesOutput::verdicts && options.output.ends_with(".parquet")) {
    ASSIGN_OR_RETURN(sink->table_, VerdictTable::open(options.output));
  } else {
    ASSIGN_OR_RETURN(sink->output_, open_output(options.output, resume, lengths));
  }
  ASSIGN_OR_RETURN(sink->rejects_, open_output(options.rejects, resume, lengths));
  return sink;
}

absl::Status FilesSink::write(const Decided& decided) {
  for (const Problem& problem : decided.batch.problems) {
    report_(problem.message);
    reject_input(problem.source, problem.message);
  }
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
  const auto write = [&](const RemovedOriginal& end) -> absl::Status {
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

std::string FilesSink::position() const {
  SinkPosition out;
  for (const OutputFile* file : {output_.get(), keeper_->file(), rejects_.get()}) {
    if (file != nullptr && file->path() != "-")
      out.lengths.push_back({file->path(), file->length(), file->last_hash(), file->inode()});
  }
  if (options_.originals != nullptr) out.announced = announced_;
  return encode_sink_position(out);
}

absl::Status FilesSink::sync() { return hand_on(true); }

absl::Status FilesSink::hand_on(bool to_disk) {
  for (OutputFile* file : {output_.get(), keeper_->file(), rejects_.get()}) {
    if (file != nullptr) RETURN_IF_ERROR(to_disk ? file->sync() : file->flush());
  }
  return absl::OkStatus();
}

absl::Status FilesSink::write_one(const Record& record, const SignedDocument& document,
                                  const Outcome& outcome) {
  // Its sender asked once more, and hears what was written before.
  if (record.sender != nullptr && outcome.verdict == Verdict::skipped &&
      reason_of(document.reason) == Reason::repeated)
    return absl::OkStatus();
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  Metadata metadata, original;
  RETURN_IF_ERROR(decode_metadata(document.metadata, metadata));
  if (duplicate || outcome.again) RETURN_IF_ERROR(decode_metadata(outcome.original, original));
  std::optional<TextCutter::Shorter> shorter;
  if (!outcome.cut.empty()) {
    shorter = keeper_->without(record, outcome.cut);
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

  const bool kept = outcome.verdict == Verdict::unique && !(outcome.again && keeper_->has_earlier());
  if (shorter.has_value() && kept) {
    RETURN_IF_ERROR(keeper_->keep_shorter(record, *std::move(shorter), outcome.cut));
  } else if (!options_.keep_later) {
    RETURN_IF_ERROR(keeper_->keep(record, kept));
  }
  if (outcome.verdict == Verdict::rejected) {
    RejectedRecord signed_elsewhere;
    const Record& rejected = *signed_elsewhere.of(&record, document);
    const std::string message = fmt::format("{}: {}", place_in_words(rejected), document.reason);
    report_(message);
    if (rejected.whole_file) {
      reject_input(rejected.source, message);
    } else if (rejects_ != nullptr) {
      rejects_->append(rejected.value);
      rejects_->append("\n");
    }
  }
  return absl::OkStatus();
}

// Names an input that could not be read, or not to its end, in place of its bytes.
void FilesSink::reject_input(std::string_view source, std::string_view message) {
  if (rejects_ == nullptr) return;
  std::string line = "{\"unread\":";
  append_json_string(line, source);
  line += ",\"problem\":";
  append_json_string(line, message);
  rejects_->append(line + "}\n");
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
  } else if (duplicate || options_.mode == FilesOutput::all_events) {
    append_any_verdict(line_, options_.context, metadata, original, outcome, document.reason);
  } else if (!outcome.related.empty() && !clusters) {
    append_partial_copy_of(line_, options_.context, metadata, outcome);
  }
  if (!line_.empty()) line_ += '\n';
}

void FilesSink::add_to_cluster(const Metadata& document, const Metadata& original, const Outcome& outcome) {
  auto [entry, fresh] = cluster_of_.try_emplace(outcome.seq, clusters_.size());
  if (fresh) {
    clusters_.emplace_back();
    std::string& head = clusters_.back().head;
    head = "{\"cluster_id\":";
    append_json_string(head, original.event_id());
    head += ",\"id\":";
    append_json_string(head, original.name());
  }
  Cluster& cluster = clusters_[entry->second];
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
  for (OutputFile* file : {output_.get(), rejects_.get()}) {
    if (file != nullptr) RETURN_IF_ERROR(file->finish());
  }
  return keeper_->finish();
}

void BestRows::add(const Decided& decided) {
  for (size_t i = 0; i < decided.batch.records.size(); ++i, ++records_) {
    const Outcome& outcome = decided.work.resolved.outcomes[i];
    if (outcome.verdict != Verdict::unique && outcome.verdict != Verdict::duplicate) continue;
    const std::optional<BestValue> its = best_of_metadata(decided.work.sign.documents[i].metadata);
    std::optional<double> value = its ? its->value : std::nullopt;
    any_value_ = any_value_ || value.has_value();
    const Record& record = decided.batch.records[i];
    if (!value && times_of_files_ && record.whole_file) value = time_of(record);
    const auto [found, fresh] = best_.try_emplace(outcome.seq, Row{value, records_});
    if (!fresh && by_.better(value, found->second.value)) found->second = {value, records_};
  }
}

std::vector<bool> BestRows::choose() {
  std::vector<bool> out(records_);
  for (const auto& [seq, best] : best_) out[best.record] = true;
  best_.clear();
  return out;
}

absl::Status keep_chosen(Source& source, const std::vector<bool>& chosen, FilesSink& sink) {
  size_t number = 0;
  Batch batch;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, source.next(batch));
    if (!more) break;
    for (const Record& record : batch.records) {
      if (number == chosen.size()) break;
      RETURN_IF_ERROR(sink.keep(record, chosen[number++]));
    }
    RETURN_IF_ERROR(sink.flush());
  }
  if (number == chosen.size()) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("--best: {} records were judged, and {} are there when the "
                  "best ones are written: the input "
                  "has changed meanwhile",
                  chosen.size(), number));
}

namespace {

using parquet::Leaf, parquet::Stored, parquet::ThriftWriter;
using Type = ThriftWriter::Type;

constexpr size_t kGroupRows = 100'000;

struct Field {
  const char* name;
  Stored stored;
  bool optional;
};
constexpr std::array<Field, 6> kFields{{{"id", Stored::bytes, false},
                                        {"verdict", Stored::bytes, false},
                                        {"original", Stored::bytes, true},
                                        {"similarity", Stored::float64, true},
                                        {"kind", Stored::bytes, true},
                                        {"cluster", Stored::bytes, true}}};

const std::array<Leaf, kFields.size()>& leaves() {
  static const std::array<Leaf, kFields.size()> all = [] {
    std::array<Leaf, kFields.size()> out;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].column.stored = kFields[i].stored;
      out[i].path = {kFields[i].name};
      out[i].depth.definition = kFields[i].optional ? 1 : 0;
    }
    return out;
  }();
  return all;
}

// The list of schema elements in a Parquet footer.
std::string schema() {
  ThriftWriter out;
  out.begin();
  out.list(1, kFields.size() + 1, Type::structure);
  const size_t list = 1;  // size of the field header, which is not part of the list
  out.begin();
  out.binary(4, "schema");
  out.i32(5, kFields.size());
  out.end();
  for (const Field& field : kFields) {
    out.begin();
    out.i32(1, static_cast<int64_t>(field.stored));
    out.i32(3, field.optional ? 1 : 0);
    out.binary(4, field.name);
    if (field.stored == Stored::bytes) {
      out.i32(6, 0);  // text, as ConvertedType and as LogicalType
      out.begin(10);
      out.begin(1);
      out.end();
      out.end();
    }
    out.end();
  }
  return out.bytes().substr(list);
}

}  // namespace

absl::StatusOr<std::unique_ptr<VerdictTable>> VerdictTable::open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<parquet::FileWriter> out, parquet::FileWriter::open(path));
  return std::unique_ptr<VerdictTable>(new VerdictTable(std::move(out)));
}

absl::Status VerdictTable::add(std::string id, const Outcome& outcome, std::string original) {
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  Row& row = rows_.emplace_back(Row{.id = std::move(id), .verdict = outcome.verdict, .kind = outcome.kind});
  if (duplicate) {
    row.original = std::move(original);
    row.similarity = similarity_ppm(outcome.similarity) / 1e6;
  }
  return rows_.size() < kGroupRows ? absl::OkStatus() : end_group();
}

absl::Status VerdictTable::end_group() {
  out_->begin_group();
  for (size_t i = 0; i < kFields.size(); ++i) {
    out_->begin_column(leaves()[i]);
    for (const Row& row : rows_) {
      const bool there = !kFields[i].optional || row.verdict == Verdict::duplicate ||
                         (i == 5 && row.verdict == Verdict::unique);
      tables::Cell cell{.there = there};
      if (i == 0) cell.bytes = row.id;
      if (i == 1) cell.bytes = verdict_name(row.verdict);
      if (i == 2) cell.bytes = row.original;
      if (i == 3) cell.number = std::bit_cast<int64_t>(row.similarity.value_or(0));
      if (i == 4) cell.bytes = kind_name(row.kind);
      if (i == 5) cell.bytes = row.verdict == Verdict::unique ? row.id : row.original;
      RETURN_IF_ERROR(out_->add({.definition = there && kFields[i].optional ? 1U : 0U}, cell));
    }
    RETURN_IF_ERROR(out_->end_column());
  }
  out_->end_group(rows_.size());
  rows_.clear();
  return absl::OkStatus();
}

absl::Status VerdictTable::finish() {
  if (!rows_.empty()) RETURN_IF_ERROR(end_group());
  return out_->finish(schema(), {});
}

}  // namespace doppel
