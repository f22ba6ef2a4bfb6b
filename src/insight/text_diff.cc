#include "insight/text_diff.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "engine/relatives.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "text/hash_key.h"
#include "text/words.h"

namespace doppel {
namespace {

constexpr int kNone = -(1 << 30);  // an unreachable diagonal; stays negative when a word is added
constexpr int kAnchorLevels = 8;   // how often the text between anchors is split at anchors again

struct Range {
  int a_begin, a_end, b_begin, b_end;
};

struct Run {
  int a, b, words;
};

class Differ {
 public:
  Differ(std::span<const uint32_t> a, std::span<const uint32_t> b, const DiffLimits& limits)
      : a_(a), b_(b), limits_(limits), steps_left_(limits.steps_in_all) {}

  void compare(Range r, int level);
  const std::vector<Run>& runs() const { return runs_; }
  bool shortest() const { return shortest_; }

 private:
  bool middle(const Range& r, Run& snake);
  void split_at_anchors(const Range& r, int level);
  std::vector<Run> anchors(const Range& r, int words) const;
  void equal(int a, int b, int words);

  std::span<const uint32_t> a_, b_;
  DiffLimits limits_;
  uint64_t steps_left_;
  std::vector<Run> runs_;  // ascending
  std::vector<int> forward_, backward_;
  bool shortest_ = true;
};

void Differ::equal(int a, int b, int words) {
  if (words == 0) return;
  if (!runs_.empty()) {
    Run& last = runs_.back();
    if (last.a + last.words == a && last.b + last.words == b) {
      last.words += words;
      return;
    }
  }
  runs_.push_back({a, b, words});
}

void Differ::compare(Range r, int level) {
  int prefix = 0;
  while (r.a_begin + prefix < r.a_end && r.b_begin + prefix < r.b_end &&
         a_[r.a_begin + prefix] == b_[r.b_begin + prefix]) {
    ++prefix;
  }
  equal(r.a_begin, r.b_begin, prefix);
  r.a_begin += prefix;
  r.b_begin += prefix;
  int suffix = 0;
  while (r.a_begin < r.a_end && r.b_begin < r.b_end && a_[r.a_end - 1] == b_[r.b_end - 1]) {
    --r.a_end;
    --r.b_end;
    ++suffix;
  }
  if (r.a_begin < r.a_end && r.b_begin < r.b_end) {
    Run snake;
    if (middle(r, snake)) {
      compare({r.a_begin, snake.a, r.b_begin, snake.b}, level);
      equal(snake.a, snake.b, snake.words);
      compare({snake.a + snake.words, r.a_end, snake.b + snake.words, r.b_end}, level);
    } else {
      shortest_ = false;
      if (level < kAnchorLevels) split_at_anchors(r, level);
    }
  }
  equal(r.a_end, r.b_end, suffix);
}

// Finds the middle of a shortest path from corner to corner. Searches from both corners at once for the
// furthest point on each diagonal after d edits (k = x - y; the backward search counts x and y from the far
// corner). Neither side is empty, and their first and last words differ, so each half has fewer edits than
// the whole.
bool Differ::middle(const Range& r, Run& snake) {
  const int n = r.a_end - r.a_begin;
  const int m = r.b_end - r.b_begin;
  const int delta = n - m;
  const bool odd = (delta & 1) != 0;
  const int most = (n + m + 1) / 2;
  const int zero = most + 1;  // index of diagonal 0
  if (static_cast<int>(forward_.size()) < 2 * most + 3) {
    forward_.resize(2 * most + 3);
    backward_.resize(2 * most + 3);
  }
  uint64_t steps = std::min(limits_.steps_per_range, steps_left_);
  steps_left_ -= steps;
  int* f = forward_.data() + zero;
  int* b = backward_.data() + zero;
  f[1] = b[1] = 0;
  f[-1] = b[-1] = kNone;
  // Advances one diagonal of one search; at(x, y) says whether the next words are equal.
  auto advance = [n, m](int* v, int k, int& x0, auto at) {
    int right = v[k - 1] + 1;
    int down = v[k + 1];
    if (right > n) right = kNone;
    if (down - k > m) down = kNone;
    int x = std::max(right, down);
    x0 = x;
    if (x >= 0) {
      while (x < n && x - k < m && at(x, x - k)) ++x;
    }
    v[k] = x;
    return x;
  };
  const uint32_t* wa = a_.data() + r.a_begin;
  const uint32_t* wb = b_.data() + r.b_begin;
  auto ahead = [wa, wb](int x, int y) { return wa[x] == wb[y]; };
  auto back = [wa, wb, n, m](int x, int y) { return wa[n - 1 - x] == wb[m - 1 - y]; };
  for (int d = 0; d <= most; ++d) {
    if (steps < static_cast<uint64_t>(d)) return false;
    steps -= d;
    if (d > 0) f[d + 1] = f[-d - 1] = b[d + 1] = b[-d - 1] = kNone;
    const int low = -d + 2 * std::max(0, d - m);
    const int high = d - 2 * std::max(0, d - n);
    for (int k = low; k <= high; k += 2) {
      int x0 = 0;
      int x = advance(f, k, x0, ahead);
      const int other = delta - k;
      if (odd && x >= 0 && other >= -(d - 1) && other <= d - 1 && b[other] >= 0 && x + b[other] >= n) {
        snake = {r.a_begin + x0, r.b_begin + x0 - k, x - x0};
        steps_left_ += steps;
        return true;
      }
    }
    for (int k = low; k <= high; k += 2) {
      int x0 = 0;
      int x = advance(b, k, x0, back);
      const int other = delta - k;
      if (!odd && x >= 0 && other >= -d && other <= d && f[other] >= 0 && x + f[other] >= n) {
        snake = {r.a_begin + n - x, r.b_begin + m - (x - k), x - x0};
        steps_left_ += steps;
        return true;
      }
    }
  }
  return false;  // not reached: the searches meet after at most `most` edits each
}

// Runs of `words` words that occur exactly once on each side, as many as have the same order on both.
std::vector<Run> Differ::anchors(const Range& r, int words) const {
  struct Place {
    int a = -1, b = -1;
    int in_a = 0, in_b = 0;
  };
  absl::flat_hash_map<uint64_t, Place> places;
  auto hash_at = [words](std::span<const uint32_t> side, int i) {
    uint64_t h = 0;
    for (int j = 0; j < words; ++j) h = mix64(h * 31 + side[i + j] + 1);
    return h;
  };
  for (int i = r.a_begin; i + words <= r.a_end; ++i) {
    Place& p = places[hash_at(a_, i)];
    p.a = i;
    ++p.in_a;
  }
  for (int i = r.b_begin; i + words <= r.b_end; ++i) {
    auto found = places.find(hash_at(b_, i));
    if (found == places.end()) continue;
    found->second.b = i;
    ++found->second.in_b;
  }
  std::vector<Run> once;
  for (const auto& [hash, p] : places) {
    if (p.in_a == 1 && p.in_b == 1 && std::equal(&a_[p.a], &a_[p.a] + words, &b_[p.b])) {
      once.push_back({p.a, p.b, words});
    }
  }
  std::sort(once.begin(), once.end(), [](const Run& x, const Run& y) { return x.a < y.a; });
  // The longest increasing subsequence of .b: tails[i] ends the best one with i + 1 members.
  std::vector<int> tails;
  std::vector<int> before(once.size(), -1);
  for (int i = 0; i < static_cast<int>(once.size()); ++i) {
    auto at = std::lower_bound(tails.begin(), tails.end(), once[i].b,
                               [&](int t, int value) { return once[t].b < value; });
    if (at != tails.begin()) before[i] = *(at - 1);
    if (at == tails.end()) {
      tails.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<Run> kept;
  for (int i = tails.empty() ? -1 : tails.back(); i >= 0; i = before[i]) kept.push_back(once[i]);
  std::reverse(kept.begin(), kept.end());
  return kept;
}

void Differ::split_at_anchors(const Range& r, int level) {
  std::vector<Run> kept;
  for (int words : {8, 4, 2, 1}) {
    kept = anchors(r, words);
    if (!kept.empty()) break;
  }
  Range rest = r;
  for (const Run& anchor : kept) {
    if (anchor.a < rest.a_begin || anchor.b < rest.b_begin) continue;  // overlaps the previous anchor
    compare({rest.a_begin, anchor.a, rest.b_begin, anchor.b}, level + 1);
    int words = anchor.words;
    while (anchor.a + words < r.a_end && anchor.b + words < r.b_end &&
           a_[anchor.a + words] == b_[anchor.b + words]) {
      ++words;
    }
    equal(anchor.a, anchor.b, words);
    rest.a_begin = anchor.a + words;
    rest.b_begin = anchor.b + words;
  }
  if (!kept.empty()) compare(rest, level + 1);
}

}  // namespace

WordDiff diff_words(std::span<const uint32_t> a, std::span<const uint32_t> b, const DiffLimits& limits) {
  Differ differ(a, b, limits);
  differ.compare({0, static_cast<int>(a.size()), 0, static_cast<int>(b.size())}, 0);
  WordDiff diff;
  diff.shortest = differ.shortest();
  size_t at_a = 0;
  size_t at_b = 0;
  auto replaced_up_to = [&](size_t to_a, size_t to_b) {
    if (at_a < to_a || at_b < to_b) diff.hunks.push_back({false, at_a, to_a, at_b, to_b});
  };
  for (const Run& run : differ.runs()) {
    const size_t run_a = run.a;
    const size_t run_b = run.b;
    replaced_up_to(run_a, run_b);
    at_a = run_a + run.words;
    at_b = run_b + run.words;
    diff.hunks.push_back({true, run_a, at_a, run_b, at_b});
  }
  replaced_up_to(a.size(), b.size());
  return diff;
}

void absorb_short_runs(std::vector<DiffHunk>& hunks) {
  auto size = [](const DiffHunk& h) { return std::max(h.removed(), h.added()); };
  std::vector<DiffHunk> out;
  for (size_t i = 0; i < hunks.size(); ++i) {
    const DiffHunk& h = hunks[i];
    if (!h.equal && out.size() >= 2 && out.back().equal) {
      const size_t run = out.back().a_end - out.back().a_begin;
      DiffHunk& before = out[out.size() - 2];
      if (2 * run <= size(before) && 2 * run <= size(h)) {
        before.a_end = h.a_end;
        before.b_end = h.b_end;
        out.pop_back();
        continue;
      }
    }
    out.push_back(h);
  }
  hunks = std::move(out);
}

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

namespace {

// Finds the passages of `text` that are in `other`; `found` gets how much that is.
std::vector<Passage> passages_in(const RelationRule& rule, Normalisation normalisation,
                                 const PassageText& text, const CompactSet& other, TextMap& map,
                                 Relative& found) {
  map.start(rule, text.tops, {}, text.set);
  map.compare(other, found);
  std::vector<Passage> out;
  if (found.runs.empty()) return out;
  const std::vector<WordPlace> places = word_places(text.text, normalisation);
  for (const ShingleRun& run : found.runs) {
    const uint32_t end = run.end + rule.shingle_words - 1;
    out.push_back({.words = {run.begin, end}, .bytes = {places[run.begin].begin, places[end - 1].end}});
  }
  return out;
}

}  // namespace

RelationRule relations_to_explain(const EngineOptions& options) {
  RelationRule out = options.rule.relations;
  if (!out.on()) {
    constexpr uint32_t kPassage = 150;
    out = {.passage = kPassage, .shingle_words = static_cast<uint32_t>(options.scheme.shingle_words)};
  }
  out.contained = out.contains = out.shares = true;
  return out;
}

CommonPassages common_passages(const EngineOptions& options, const PassageText& first,
                               const PassageText& second) {
  const RelationRule rule = relations_to_explain(options);
  CommonPassages out;
  TextMap map;
  Relative found;
  out.in_first = passages_in(rule, options.scheme.normalisation, first, second.set, map, found);
  out.in_second = passages_in(rule, options.scheme.normalisation, second, first.set, map, found);
  out.first = first.set.values.size();
  out.second = second.set.values.size();
  out.shared = overlap(first.set, second.set).inter;
  const Common common{.cells = {0}, .ranges = {}};
  if (const std::optional<Related> related = relate(rule, map, common, found)) {
    out.relation = related->relation;
    out.asked = options.rule.relations.on() && options.rule.relations.knows(related->relation);
  }
  return out;
}

}  // namespace doppel
