#include "files/arrow/nested.h"

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/status.h"
#include "files/tables/row_json.h"

namespace doppel::arrow {
namespace {

using tables::Kind;

absl::Status in_column(const std::string& name, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl_sv(fmt::format("column \"{}\": {}", name, std_sv(status.message())))};
}

void put(std::string_view json, uint64_t most, std::string& out) {
  if (out.size() <= most) out += json;
}

}  // namespace

absl::StatusOr<NestedValues> NestedValues::read(const Field& field, const BatchHead& head, const Body& body) {
  const std::string& name = field.column.name;
  absl::StatusOr<Values> values = Values::read(field, field.dictionary.has_value(), head, body);
  if (!values.ok()) return in_column(name, values.status());
  NestedValues out(field, *std::move(values));
  for (const Field& child : field.children) {
    absl::StatusOr<NestedValues> inside = read(child, head, body);
    if (!inside.ok()) return in_column(name, inside.status());
    if (field.column.kind == Kind::structure && inside->values().size() < out.values_.size())
      return in_column(name, absl::DataLossError("a structure with fewer values than rows"));
    out.children_.push_back(*std::move(inside));
    out.names_.emplace_back(out.names_.empty() ? "{" : ",");
    append_json_string(out.names_.back(), child.column.name);
    out.names_.back() += ':';
  }
  if (field.column.kind == Kind::map && out.children_[0].values_.size() > out.children_[1].values_.size())
    return in_column(name, absl::DataLossError("a map with fewer values than keys"));
  return out;
}

absl::Status NestedValues::append(uint64_t i, const Lookup& lookup, uint64_t most, std::string& out) const {
  if (field_->column.kind == Kind::value) {
    tables::Cell cell;
    RETURN_IF_ERROR(values_.get(i, cell));
    if (field_->dictionary && cell.there) {
      const tables::Cell place = cell;
      RETURN_IF_ERROR(lookup(*field_, place, cell));
    }
    if (out.size() <= most) tables::append_json(field_->column, cell, out);
    return absl::OkStatus();
  }
  if (!values_.there(i)) {
    put("null", most, out);
    return absl::OkStatus();
  }
  if (field_->column.kind != Kind::structure) return append_entries(i, lookup, most, out);
  for (size_t child = 0; child < children_.size(); ++child) {
    put(names_[child], most, out);
    RETURN_IF_ERROR(children_[child].append(i, lookup, most, out));
  }
  put("}", most, out);
  return absl::OkStatus();
}

absl::Status NestedValues::append_entries(uint64_t i, const Lookup& lookup, uint64_t most,
                                          std::string& out) const {
  uint64_t begin = 0, end = 0;
  RETURN_IF_ERROR(values_.entries(i, children_[0].values_.size(), begin, end));
  const bool map = field_->column.kind == Kind::map;
  put(map ? "{" : "[", most, out);
  for (uint64_t entry = begin; entry < end && out.size() <= most; ++entry) {
    if (entry > begin) out += ',';
    const size_t key = out.size();
    RETURN_IF_ERROR(children_[0].append(entry, lookup, most, out));
    if (!map) continue;
    tables::quote(out, key);
    put(":", most, out);
    RETURN_IF_ERROR(children_[1].append(entry, lookup, most, out));
  }
  put(map ? "}" : "]", most, out);
  return absl::OkStatus();
}

}  // namespace doppel::arrow
