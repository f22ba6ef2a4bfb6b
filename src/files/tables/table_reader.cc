#include "files/tables/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/memory_limit.h"
#include "base/status.h"
#include "base/strings.h"
#include "files/tables/rows.h"
#include "formats/fields.h"
#include "formats/presets.h"

namespace doppel {
namespace tables {
namespace {

constexpr size_t kShown = 12;
constexpr size_t kPointersMost = 10'000;  // pointers that an error may suggest

struct Setting {
  Role role;
  std::string_view name;
  std::vector<std::string> fields, defaults;
};

const Column* find(const std::vector<Column>& columns, std::string_view name) {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

// Follows a path into structures. Returns the list or map in which a path ends early: the rest of the path
// applies to its JSON.
const Column* find(const std::vector<Column>& columns, const std::vector<std::string>& path) {
  const std::vector<Column>* level = &columns;
  const Column* out = nullptr;
  for (const std::string& step : path) {
    if (out != nullptr && out->kind != Kind::structure) return out->kind == Kind::value ? nullptr : out;
    out = find(*level, step);
    if (out == nullptr) return nullptr;
    level = &out->children;
  }
  return out;
}

// Appends the JSON pointers of all fields of structures.
void add_pointers(const std::vector<Column>& columns, const std::string& above,
                  std::vector<std::string>& out) {
  for (const Column& column : columns) {
    if (out.size() >= kPointersMost) return;
    if (!above.empty()) out.push_back(above + "/" + column.name);
    if (column.kind == Kind::structure) add_pointers(column.children, above + "/" + column.name, out);
  }
}

std::string_view kind_in_words(Kind kind) {
  return kind == Kind::list ? "a list" : kind == Kind::map ? "a map" : "a structure of several columns";
}

absl::Status missing(const std::vector<Column>& columns, std::string_view setting,
                     const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const Column& column : columns) names.push_back(column.name);
  std::vector<std::string> candidates = names;
  add_pointers(columns, {}, candidates);
  std::string asked, meant, there;
  for (size_t i = 0; i < wanted.size(); ++i) {
    asked += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == wanted.size() ? " or " : ", ", wanted[i]);
    if (meant.empty()) meant = did_you_mean(wanted[i], candidates);
  }
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) there += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) there += fmt::format(" and {} more", names.size() - kShown);
  return absl::NotFoundError(fmt::format("no column {}, which {} names{}; the columns are: {}{}", asked,
                                         setting, meant, there,
                                         setting == "input.text" ? "; --text-field names one" : ""));
}

absl::Status unreadable(std::string_view name, std::string_view setting, std::string_view why) {
  return absl::UnimplementedError(fmt::format(
      "column \"{}\", which {} names, is {}, which is not read; write it as text, or name another column",
      name, setting, why));
}

// Keeps the wanted fields of a structure. Returns false if there are none.
bool prune(Column& column, const std::set<const Column*>& wanted, const Column* original) {
  if (wanted.contains(original)) return true;
  if (column.kind != Kind::structure) return false;
  std::vector<Column> left;
  for (size_t i = 0; i < column.children.size(); ++i) {
    if (prune(column.children[i], wanted, &original->children[i]))
      left.push_back(std::move(column.children[i]));
  }
  column.children = std::move(left);
  return !column.children.empty();
}

absl::Status take_optional(const std::vector<Column>& columns, const FormatOptions& format,
                           std::set<const Column*>& wanted) {
  FormatOptions besides;
  besides.passthrough_fields = format.optional_fields;
  ASSIGN_OR_RETURN(const std::vector<WantedField> fields, wanted_fields(besides));
  for (const WantedField& field : fields) {
    if (field.role != Role::passthrough || field.from != WantedField::From::json) continue;
    const Column* column = find(columns, steps_of(field));
    if (column != nullptr && why_unreadable(*column).empty()) wanted.insert(column);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Column>> signed_column(const std::vector<Column>& columns) {
  const Column* column = find(columns, kSignedRecord);
  if (column == nullptr) return missing(columns, "input.format: signed", {std::string(kSignedRecord)});
  if (column->unreadable.empty() && column->stored == Stored::bytes) return std::vector<Column>{*column};
  return absl::UnimplementedError(
      fmt::format("column \"{}\" holds no bytes, so no signed records", kSignedRecord));
}

}  // namespace

std::string why_unreadable(const Column& column) {
  if (!column.unreadable.empty()) return column.unreadable;
  for (const Column& child : column.children) {
    const std::string why = why_unreadable(child);
    if (why.empty()) continue;
    const std::string what = column.kind == Kind::structure ? fmt::format(" with \"{}\", ", child.name)
                             : why.starts_with("of ")       ? " of values "
                                                            : " of ";
    return fmt::format("{}{}{}", kind_in_words(column.kind), what, why);
  }
  return {};
}

absl::StatusOr<std::vector<Column>> choose_columns(const std::vector<Column>& columns,
                                                   const FormatOptions& format) {
  if (is_signed(format)) return signed_column(columns);
  if (!preset_of(format.format).reads_json) {
    return invalid(fmt::format(
        "a table, whose columns are read like the fields of JSON: not with input.format: {}; leave it out, "
        "and name the columns (input.id, input.text)",
        format.format));
  }
  ASSIGN_OR_RETURN(const std::vector<WantedField> fields, wanted_fields(format));
  const FormatOptions defaults;
  const Setting settings[] = {
      {Role::id, "input.id", format.id_fields, defaults.id_fields},
      {Role::text, "input.text", format.text_fields, defaults.text_fields},
      {Role::url, "input.url", format.url_fields, defaults.url_fields},
      {Role::date, "input.date", format.date_fields, defaults.date_fields},
      {Role::scope, "input.scope", format.scope_fields, defaults.scope_fields},
      {Role::tag, "input.tags", format.tag_fields, defaults.tag_fields},
      {Role::passthrough, "input.passthrough", format.passthrough_fields, defaults.passthrough_fields},
      {Role::best, "output.best", {format.best}, {defaults.best}}};
  std::set<const Column*> wanted;
  const auto take = [&](const WantedField& field, std::string_view setting, bool& found) -> absl::Status {
    const std::vector<std::string> path = steps_of(field);
    const Column* column = field.from != WantedField::From::json ? nullptr : find(columns, path);
    // Parts of the record itself, such as $key and $topic, are not columns.
    found = found || column != nullptr || field.from != WantedField::From::json;
    if (column == nullptr) return absl::OkStatus();
    if (const std::string why = why_unreadable(*column); !why.empty())
      return unreadable(field.given, setting, why);
    // Only passthrough may name a whole structure, list or map. Other settings may point into one.
    if (column->kind != Kind::value && field.role != Role::passthrough &&
        find(columns, std::vector<std::string>(path.begin(), path.end() - 1)) != column)
      return unreadable(field.given, setting, kind_in_words(column->kind));
    wanted.insert(column);
    return absl::OkStatus();
  };
  for (const Setting& setting : settings) {
    const bool all_needed =
        setting.role == Role::scope || setting.role == Role::tag || setting.role == Role::passthrough;
    const bool needed = setting.role == Role::text ? !preset_of(format.format).text_may_be_missing &&
                                                         !preset_of(format.format).text_elsewhere
                                                   : setting.fields != setting.defaults;
    std::vector<std::string> names;
    bool any = false;
    for (const WantedField& field : fields) {
      if (field.role != setting.role) continue;
      bool found = false;
      RETURN_IF_ERROR(take(field, setting.name, found));
      if (all_needed && !found) return missing(columns, setting.name, {field.given});
      names.push_back(field.given);
      any = any || found;
    }
    if (needed && !any && !names.empty()) return missing(columns, setting.name, names);
  }
  // Fields that only the format reads, such as a status or a type. They may be missing.
  for (const WantedField& field : fields) {
    bool found = false;
    if (field.role > Role::best) RETURN_IF_ERROR(take(field, "input.format", found));
  }
  RETURN_IF_ERROR(take_optional(columns, format, wanted));
  std::vector<Column> out;
  for (const Column& column : columns) {
    if (column.kind != Kind::structure && !wanted.contains(&column)) continue;
    Column left = column;
    if (prune(left, wanted, &column)) out.push_back(std::move(left));
  }
  if (out.empty()) return missing(columns, "input.text", format.text_fields);
  return out;
}

}  // namespace tables

TableReader::TableReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file,
                         std::unique_ptr<tables::Rows> rows, uint64_t size, ByteCounter counter,
                         LineMark mark)
    : options_(options),
      filling_(filling),
      file_(file),
      rows_(std::move(rows)),
      counter_(std::move(counter)),
      mark_(std::move(mark)),
      size_(size) {
  mark_.path = file.path;
  mark_.disk_length = 0;
}

LineMark TableReader::mark() const {
  LineMark mark = mark_;
  mark.lines -= open_.rows;
  mark.tail = open_.bytes;
  return mark;
}

RecordReader::State TableReader::take(Batch& batch) {
  if (!started_) start(batch);
  while (batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records) {
    if (!ended_ && !has_row_) {
      const absl::Status status = within_memory([&] { return read_row(); });
      if (!status.ok()) damage(batch, std_sv(status.message()));
    }
    if (ended_) return end();
    if (!has_row_) continue;
    if (!batch.records.empty() && batch.bytes + value_.size() > options_.batch_bytes) return State::full;
    hand_out(batch);
  }
  return State::full;
}

void TableReader::start(Batch& batch) {
  started_ = true;
  counted_ = mark_.offset;
  counter_at_start_ = counter_->load(std::memory_order_relaxed);
  const absl::Status opened = within_memory([&] {
    ASSIGN_OR_RETURN(columns_, rows_->open(*options_.columns, mark_.lines));
    if (mark_.tail == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const uint64_t seen, rows_->skip_seen(mark_.tail));
    mark_.lines += seen;
    mark_.tail = 0;
    open_ = rows_->open_rows();
    return absl::OkStatus();
  });
  if (!opened.ok()) {
    ended_ = true;
    batch.problems.push_back(
        {file_.path, 0, 0, fmt::format("{}: {}", file_.shown(), std_sv(opened.message()))});
    return;
  }
  for (const tables::Column& column : columns_) {
    members_.emplace_back(members_.empty() ? "{" : ",");
    append_json_member(members_.back(), column.name);
  }
  cells_.resize(columns_.size());
}

absl::Status TableReader::read_row() {
  ASSIGN_OR_RETURN(const bool more, rows_->next(cells_));
  if (!more) {
    ended_ = true;
    return absl::OkStatus();
  }
  has_row_ = true;
  mark_.offset = rows_->place();
  value_bytes_ = 0;
  for (const tables::Cell& cell : cells_) value_bytes_ += cell.bytes.size();
  value_.clear();
  if (value_bytes_ > options_.max_line_bytes) return absl::OkStatus();
  if (options_.layout == Layout::signed_records) {
    value_ = cells_[0].bytes;
    return absl::OkStatus();
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    value_ += members_[i];
    tables::append_json(columns_[i], cells_[i], value_);
  }
  value_ += '}';
  return absl::OkStatus();
}

void TableReader::hand_out(Batch& batch) {
  const uint64_t row = mark_.lines++;
  has_row_ = false;
  open_ = rows_->open_rows();
  const std::string why = std::exchange(damage_, {});
  const auto skip = [&](const std::string& cause) {
    batch.problems.push_back(
        {file_.path, 0, row, fmt::format("{}: row {}: {}; skipped", file_.shown(), row, cause)});
  };
  const uint64_t bytes = std::max<uint64_t>(value_bytes_, value_.size());
  if (bytes > options_.max_line_bytes)
    return skip(fmt::format("{} bytes, more than the {} that are allowed", bytes, options_.max_line_bytes));
  size_t at = 0;
  const absl::Status room = within_memory([&] {
    at = filling_.make_room(filling_.end(), value_.size() + why.size());
    return absl::OkStatus();
  });
  if (!room.ok()) return skip(std::string(room.message()));
  if (!value_.empty()) std::memcpy(filling_.data() + at, value_.data(), value_.size());
  if (!why.empty()) std::memcpy(filling_.data() + at + value_.size(), why.data(), why.size());
  filling_.appended(value_.size() + why.size());
  Record& record = batch.records.emplace_back();
  record.value = {filling_.data() + at, value_.size()};
  record.source = file_.source();
  record.offset = row;
  record.row = true;
  record.damage = {filling_.data() + at + value_.size(), why.size()};
  batch.bytes += value_.size();
  filling_.used_by(batch);
}

RecordReader::State TableReader::end() {
  // Columns that were not chosen count as read.
  const uint64_t read = counted_ + counter_->load(std::memory_order_relaxed) - counter_at_start_;
  if (read < size_) counter_->fetch_add(size_ - read, std::memory_order_relaxed);
  // Damaged data is not read again unless the file grows.
  mark_.offset = size_;
  mark_.disk_length = std::max<uint64_t>(size_, 1);
  return State::ended;
}

// Takes the one row that is wrong. Or reports the damaged rows and continues behind them, if their number is
// known.
void TableReader::damage(Batch& batch, std::string_view cause) {
  const std::string_view wrong = rows_->wrong_row();
  has_row_ = !wrong.empty();
  if (has_row_) {
    value_ = wrong;
    value_bytes_ = value_.size();
    damage_ = cause;
    return;
  }
  const uint64_t first = mark_.lines;
  const std::optional<uint64_t> lost = rows_->give_up();
  // More rows than a file can have: the file's numbers are wrong.
  ended_ = !lost || *lost == 0 || *lost > INT64_MAX - first;
  if (!ended_) mark_.lines += *lost;
  open_ = rows_->open_rows();
  batch.problems.push_back(
      {file_.path, 0, first,
       fmt::format("{}: {}; {}", file_.shown(), cause,
                   ended_       ? fmt::format("rows from {} on are not read", first)
                   : *lost == 1 ? fmt::format("row {} is not read", first)
                                : fmt::format("rows {} to {} are not read", first, mark_.lines - 1))});
}

}  // namespace doppel
