#include "insight/text_diff.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "text/words.h"

namespace doppel {
namespace {

class Numbers {
 public:
  explicit Numbers(Normalisation normalisation)
      : normalisation_(normalisation), each_word_(kPublicHashKey, 1, normalisation) {}

  std::vector<DiffWord> number(std::string_view text) {
    const std::vector<WordPlace> places = word_places(text, normalisation_);
    PodVector<uint64_t> hashes;
    each_word_.update(text, hashes);
    each_word_.finish(hashes);
    DOPPEL_CHECK(hashes.size() == places.size(), "the shingler counts the words that are shown",
                 hashes.size(), places.size());
    std::vector<DiffWord> words;
    std::vector<uint64_t> joined;
    for (size_t i = 0; i < places.size(); ++i) {
      // A ligature or fraction can belong to two words. They are shown, and so compared, as one.
      if (!words.empty() && places[i].begin < words.back().end) {
        words.back().end = std::max(words.back().end, places[i].end);
      } else {
        joined.clear();
        words.push_back({places[i].begin, places[i].end, 0});
      }
      joined.push_back(hashes[i]);
      words.back().word = number_of(joined);
    }
    return words;
  }

 private:
  uint32_t number_of(const std::vector<uint64_t>& words) {
    return numbers_.try_emplace(words, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  Normalisation normalisation_;
  Shingler each_word_;
  absl::flat_hash_map<std::vector<uint64_t>, uint32_t> numbers_;
};

std::vector<uint32_t> only_numbers(const std::vector<DiffWord>& words) {
  std::vector<uint32_t> out;
  out.reserve(words.size());
  for (const DiffWord& w : words) out.push_back(w.word);
  return out;
}

// Splits off the white space after the last visible character.
std::pair<std::string_view, std::string_view> split_trailing_space(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  const size_t visible = end == std::string_view::npos ? 0 : end + 1;
  return {text.substr(0, visible), text.substr(visible)};
}

void append_marked(std::string& out, std::string_view text, bool colour, bool removed) {
  auto [visible, space] = split_trailing_space(text);
  if (colour) out += removed ? "\x1b[31;9m" : "\x1b[32;4m";
  out += removed ? "[-" : "{+";
  out += printable(visible);
  out += removed ? "-]" : "+}";
  if (colour) out += "\x1b[0m";
  out += printable(space);
}

}  // namespace

TextDiff diff_texts(std::string_view a, std::string_view b, Normalisation normalisation) {
  TextDiff diff{.a = a, .b = b};
  Numbers numbers(normalisation);
  diff.a_words = numbers.number(a);
  diff.b_words = numbers.number(b);
  WordDiff words = diff_words(only_numbers(diff.a_words), only_numbers(diff.b_words));
  diff.shortest = words.shortest;
  diff.hunks = std::move(words.hunks);
  absorb_short_runs(diff.hunks);
  for (const DiffHunk& h : diff.hunks) {
    if (h.equal) diff.equal += h.a_end - h.a_begin;
    diff.removed += h.removed();
    diff.added += h.added();
  }
  return diff;
}

std::string_view text_of(std::string_view text, const std::vector<DiffWord>& words, size_t begin,
                         size_t end) {
  if (begin == end) return {};
  const size_t from = begin == 0 ? 0 : words[begin].begin;
  const size_t to = end == words.size() ? text.size() : words[end].begin;
  return text.substr(from, to - from);
}

std::vector<DiffPiece> diff_pieces(const TextDiff& diff, size_t context) {
  std::vector<DiffPiece> pieces;
  auto equal = [&](Mark mark, const DiffHunk& h, size_t from, size_t to) {
    if (from == to) return;
    pieces.push_back({mark, text_of(diff.a, diff.a_words, h.a_begin + from, h.a_begin + to),
                      text_of(diff.b, diff.b_words, h.b_begin + from, h.b_begin + to), to - from});
  };
  for (size_t i = 0; i < diff.hunks.size(); ++i) {
    const DiffHunk& h = diff.hunks[i];
    if (!h.equal) {
      if (h.removed() > 0) {
        pieces.push_back({Mark::removed, text_of(diff.a, diff.a_words, h.a_begin, h.a_end), {}, h.removed()});
      }
      if (h.added() > 0) {
        pieces.push_back({Mark::added, {}, text_of(diff.b, diff.b_words, h.b_begin, h.b_end), h.added()});
      }
      continue;
    }
    const size_t words = h.a_end - h.a_begin;
    const size_t head = i == 0 ? 0 : context;
    const size_t tail = i + 1 == diff.hunks.size() ? 0 : context;
    // Omitting only a few words would not help the reader.
    if (words <= head + tail + context / 2) {
      equal(Mark::equal, h, 0, words);
    } else {
      equal(Mark::equal, h, 0, head);
      equal(Mark::elided, h, head, words - tail);
      equal(Mark::equal, h, words - tail, words);
    }
  }
  return pieces;
}

std::string render_diff(const std::vector<DiffPiece>& pieces, bool colour) {
  std::string out;
  auto space = [&out] {
    if (!out.empty() && out.back() != ' ' && out.back() != '\n') out += ' ';
  };
  for (size_t i = 0; i < pieces.size(); ++i) {
    const DiffPiece& piece = pieces[i];
    switch (piece.mark) {
      case Mark::equal:
        out += printable(piece.a);
        break;
      case Mark::removed: {
        // A replacement reads best without a gap: [-old-]{+new+}.
        const bool replaced = i + 1 < pieces.size() && pieces[i + 1].mark == Mark::added;
        append_marked(out, replaced ? split_trailing_space(piece.a).first : piece.a, colour, true);
        break;
      }
      case Mark::added:
        append_marked(out, piece.b, colour, false);
        break;
      case Mark::elided: {
        space();
        out += colour ? "\x1b[2m" : "";
        out += fmt::format("[... {} equal words ...]", piece.words);
        out += colour ? "\x1b[0m " : " ";
        break;
      }
    }
    // The text may not end in a space before the next piece.
    if (i + 1 < pieces.size() && piece.mark == Mark::equal && pieces[i + 1].mark == Mark::added) space();
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out;
}

}  // namespace doppel
