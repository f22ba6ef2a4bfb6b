#include "files/write/verdict_table.h"

#include <array>
#include <bit>

#include "base/status.h"
#include "engine/rule.h"
#include "records/events.h"

namespace doppel {
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
