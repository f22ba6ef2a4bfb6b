#include "engine/relatives.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "sketch/overlap.h"

namespace doppel {
namespace {

// Shorter runs say nothing: stock phrases are that long.
constexpr uint32_t kRunLeast = 8;
// At least one part in kLeastLeft of the contained text must not be common.
constexpr uint64_t kLeastLeft = 4;

void keep_longest(std::vector<ShingleRun>& runs, size_t most) {
  if (runs.size() <= most) return;
  std::stable_sort(runs.begin(), runs.end(),
                   [](const ShingleRun& a, const ShingleRun& b) { return a.size() > b.size(); });
  runs.resize(most);
  std::sort(runs.begin(), runs.end(),
            [](const ShingleRun& a, const ShingleRun& b) { return a.begin < b.begin; });
}

uint32_t run_least(const RelationRule& rule) { return std::min(kRunLeast, rule.passage); }

// Calls visit(i, count, far) for each print i. The nearest print that at least `least` originals list is
// listed by `count` originals and is `far` shingles away. Visits nothing if no print is listed so often.
template <typename Visit>
void each_nearest(std::span<const Print> prints, std::span<const uint32_t> listed, uint32_t least,
                  const Visit& visit) {
  constexpr size_t kNone = ~size_t{0};
  size_t before = kNone;
  size_t after = 0;
  for (size_t i = 0; i < prints.size(); ++i) {
    if (listed[prints[i].number] >= least) before = i;
    after = std::max(after, i);
    while (after < prints.size() && listed[prints[after].number] < least) ++after;
    size_t nearest = before;
    if (after < prints.size() && (before == kNone || prints[after].position - prints[i].position <
                                                         prints[i].position - prints[before].position))
      nearest = after;
    if (nearest == kNone) continue;
    const uint32_t far = nearest < i ? prints[i].position - prints[nearest].position
                                     : prints[nearest].position - prints[i].position;
    visit(i, listed[prints[nearest].number], far);
  }
}

}  // namespace

void TextMap::start(const RelationRule& rule, std::span<const uint32_t> tops, std::span<const Print> prints,
                    const CompactSet& own, std::span<const uint32_t> cell_sizes) {
  rule_ = &rule;
  run_least_ = run_least(rule);
  tops_ = tops;
  own_ = &own;
  cell_sizes_ = cell_sizes;
  placed_ = false;
  last_.clear();
  for (size_t i = 0; i + 1 < prints.size(); ++i)
    last_.push_back(prints[i].position + (prints[i + 1].position - prints[i].position) / 2);
  last_.push_back(~uint32_t{0});
}

std::span<const uint32_t> TextMap::cell_sizes() {
  if (!cell_sizes_.empty()) return cell_sizes_;
  if (!placed_) find_places();
  own_sizes_.assign(last_.size() + 1, 0);
  for (const uint32_t cell : cell_of_) ++own_sizes_[cell];
  return cell_sizes_ = std::span(own_sizes_).first(last_.size());
}

// Finds the place of each position's value. first_ leads almost directly to it, because values are hashes.
void TextMap::find_places() {
  placed_ = true;
  const auto n = static_cast<uint32_t>(own_->values.size());
  const auto none = static_cast<uint32_t>(last_.size());
  cell_of_.assign(n + 1, none);
  place_of_.assign(tops_.size(), n);
  if (n == 0) return;
  values_.assign(own_->values.begin(), own_->values.end());
  values_.push_back(~uint32_t{0});  // ends each search
  const int drop = 32 - own_->bits, shift = own_->bits - std::min<int>(own_->bits, std::bit_width(n));
  first_.assign((~uint32_t{0} >> drop >> shift) + 1, n);
  for (uint32_t at = n; at > 0; --at) first_[values_[at - 1] >> shift] = at - 1;
  for (size_t top = first_.size() - 1; top > 0; --top)
    first_[top - 1] = std::min(first_[top - 1], first_[top]);
  const uint32_t* const values = values_.data();
  const uint32_t* const first = first_.data();
  size_t i = 0;
  for (uint32_t cell = 0; i < tops_.size(); ++cell) {
    const size_t end = std::min<size_t>(tops_.size(), size_t{last_[cell]} + 1);
    for (; i < end; ++i) {
      const uint32_t value = tops_[i] >> drop;
      uint32_t at = first[value >> shift];
      at += values[at] < value ? 1 : 0;  // enough for most, and without a branch
      while (values[at] < value) ++at;
      at = values[at] == value ? at : n;
      place_of_[i] = at;
      cell_of_[at] = std::min(cell_of_[at], cell);
    }
  }
  cell_of_[n] = none;
}

void TextMap::compare(const CompactSet& theirs, Relative& out) {
  out.compared = true;
  out.size = static_cast<uint32_t>(theirs.values.size());
  out.cells.clear();
  out.runs.clear();
  const size_t size = own_->values.size();
  const int bits = std::min(own_->bits, theirs.bits);
  shared_.resize(size + 1);
  shared_[size] = 0;
  mark_common(own_->values, own_->bits - bits, theirs.values, theirs.bits - bits, shared_.data());
  const auto shared = std::count_if(shared_.begin(), shared_.end(), [](uint32_t mark) { return mark != 0; });
  if (!may_relate(*rule_, static_cast<uint64_t>(shared), size, theirs.values.size())) return;
  // Most documents share too little with every original that they are compared with. They end here.
  if (!placed_) find_places();
  shared_in_.assign(last_.size() + 1, 0);
  for (size_t at = 0; at < size; ++at) shared_in_[cell_of_[at]] += shared_[at] != 0 ? 1 : 0;
  for (uint32_t cell = 0; cell < last_.size(); ++cell)
    if (shared_in_[cell] != 0) out.cells.push_back({cell, shared_in_[cell]});
  uint32_t begin = 0;
  const auto n = static_cast<uint32_t>(place_of_.size());
  for (uint32_t i = 0; i <= n; ++i) {
    if (i < n && shared_[place_of_[i]] != 0) continue;
    if (i - begin >= run_least_) out.runs.push_back({begin, i});
    begin = i + 1;
  }
  keep_longest(out.runs, kRunsMost);
}

std::vector<ShingleRun> without(const RelationRule& rule, std::span<const ShingleRun> ranges,
                                std::span<const ShingleRun> runs) {
  const uint32_t least = run_least(rule);
  std::vector<ShingleRun> out;
  size_t range = 0;
  for (const ShingleRun& run : runs) {
    while (range < ranges.size() && ranges[range].end <= run.begin) ++range;
    uint32_t begin = run.begin;
    for (size_t r = range; begin < run.end; ++r) {
      const uint32_t end = r < ranges.size() ? std::min(run.end, ranges[r].begin) : run.end;
      if (end >= begin + least) out.push_back({begin, end});
      begin = r < ranges.size() ? std::max(begin, ranges[r].end) : run.end;
    }
  }
  return out;
}

Common find_common(const RelationRule& rule, std::span<const Print> prints,
                   std::span<const uint32_t> listed) {
  const uint32_t nearly = (2 * rule.common_after + 2) / 3;
  constexpr uint8_t kNearly = 2;
  Common out;
  std::vector<uint8_t>& cells = out.cells;
  cells.assign(prints.size(), 0);
  each_nearest(prints, listed, 1, [&](size_t i, uint32_t count, uint32_t far) {
    if (far > rule.passage) return;
    cells[i] = count >= rule.common_after ? 1 : count >= nearly ? kNearly : 0;
  });
  for (size_t i = 1; i < cells.size(); ++i)
    if (cells[i] == kNearly && cells[i - 1] == 1) cells[i] = 1;
  for (size_t i = cells.size(); i > 0; --i)
    if (cells[i - 1] == kNearly) cells[i - 1] = i < cells.size() && cells[i] == 1 ? 1 : 0;
  bool joined = false;  // all cells since the last range are common
  for (size_t i = 0; i < prints.size(); ++i) {
    const uint32_t at = prints[i].position;
    if (listed[prints[i].number] >= rule.common_after) {
      if (joined && at - out.ranges.back().end < rule.passage) {
        out.ranges.back().end = at + 1;
      } else {
        out.ranges.push_back({at, at + 1});
      }
      joined = true;
    }
    joined = joined && cells[i] != 0;
  }
  return out;
}

std::vector<uint8_t> frequent_prints(const RelationRule& rule, std::span<const Print> prints,
                                     std::span<const uint32_t> listed) {
  std::vector<uint8_t> out(prints.size(), 0);
  each_nearest(prints, listed, kFrequentFrom, [&](size_t i, uint32_t count, uint32_t far) {
    out[i] = far <= kAskedWindowMost && count < 2 * rule.common_after ? 1 : 0;
  });
  return out;
}

bool promising(const RelationRule& rule, const Hits& hits, size_t shingles, uint32_t prints) {
  if (hits.count == 0) return false;
  if (rule.shares) return true;
  // Without edits, the document has most prints of an original that it contains, and an original that
  // contains the document lists about two prints for each passage length, all over the document. Many edits
  // leave fewer, but not this few.
  return (rule.contains && hits.count * 8 >= prints) ||
         (rule.contained && hits.parts * 2 * rule.passage >= shingles);
}

size_t compared_most(const RelationRule& rule, int max_checks, size_t shingles) {
  constexpr size_t kShingles = 32'768;                   // of the document, over all comparisons
  if (rule.cut) return static_cast<size_t>(max_checks);  // every passage is to be found
  const size_t most = std::max<size_t>(rule.max_related, kShingles / std::max<size_t>(1, shingles));
  return std::min(static_cast<size_t>(max_checks), most);
}

bool may_relate(const RelationRule& rule, uint64_t shared, uint64_t of_document, uint64_t of_original) {
  if (shared < rule.shared_least()) return false;
  // At least one part in kLeastLeft of the text must not be common, and `shared` must reach the containment
  // of that part.
  const auto may_reach = [&](uint64_t all) {
    return kLeastLeft * shared * 1'000'000 >= all * rule.containment_ppm;
  };
  return rule.shares || (rule.contained && may_reach(of_document)) ||
         (rule.contains && may_reach(of_original));
}

std::optional<Related> relate(const RelationRule& rule, TextMap& map, const Common& common,
                              const Relative& relative) {
  Related out{.seq = relative.seq};
  uint64_t shared_common = 0;
  for (const CellCount& cell : relative.cells)
    (common.cells[cell.cell] != 0 ? shared_common : out.shared) += cell.shared;
  uint64_t whole = 0;
  for (size_t cell = 0; cell < map.cell_sizes().size(); ++cell) {
    whole += map.cell_sizes()[cell];
    out.of_document += common.cells[cell] != 0 ? 0 : map.cell_sizes()[cell];
  }
  // Different values of the document may become equal in the fewer bits of the original's set.
  out.of_original = relative.size - std::min<uint64_t>(relative.size, shared_common);
  out.of_original = std::max(out.of_original, std::min<uint64_t>(out.shared, relative.size));
  out.shared = std::min({out.shared, out.of_document, out.of_original});
  const auto reaches = [&](uint64_t size, uint64_t all) {
    return out.shared >= rule.shared_least() && kLeastLeft * size >= all &&
           out.shared * 1'000'000 >= size * rule.containment_ppm;
  };
  std::vector<ShingleRun> runs = without(rule, common.ranges, relative.runs);
  uint32_t longest = 0;
  for (const ShingleRun& run : runs) longest = std::max(longest, run.size());
  keep_longest(runs, kPassagesMost);
  for (const ShingleRun& run : runs) out.passages.push_back({run.begin, run.end + rule.shingle_words - 1});
  if (rule.contained && reaches(out.of_document, whole)) {
    out.relation = Relation::contained;
  } else if (rule.contains && reaches(out.of_original, relative.size)) {
    out.relation = Relation::contains;
  } else if (rule.shares && longest >= rule.passage) {
    out.relation = Relation::shares;
    // A passage counts as a whole, even in common cells.
    out.shared = std::max(out.shared, std::min<uint64_t>({longest, whole, relative.size}));
    out.of_document = std::max(out.of_document, out.shared);
    out.of_original = std::max(out.of_original, out.shared);
  } else {
    return std::nullopt;
  }
  return out;
}

namespace {

struct Words {
  std::string_view name, of_many, verb;
};
// By Relation.
constexpr Words kWords[] = {
    {"contained", "are parts of others", "is a part of"},
    {"contains", "have others in them", "has in it"},
    {"shares", "share a passage", "shares a passage with"},
    {"similar", "are less similar to an original than the threshold", "is similar to"},
};
static_assert(std::size(kWords) == kRelations.size());

const Words& words_of(Relation relation) { return kWords[static_cast<size_t>(relation)]; }

}  // namespace

std::string_view relation_name(Relation relation) { return words_of(relation).name; }
std::string_view relation_of_many(Relation relation) { return words_of(relation).of_many; }
std::string_view relation_verb(Relation relation) { return words_of(relation).verb; }

std::vector<std::string> relation_names() {
  std::vector<std::string> out{"near"};
  out.reserve(1 + kRelations.size());
  for (const Relation relation : kRelations) out.emplace_back(relation_name(relation));
  return out;
}

uint64_t RelationCounts::sum() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

}  // namespace doppel
