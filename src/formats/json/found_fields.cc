#include "formats/json/found_fields.h"

#include <algorithm>

#include "base/memory_limit.h"
#include "formats/json/json_value.h"

namespace doppel {
namespace {

namespace dom = simdjson::dom;

char first_of(std::string_view name) { return name.empty() ? '\0' : name.front(); }

// The paths of JSON fields; empty for others.
std::vector<JsonMender::Path> paths_of(const std::vector<WantedField>& wanted) {
  std::vector<JsonMender::Path> out;
  out.reserve(wanted.size());
  for (const WantedField& field : wanted)
    out.push_back(field.from == WantedField::From::json ? steps_of(field) : JsonMender::Path());
  return out;
}

}  // namespace

FoundFields::FoundFields(const std::vector<WantedField>& wanted)
    : wanted_(wanted), found_(wanted.size()), mender_(paths_of(wanted)) {
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const WantedField& field = wanted_[i];
    any_pointer_ = any_pointer_ || field.pointer;
    if (!field.pointer && field.from == WantedField::From::json)
      by_length_[field.name.size() % by_length_.size()].push_back(
          {first_of(field.name), static_cast<uint32_t>(i)});
  }
}

// The record's padding suffices for the parser, so nothing is copied.
simdjson::error_code FoundFields::parse(std::string_view json, dom::element& root) {
  mended_ = false;
  const simdjson::error_code error = parse_once(json, root);
  if (error == simdjson::SUCCESS) return error;
  mended_ = JsonMender::may_help(error) && mender_.mend(json);
  return mended_ ? parse_once({mender_.text().data(), mender_.size()}, root) : error;
}

simdjson::error_code FoundFields::parse_once(std::string_view json, dom::element& root) {
  const MayFail here;  // the parser reports a failed allocation
  const simdjson::error_code error = parser_.parse(json.data(), json.size(), false).get(root);
  // After a failed allocation a parser writes to memory that it did not get.
  if (error == simdjson::MEMALLOC) parser_ = dom::parser();
  return error;
}

void FoundFields::find(dom::object object) {
  std::fill(found_.begin(), found_.end(), std::nullopt);
  for (dom::key_value_pair pair : object) {
    const char first = first_of(pair.key);
    for (const Named& named : by_length_[pair.key.size() % by_length_.size()]) {
      if (named.first == first && !found_[named.field] && wanted_[named.field].name == pair.key)
        found_[named.field] = unwrapped(pair.value);
    }
  }
  if (!any_pointer_) return;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    if (!wanted_[i].pointer) continue;
    dom::element element;
    if (object.at_pointer(wanted_[i].name).get(element) == simdjson::SUCCESS) found_[i] = unwrapped(element);
  }
}

void FoundFields::raw(size_t i, std::string& out) const {
  out.clear();
  mender_.append_raw(i, out);
}

bool FoundFields::whole_number(size_t i, std::string& out) const {
  raw(i, out);
  return out.find_first_not_of("-0123456789") == std::string::npos;
}

}  // namespace doppel
