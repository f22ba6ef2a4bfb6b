#include "formats/warc/cdxj.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/number.h"
#include "formats/decoder.h"

namespace doppel {
namespace {

bool number_of(simdjson::dom::element element, uint64_t& out) {
  if (element.get(out) == simdjson::SUCCESS) return true;
  std::string_view text;
  return element.get(text) == simdjson::SUCCESS && whole_number(text, out);
}

// Parses the rest of a line of classic CDX: URL, type, status, digest, redirect, in the form with eleven
// columns also flags and length, then offset and file.
std::optional<CdxjLine> finish_cdx(std::string_view rest, CdxjLine out) {
  std::vector<std::string_view> columns;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    columns.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  constexpr size_t kOfNine = 7, kOfEleven = 9;  // without key and time
  if (columns.size() != kOfNine && columns.size() != kOfEleven) return std::nullopt;
  const std::string_view offset = columns[columns.size() - 2], file = columns.back();
  if (!whole_number(offset, out.offset) || file == "-") return std::nullopt;
  out.url = columns[0];
  out.filename = file;
  return out;
}

}  // namespace

std::optional<CdxjLine> parse_cdxj_line(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos || first == 0) return std::nullopt;
  CdxjLine out{.key = line.substr(0, first)};
  const std::optional<int64_t> time = parse_time(line.substr(first + 1, second - first - 1));
  if (!time) return std::nullopt;
  out.time_ms = *time;
  if (line.substr(second + 1, 1) != "{") return finish_cdx(line.substr(second + 1), std::move(out));
  simdjson::dom::parser parser;
  const simdjson::padded_string json(line.substr(second + 1));
  simdjson::dom::object object;
  if (parser.parse(json).get(object) != simdjson::SUCCESS) return std::nullopt;
  std::string_view text;
  simdjson::dom::element offset;
  if (object["filename"].get(text) != simdjson::SUCCESS || text.empty()) return std::nullopt;
  out.filename = text;
  if (object["offset"].get(offset) != simdjson::SUCCESS || !number_of(offset, out.offset))
    return std::nullopt;
  if (object["url"].get(text) == simdjson::SUCCESS) out.url = text;
  return out;
}

}  // namespace doppel
