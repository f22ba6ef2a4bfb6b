#include "evals/items.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "files/read/files_source.h"
#include "formats/place.h"
#include "records/metadata.h"
#include "text/words.h"

namespace doppel {
namespace {

FormatOptions format_of(const ItemFields& fields, const std::vector<std::string>& text) {
  FormatOptions out;
  out.text_fields = text;
  out.id_fields = fields.id;
  return out;
}

// Counts the characters of UTF-8: all bytes except continuation bytes.
uint32_t count_letters(std::string_view word) {
  return static_cast<uint32_t>(std::count_if(
      word.begin(), word.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

WordHasher::WordHasher() : shingler_(kPublicHashKey, 1) {}

void WordHasher::hash(std::string_view text, PodVector<uint64_t>& out) {
  out.clear();
  shingler_.update(text, out);
  shingler_.finish(out);
}

absl::StatusOr<Items> read_items(const std::vector<std::string>& paths, const ItemFields& fields,
                                 const ItemRule& rule,
                                 const std::function<void(const std::string&)>& report) {
  Items out;
  out.index = ItemIndex(rule);
  const FormatOptions question = format_of(fields, fields.question);
  const FormatOptions answer = format_of(fields, fields.answer);
  RETURN_IF_ERROR(check_format(question));
  RETURN_IF_ERROR(check_format(answer));
  FilesSourceOptions from{.paths = paths};
  // Reads only the named columns of tables.
  from.columns = FormatOptions{};
  from.columns->text_fields = fields.question;
  from.columns->optional_fields = fields.answer;
  from.columns->optional_fields.insert(from.columns->optional_fields.end(), fields.id.begin(),
                                       fields.id.end());
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, open_files_source(from, ""));
  const std::unique_ptr<Decoder> questions = make_decoder(question);
  const std::unique_ptr<Decoder> answers = make_decoder(answer);
  WordHasher hasher;
  PodVector<uint64_t> words, more;
  std::vector<uint32_t> lengths;
  const auto reject = [&](const std::string& why) {
    ++out.rejected;
    report(why);
  };
  Batch batch;
  while (true) {
    ASSIGN_OR_RETURN(const bool any, source->next(batch));
    if (!any) break;
    for (const Problem& problem : batch.problems) reject(problem.message);
    for (const Record& record : batch.records) {
      Document document;
      if (record.pieces != nullptr || record.whole_file) {
        reject(fmt::format("{}: no records of items; name a file of JSON lines, Parquet or Arrow",
                           record.source));
        continue;
      }
      if (const absl::Status status = questions->decode(record, document); !status.ok()) {
        reject(fmt::format("{}: {}", place_in_words(record), std_sv(status.message())));
        continue;
      }
      Item item{.id = metadata_of(record, document).name(),
                .file = std::string(record.source),
                .question = std::string(document.text)};
      if (answers->decode(record, document).ok()) item.answer = document.text;
      hasher.hash(item.question, words);
      if (words.size() < kQuestionWordsLeast) {
        item.with_answer = true;
        hasher.hash(item.answer, more);
        words.insert(words.end(), more.begin(), more.end());
      }
      lengths.clear();
      for (const WordSpan& word : split_words(item.question)) lengths.push_back(count_letters(word.text));
      if (item.with_answer)
        for (const WordSpan& word : split_words(item.answer)) lengths.push_back(count_letters(word.text));
      if (!out.index.add(words, lengths)) out.too_short.push_back(static_cast<uint32_t>(out.items.size()));
      out.items.push_back(std::move(item));
    }
  }
  out.index.finish();
  return out;
}

}  // namespace doppel
