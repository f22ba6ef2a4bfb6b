#include "evals/item_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/status.h"
#include "files/read/files_source.h"
#include "formats/record.h"
#include "records/metadata.h"
#include "text/word_hash.h"
#include "text/words.h"

namespace doppel {
namespace {

constexpr size_t kGram = 3;
// A gram with more places in all items proposes nothing, unless it is one of the rarest of its pattern.
constexpr uint32_t kPlacesMost = 64;
constexpr uint64_t kPart = 1'000'000;
// Only the beginning of a longer item is searched for.
constexpr size_t kWordsMost = 2048;

// A short item may have few edits, because each word counts: five words in a row may be a stock phrase.
uint32_t most_edits(const ItemRule& rule, uint32_t words) {
  const auto most = static_cast<uint32_t>(words * uint64_t{rule.changed_ppm} / kPart);
  return std::min(most, words < 6 ? 0 : words < 8 ? 1 : words < 10 ? 2 : most);
}
// A pattern with fewer words must also match in its first and its last word.
constexpr uint32_t kEndsBelow = 7;
// A pattern with fewer words must match in this share of its letters (in millionths).
constexpr uint32_t kFewWords = 12;
constexpr uint64_t kLettersLeast = 720'000;

uint64_t gram_at(const uint64_t* words) { return hash_shingle(words, kGram) | 1; }

template <typename Visit>
void each_gram(std::span<const uint64_t> words, const Visit& visit) {
  for (size_t i = 0; i + kGram <= words.size(); ++i) visit(i, gram_at(words.data() + i));
}

}  // namespace

bool ItemIndex::add(std::span<const uint64_t> words, std::span<const uint32_t> lengths) {
  const uint32_t item = items_++;
  if (words.size() < std::max<size_t>(rule_.least_words, kGram)) return false;
  words = words.first(std::min(words.size(), kWordsMost));
  patterns_.push_back({.begin = words_.size(),
                       .size = static_cast<uint32_t>(words.size()),
                       .items_begin = item,
                       .items_end = item + 1});
  words_.insert(words_.end(), words.begin(), words.end());
  for (size_t i = 0; i < words.size(); ++i) lengths_.push_back(lengths.empty() ? 1 : lengths[i]);
  return true;
}

// In a pattern of few words, the long ones say most: "What is the name of the" is in many texts. Whether the
// words that the pattern and the part share, in order, have most of the pattern's letters.
bool ItemIndex::says_enough(const Pattern& pattern, std::span<const uint64_t> part) const {
  const std::span<const uint64_t> words = words_of(pattern);
  std::vector<uint32_t> row(part.size() + 1, 0);  // letters of shared words, up to each word of the part
  uint64_t all = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const uint32_t length = lengths_[pattern.begin + i];
    all += length;
    uint32_t diagonal = 0;
    for (size_t j = 1; j <= part.size(); ++j) {
      const uint32_t both = words[i] == part[j - 1] ? diagonal + length : 0;
      diagonal = row[j];
      row[j] = std::max({row[j], row[j - 1], both});
    }
  }
  return uint64_t{row.back()} * kPart >= all * kLettersLeast;
}

// Items with the same words are one pattern.
void ItemIndex::merge_equal() {
  const auto less = [this](const Pattern& a, const Pattern& b) {
    const auto x = words_of(a), y = words_of(b);
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  };
  std::stable_sort(patterns_.begin(), patterns_.end(), less);
  std::vector<Pattern> merged;
  for (const Pattern& pattern : patterns_) {
    if (merged.empty() || less(merged.back(), pattern)) {
      merged.push_back(pattern);
      merged.back().items_begin = static_cast<uint32_t>(pattern_items_.size());
    }
    pattern_items_.push_back(pattern.items_begin);
    merged.back().items_end = static_cast<uint32_t>(pattern_items_.size());
  }
  patterns_ = std::move(merged);
}

std::vector<uint32_t> ItemIndex::finish() {
  merge_equal();
  std::vector<uint32_t> common;
  absl::flat_hash_map<uint64_t, uint32_t> patterns_with;
  std::vector<uint64_t> grams;
  for (const Pattern& pattern : patterns_) {
    grams.clear();
    each_gram(words_of(pattern), [&](size_t, uint64_t gram) { grams.push_back(gram); });
    std::sort(grams.begin(), grams.end());
    grams.erase(std::unique(grams.begin(), grams.end()), grams.end());
    for (const uint64_t gram : grams) ++patterns_with[gram];
  }
  std::erase_if(patterns_, [&](Pattern& pattern) {
    // Reduces the pattern to its own words: from its first gram that is not common to its last one.
    size_t first = pattern.size, behind = 0;
    each_gram(words_of(pattern), [&](size_t i, uint64_t gram) {
      if (patterns_with[gram] >= rule_.common_after) return;
      first = std::min(first, i);
      behind = i + kGram;
    });
    if (behind == 0) {
      common.insert(common.end(), pattern_items_.begin() + pattern.items_begin,
                    pattern_items_.begin() + pattern.items_end);
      return true;
    }
    if (behind < first + rule_.least_words) return false;  // few of its own: it must match word for word
    pattern.begin += first;
    pattern.size = static_cast<uint32_t>(behind - first);
    pattern.most = most_edits(rule_, pattern.size);
    return false;
  });
  list_grams();
  return common;
}

void ItemIndex::list_grams() {
  absl::flat_hash_map<uint64_t, uint32_t> times;
  for (const Pattern& pattern : patterns_)
    each_gram(words_of(pattern), [&](size_t, uint64_t gram) { ++times[gram]; });
  std::vector<std::pair<uint64_t, Place>> all;
  for (uint32_t p = 0; p < patterns_.size(); ++p) {
    Pattern& pattern = patterns_[p];
    uint32_t rarest = ~uint32_t{0};
    each_gram(words_of(pattern), [&](size_t, uint64_t gram) { rarest = std::min(rarest, times[gram]); });
    uint32_t listed = 0;
    each_gram(words_of(pattern), [&](size_t i, uint64_t gram) {
      if (times[gram] > std::max(kPlacesMost, rarest)) return;
      all.push_back({gram, {p, static_cast<uint32_t>(i)}});
      ++listed;
    });
    // An edit destroys at most three grams. If the edits may destroy all of them, a quarter nearly always
    // remains.
    const uint64_t gone = uint64_t{kGram} * pattern.most;
    pattern.needed = std::max(uint32_t{1}, listed / 4);
    if (listed > gone) pattern.needed = std::max(pattern.needed, static_cast<uint32_t>(listed - gone));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  table_.assign(std::bit_ceil(2 * all.size() + 1), {});
  seen_.assign(std::max<size_t>(1, std::bit_ceil(16 * all.size() + 1) / 64), 0);
  for (size_t i = 0; i < all.size();) {
    Listing listing{.gram = all[i].first, .begin = static_cast<uint32_t>(places_.size())};
    for (; i < all.size() && all[i].first == listing.gram; ++i) places_.push_back(all[i].second);
    listing.end = static_cast<uint32_t>(places_.size());
    size_t at = (listing.gram >> 8) & (table_.size() - 1);
    while (table_[at].gram != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = listing;
    seen_[(listing.gram >> 32) & (seen_.size() - 1)] |= uint64_t{1} << (listing.gram >> 1) % 64;
  }
}

const ItemIndex::Listing* ItemIndex::listing(uint64_t gram) const {
  if ((seen_[(gram >> 32) & (seen_.size() - 1)] >> (gram >> 1) % 64 & 1) == 0) return nullptr;
  size_t at = (gram >> 8) & (table_.size() - 1);
  while (table_[at].gram != 0 && table_[at].gram != gram) at = (at + 1) & (table_.size() - 1);
  return table_[at].gram == 0 ? nullptr : &table_[at];
}

void ItemIndex::Finder::find(std::span<const uint64_t> words, std::vector<ItemMatch>& out) {
  out.clear();
  hits_.clear();
  if (index_.table_.empty()) return;
  each_gram(words, [&](size_t i, uint64_t gram) {
    const Listing* listing = index_.listing(gram);
    if (listing == nullptr) return;
    for (uint32_t p = listing->begin; p < listing->end; ++p) {
      const Place& place = index_.places_[p];
      hits_.push_back({place.pattern, static_cast<int32_t>(i) - static_cast<int32_t>(place.position)});
    }
  });
  std::sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) {
    return a.pattern != b.pattern ? a.pattern < b.pattern : a.start < b.start;
  });
  for (size_t first = 0; first < hits_.size();) {
    size_t behind = first;
    while (behind < hits_.size() && hits_[behind].pattern == hits_[first].pattern) ++behind;
    find_pattern(words, {hits_.data() + first, behind - first}, out);
    first = behind;
  }
  std::sort(out.begin(), out.end(), [](const ItemMatch& a, const ItemMatch& b) { return a.item < b.item; });
}

void ItemIndex::Finder::find_pattern(std::span<const uint64_t> words, std::span<const Hit> hits,
                                     std::vector<ItemMatch>& out) {
  const Pattern& pattern = index_.patterns_[hits.front().pattern];
  if (hits.size() < pattern.needed) return;
  const auto slack = static_cast<int32_t>(pattern.most);
  std::optional<NearMatch> best;
  size_t from = 0;  // words before this one were searched
  bool set = false;
  for (size_t i = 0; i + pattern.needed <= hits.size(); ++i) {
    // Insertions and deletions shift the grams of one place against each other.
    size_t last = i + pattern.needed - 1;
    if (hits[last].start - hits[i].start > slack) continue;
    // Extends the range to all hits that are as close.
    while (last + 1 < hits.size() && hits[last + 1].start - hits[last].start <= slack) ++last;
    const auto begin = static_cast<size_t>(std::max(0, hits[i].start - slack));
    const auto end = std::min(words.size(), static_cast<size_t>(hits[last].start + slack) + pattern.size);
    i = last;
    if (end <= std::max(begin, from)) continue;
    if (!set) matcher_.set(index_.words_of(pattern));
    set = true;
    std::optional<NearMatch> match =
        matcher_.find(words.subspan(begin, end - begin), best ? best->edits - 1 : pattern.most);
    from = end;
    if (!match) continue;
    if (match->edits != 0 && pattern.size < kFewWords) {
      const std::span<const uint64_t> own = index_.words_of(pattern);
      const auto part = words.subspan(begin + match->begin, match->end - match->begin);
      if (pattern.size < kEndsBelow && (part.front() != own.front() || part.back() != own.back())) continue;
      if (!index_.says_enough(pattern, part)) continue;
    }
    match->begin += static_cast<uint32_t>(begin);
    match->end += static_cast<uint32_t>(begin);
    best = match;
    if (best->edits == 0) break;
  }
  if (!best) return;
  for (uint32_t i = pattern.items_begin; i < pattern.items_end; ++i) {
    out.push_back({.item = index_.pattern_items_[i],
                   .begin = best->begin,
                   .end = best->end,
                   .words = pattern.size,
                   .edits = best->edits});
  }
}

namespace {

FormatOptions format_of(const ItemFields& fields, const std::vector<std::string>& text) {
  FormatOptions out;
  out.text_fields = text;
  out.id_fields = fields.id;
  return out;
}

// Messages about the text of a record name the flag of the question instead.
std::string about_questions(const std::string& message) {
  return absl::StrReplaceAll(message, {{"text: no field", "question: no field"},
                                       {"input.text (--text-field) names", "--question-field names"},
                                       {"which input.text names", "which --question-field names"},
                                       {"; --text-field names", "; --question-field names"}});
}

// Words that most English texts have, and those that frame a question in an examination.
constexpr std::string_view kStockWords[] = {
    "a",         "about",      "above",     "all",     "an",      "and",       "answer",    "any",
    "are",       "as",         "at",        "be",      "been",    "below",     "best",      "but",
    "by",        "can",        "choose",    "correct", "could",   "describe",  "describes", "did",
    "do",        "does",       "each",      "example", "false",   "following", "for",       "from",
    "has",       "have",       "he",        "her",     "his",     "how",       "i",         "if",
    "in",        "incorrect",  "is",        "it",      "its",     "likely",    "many",      "may",
    "me",        "most",       "much",      "my",      "no",      "none",      "not",       "of",
    "on",        "one",        "only",      "option",  "options", "or",        "other",     "our",
    "out",       "question",   "questions", "right",   "she",     "should",    "so",        "some",
    "statement", "statements", "that",      "the",     "their",   "them",      "then",      "there",
    "these",     "they",       "this",      "those",   "to",      "true",      "two",       "up",
    "was",       "we",         "were",      "what",    "when",    "where",     "which",     "who",
    "why",       "will",       "with",      "would",   "wrong",   "you",       "your"};
// A longer question is unlike any other text, even if it has only these.
constexpr size_t kStockWordsMost = 10;

bool has_only_stock_words(std::span<const WordSpan> words) {
  static const absl::flat_hash_set<std::string_view> stock(std::begin(kStockWords), std::end(kStockWords));
  return words.size() <= kStockWordsMost && std::all_of(words.begin(), words.end(), [](const WordSpan& word) {
           return stock.contains(word.text);
         });
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
    report(about_questions(why));
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
      std::vector<WordSpan> spans = split_words(item.question);
      if (item.with_answer)
        for (WordSpan& word : split_words(item.answer)) spans.push_back(std::move(word));
      lengths.clear();
      for (const WordSpan& word : spans) lengths.push_back(count_letters(word.text));
      const auto number = static_cast<uint32_t>(out.items.size());
      const bool common = words.size() >= rule.least_words && has_only_stock_words(spans);
      if (common) out.common.push_back(number);
      if (!out.index.add(common ? std::span<const uint64_t>() : words, lengths) && !common)
        out.too_short.push_back(number);
      out.items.push_back(std::move(item));
    }
  }
  const std::vector<uint32_t> of_others = out.index.finish();
  out.common.insert(out.common.end(), of_others.begin(), of_others.end());
  std::sort(out.common.begin(), out.common.end());
  return out;
}

void NearMatcher::Masks::make(std::span<const uint64_t> pattern, bool reversed) {
  blocks = (pattern.size() + 63) / 64;
  const size_t places = std::bit_ceil(2 * pattern.size() + 1);
  words.assign(places, 0);
  bits.assign(places * blocks, 0);
  for (size_t i = 0; i < pattern.size(); ++i) {
    const uint64_t word = pattern[reversed ? pattern.size() - 1 - i : i] | 1;
    size_t at = (word >> 8) & (places - 1);
    while (words[at] != 0 && words[at] != word) at = (at + 1) & (places - 1);
    words[at] = word;
    bits[at * blocks + i / 64] |= uint64_t{1} << i % 64;
  }
}

const uint64_t* NearMatcher::Masks::of(uint64_t word) const {
  word |= 1;
  size_t at = (word >> 8) & (words.size() - 1);
  while (words[at] != 0 && words[at] != word) at = (at + 1) & (words.size() - 1);
  return words[at] == 0 ? nullptr : &bits[at * blocks];
}

void NearMatcher::set(std::span<const uint64_t> pattern) {
  pattern_ = pattern;
  forward_.make(pattern, false);
  backward_made_ = false;
  none_.assign(forward_.blocks, 0);
}

void NearMatcher::start() {
  more_.assign(forward_.blocks, ~uint64_t{0});
  less_.assign(forward_.blocks, 0);
}

int NearMatcher::step(const uint64_t* bits) {
  const size_t blocks = forward_.blocks;
  int in = 0;
  for (size_t b = 0; b < blocks; ++b) {
    const uint64_t more = more_[b], less = less_[b];
    const uint64_t here = bits[b];
    const uint64_t equal = in < 0 ? here | 1 : here;
    const uint64_t down = here | less;
    const uint64_t across = (((equal & more) + more) ^ more) | equal;
    uint64_t up = less | ~(across | more);
    uint64_t off = more & across;
    const size_t last = b + 1 < blocks ? 63 : (pattern_.size() - 1) % 64;
    const int out = static_cast<int>(up >> last & 1) - static_cast<int>(off >> last & 1);
    up = up << 1 | static_cast<uint64_t>(in > 0);
    off = off << 1 | static_cast<uint64_t>(in < 0);
    more_[b] = off | ~(down | up);
    less_[b] = up & down;
    in = out;
  }
  return in;
}

std::optional<NearMatch> NearMatcher::find(std::span<const uint64_t> text, uint32_t most) {
  auto distance = static_cast<int64_t>(pattern_.size());
  int64_t best = int64_t{most} + 1;
  size_t end = 0;
  start();
  for (size_t i = 0; i < text.size() && best > 0; ++i) {
    const uint64_t* bits = forward_.of(text[i]);
    distance += step(bits == nullptr ? none_.data() : bits);
    if (distance < best) {
      best = distance;
      end = i + 1;
    }
  }
  if (best > most) return std::nullopt;
  // Finds the beginning: matches the reversed pattern backwards from the end, until the distance falls to
  // `best`.
  if (!backward_made_) backward_.make(pattern_, true);
  backward_made_ = true;
  distance = static_cast<int64_t>(pattern_.size());
  size_t begin = end;
  start();
  while (begin > 0 && distance > best) {
    --begin;
    const uint64_t* bits = backward_.of(text[begin]);
    distance += step(bits == nullptr ? none_.data() : bits);
  }
  return NearMatch{.begin = static_cast<uint32_t>(begin),
                   .end = static_cast<uint32_t>(end),
                   .edits = static_cast<uint32_t>(best)};
}

}  // namespace doppel
