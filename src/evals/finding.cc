#include "evals/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/json_text.h"
#include "records/metadata.h"
#include "text/words.h"

namespace doppel {
namespace {

// The most words between a question and its answer.
constexpr size_t kAnswerWithin = 64;

void text_member(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  out += fmt::format("\"{}\":", name);
  append_json_string(out, value);
}

template <typename T>
void number_member(std::string& out, std::string_view name, T value) {
  if (out.back() != '{') out += ',';
  out += fmt::format("\"{}\":{}", name, value);
}

// Whether the whole answer stands near the question; nullopt if there is no answer.
std::optional<bool> answer_is_near(std::span<const WordSpan> text, const Item& item, const ItemMatch& match) {
  const std::vector<WordSpan> words = split_words(item.answer);
  if (words.empty()) return std::nullopt;
  const auto find = [&](size_t begin, size_t end) {
    const auto part = text.subspan(begin, end - begin);
    return std::search(part.begin(), part.end(), words.begin(), words.end(),
                       [](const WordSpan& a, const WordSpan& b) { return a.text == b.text; }) != part.end();
  };
  const size_t far = kAnswerWithin + words.size();
  return find(item.with_answer ? match.begin : match.end, std::min(text.size(), match.end + far)) ||
         find(match.begin - std::min<size_t>(match.begin, far), match.begin);
}

void append_document(std::string& out, const Record& record, const Metadata& metadata) {
  out += "\"document\":{";
  text_member(out, "id", metadata.name());
  if (!metadata.url.empty()) text_member(out, "url", metadata.url);
  text_member(out, "file", metadata.source);
  if (record.row) {
    number_member(out, "row", metadata.offset);
  } else if (!record.whole_file) {
    if (record.line != 0) number_member(out, "line", record.line);
    number_member(out, "offset", metadata.offset);
  }
  out += '}';
}

}  // namespace

void append_findings(std::string& out, const Record& record, const Document& document, const Items& items,
                     std::span<const ItemMatch> matches) {
  const Metadata metadata = metadata_of(record, document);
  const std::vector<WordSpan> words = split_words(document.text);
  for (const ItemMatch& match : matches) {
    const Item& item = items.items[match.item];
    out += '{';
    append_document(out, record, metadata);
    out += ",\"item\":{";
    text_member(out, "id", item.id);
    text_member(out, "file", item.file);
    text_member(out, "question", item.question);
    out += '}';
    text_member(out, "relation", match.edits == 0 ? "verbatim" : "edited");
    const uint32_t edits = std::min(match.edits, match.words);
    out += ",\"share\":";
    append_json_ppm(out, static_cast<uint32_t>(uint64_t{1'000'000} * (match.words - edits) / match.words));
    number_member(out, "changed", match.edits);
    out += fmt::format(",\"words\":[{},{}]", match.begin, match.end);
    const size_t begin = words[match.begin].begin, end = words[match.end - 1].end;
    out += fmt::format(",\"bytes\":[{},{}]", begin, end);
    text_member(out, "passage", document.text.substr(begin, end - begin));
    if (const auto near = answer_is_near(words, item, match))
      out += *near ? ",\"answer\":true" : ",\"answer\":false";
    out += "}\n";
  }
}

}  // namespace doppel
