#include "formats/text_field.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/json_text.h"
#include "formats/json/json_value.h"

namespace doppel {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::vector<WantedField> text_fields(const FormatOptions& options) {
  std::vector<WantedField> out;
  if (auto fields = wanted_fields(options); fields.ok())
    for (WantedField& field : *fields)
      if (field.role == Role::text && field.from == WantedField::From::json) out.push_back(std::move(field));
  return out;
}

std::vector<JsonMender::Path> paths_of(const std::vector<WantedField>& fields) {
  std::vector<JsonMender::Path> out;
  out.reserve(fields.size());
  for (const WantedField& field : fields) out.push_back(steps_of(field));
  return out;
}

}  // namespace

TextField::TextField(const FormatOptions& options)
    : fields_(text_fields(options)),
      format_(options.format),
      json_(std::make_unique<JsonMender>(paths_of(fields_))) {
  columns_.reserve(fields_.size());
  for (const WantedField& field : fields_) columns_.push_back(absl::StrJoin(steps_of(field), "."));
}

TextField::~TextField() = default;

std::optional<TextField::Place> TextField::find(const Record& record) {
  if (record.warc || record.pieces != nullptr || record.null_value) return std::nullopt;
  const std::string_view value = record.value;
  const size_t mark = value.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  if (format_ == "text" || (format_ == "auto" && record.whole_file)) {
    const size_t end = value.size() - (!record.whole_file && value.ends_with('\r') ? 1 : 0);
    return Place{.begin = mark, .end = std::max(mark, end)};
  }
  json_->mend(value.substr(mark));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto [begin, end] = json_->place(i);
    const std::string_view there = value.substr(mark + begin, end - begin);
    if (there.empty() || there == "null") continue;
    if (there.front() != '"') return std::nullopt;
    return Place{.begin = mark + begin, .end = mark + end, .json = true, .column = columns_[i]};
  }
  return std::nullopt;
}

std::string TextField::replaced(const Record& record, const Place& place, std::string_view text) const {
  std::string out(record.value.substr(0, place.begin));
  if (place.json) {
    append_json_string(out, text);
  } else {
    out += text;
  }
  out += record.value.substr(place.end);
  return out;
}

}  // namespace doppel
