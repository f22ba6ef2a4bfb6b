#include "engine/relatives.h"

#include <algorithm>
#include <bit>

namespace doppel {
namespace {

// Shorter runs say nothing: stock phrases have so many shingles.
constexpr uint32_t kRunLeast = 8;
// So much of the smaller text must not be common: a quarter.
constexpr uint64_t kLeastLeft = 4;

void keep_longest(std::vector<ShingleRun>& runs, size_t most) {
  if (runs.size() <= most) return;
  std::stable_sort(runs.begin(), runs.end(),
                   [](const ShingleRun& a, const ShingleRun& b) { return a.size() > b.size(); });
  runs.resize(most);
  std::sort(runs.begin(), runs.end(),
            [](const ShingleRun& a, const ShingleRun& b) { return a.begin < b.begin; });
}

// Calls visit(i, count, far) for each print near which some original lists one: by how many, how far away.
template <typename Visit>
void each_nearest(std::span<const Print> prints, std::span<const uint32_t> listed, const Visit& visit) {
  constexpr size_t kNone = ~size_t{0};
  size_t before = kNone;
  size_t after = 0;
  for (size_t i = 0; i < prints.size(); ++i) {
    if (listed[prints[i].number] != 0) before = i;
    after = std::max(after, i);
    while (after < prints.size() && listed[prints[after].number] == 0) ++after;
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
  run_least_ = std::min(kRunLeast, rule.passage);
  tops_ = tops;
  own_ = &own;
  cell_sizes_ = cell_sizes;
  numbered_ = false;
  last_.clear();
  for (size_t i = 0; i + 1 < prints.size(); ++i)
    last_.push_back(prints[i].position + (prints[i + 1].position - prints[i].position) / 2);
  last_.push_back(~uint32_t{0});
}

std::span<const uint32_t> TextMap::cell_sizes() {
  if (!cell_sizes_.empty()) return cell_sizes_;
  if (!numbered_) number();
  own_sizes_.assign(last_.size(), 0);
  for (const uint32_t cell : cells_) ++own_sizes_[cell];
  return cell_sizes_ = own_sizes_;
}

// Numbers the document's different values, in the order in which they come first.
void TextMap::number() {
  numbered_ = true;
  const int shift = 32 - own_->bits;
  table_.assign(std::bit_ceil(2 * tops_.size() + 1), 0);
  values_.clear();
  cells_.clear();
  number_of_.resize(tops_.size());
  uint32_t cell = 0;
  for (size_t i = 0; i < tops_.size(); ++i) {
    while (i > last_[cell]) ++cell;
    const uint32_t value = tops_[i] >> shift;
    const size_t at = slot_of(value);
    if (table_[at] == 0) {
      values_.push_back(value);
      cells_.push_back(cell);
      table_[at] = static_cast<uint32_t>(values_.size());
    }
    number_of_[i] = table_[at] - 1;
  }
  ascending_.clear();
  // 0 only if the set is not that of the text: a damaged signed record.
  for (const uint32_t value : own_->values) ascending_.push_back(table_[slot_of(value)]);
}

// The place of the value in table_, or the one where it belongs.
size_t TextMap::slot_of(uint32_t value) const {
  const size_t mask = table_.size() - 1;
  size_t at = value * uint64_t{0x9e3779b97f4a7c15u} >> 32 & mask;
  while (table_[at] != 0 && values_[table_[at] - 1] != value) at = (at + 1) & mask;
  return at;
}

// As many of the document's values as `theirs` may have. Several of them may be one value in fewer bits.
uint64_t TextMap::most_shared(const CompactSet& theirs) const {
  const Overlap both = overlap(*own_, theirs);
  if (theirs.bits >= own_->bits || theirs.values.empty()) return both.inter;
  const uint64_t distinct = both.inter + both.uni - theirs.values.size();
  return both.inter + own_->values.size() - distinct;
}

void TextMap::compare(const CompactSet& theirs, Relative& out) {
  out.compared = true;
  out.size = static_cast<uint32_t>(theirs.values.size());
  out.cells.clear();
  out.runs.clear();
  if (!may_relate(*rule_, most_shared(theirs), own_->values.size(), theirs.values.size())) return;
  // Most documents share too little with every original that they are compared with, and need nothing else.
  if (!numbered_) number();
  shared_.assign(values_.size(), 0);
  const int bits = std::min(own_->bits, theirs.bits);
  const int own_shift = own_->bits - bits, their_shift = theirs.bits - bits;
  for (size_t i = 0, j = 0; i < own_->values.size() && j < theirs.values.size();) {
    const uint32_t own = own_->values[i] >> own_shift, their = theirs.values[j] >> their_shift;
    if (own == their && ascending_[i] != 0) shared_[ascending_[i] - 1] = 1;
    i += own <= their ? 1 : 0;
    j += their < own ? 1 : 0;
  }
  for (size_t number = 0; number < values_.size(); ++number) {
    if (shared_[number] == 0) continue;
    if (out.cells.empty() || out.cells.back().cell != cells_[number])
      out.cells.push_back({cells_[number], 0});
    ++out.cells.back().shared;
  }
  uint32_t begin = 0;
  const auto n = static_cast<uint32_t>(number_of_.size());
  for (uint32_t i = 0; i <= n; ++i) {
    if (i < n && shared_[number_of_[i]] != 0) continue;
    if (i - begin >= run_least_) out.runs.push_back({begin, i});
    begin = i + 1;
  }
  keep_longest(out.runs, kRunsMost);
}

std::vector<ShingleRun> TextMap::without(std::span<const uint8_t> common,
                                         std::span<const ShingleRun> runs) const {
  std::vector<ShingleRun> out;
  size_t cell = 0;
  for (const ShingleRun& run : runs) {
    while (last_[cell] < run.begin) ++cell;
    uint32_t begin = run.begin;
    for (size_t c = cell; begin < run.end; ++c) {
      const uint32_t end = last_[c] < run.end ? last_[c] + 1 : run.end;
      if (common[c] != 0) {
        begin = end;
      } else if (end == run.end || common[c + 1] != 0) {
        if (end - begin >= run_least_) out.push_back({begin, end});
        begin = end;
      } else {
        continue;  // with the next cell
      }
    }
  }
  return out;
}

std::vector<uint8_t> common_cells(const RelationRule& rule, std::span<const Print> prints,
                                  std::span<const uint32_t> listed) {
  const uint32_t third = (rule.common_after + 2) / 3;
  constexpr uint8_t kThird = 2;
  std::vector<uint8_t> out(prints.size(), 0);
  each_nearest(prints, listed, [&](size_t i, uint32_t count, uint32_t far) {
    if (far > rule.passage) return;
    out[i] = count >= rule.common_after ? 1 : count >= third ? kThird : 0;
  });
  for (size_t i = 1; i < out.size(); ++i)
    if (out[i] == kThird && out[i - 1] == 1) out[i] = 1;
  for (size_t i = out.size(); i > 0; --i)
    if (out[i - 1] == kThird) out[i - 1] = i < out.size() && out[i] == 1 ? 1 : 0;
  return out;
}

std::vector<uint8_t> frequent_prints(const RelationRule& rule, std::span<const Print> prints,
                                     std::span<const uint32_t> listed) {
  std::vector<uint8_t> out(prints.size(), 0);
  each_nearest(prints, listed, [&](size_t i, uint32_t count, uint32_t far) {
    out[i] = far <= kAskedWindowMost && count >= kFrequentFrom && count < 2 * rule.common_after ? 1 : 0;
  });
  return out;
}

bool promising(const RelationRule& rule, size_t hits, size_t shingles, uint32_t prints) {
  if (hits == 0) return false;
  if (rule.shares) return true;
  // Of the prints of an original that is contained, most are met; of an original that contains the document,
  // two in each of the document's passages. Many edits leave fewer, but not so few.
  return (rule.contains && hits * 8 >= prints) || (rule.contained && hits * 2 * rule.passage >= shingles);
}

bool may_relate(const RelationRule& rule, uint64_t shared, uint64_t of_document, uint64_t of_original) {
  if (shared < rule.shared_least()) return false;
  // Enough of what is left, of which there is enough.
  const auto may_reach = [&](uint64_t all) {
    return kLeastLeft * shared * 1'000'000 >= all * rule.containment_ppm;
  };
  return rule.shares || (rule.contained && may_reach(of_document)) ||
         (rule.contains && may_reach(of_original));
}

std::optional<Related> relate(const RelationRule& rule, TextMap& map, std::span<const uint8_t> common,
                              const Relative& relative) {
  Related out{.seq = relative.seq};
  uint64_t shared_common = 0;
  for (const CellCount& cell : relative.cells)
    (common[cell.cell] != 0 ? shared_common : out.shared) += cell.shared;
  if (out.shared < rule.shared_least()) return std::nullopt;
  uint64_t whole = 0;
  for (size_t cell = 0; cell < map.cell_sizes().size(); ++cell) {
    whole += map.cell_sizes()[cell];
    out.of_document += common[cell] != 0 ? 0 : map.cell_sizes()[cell];
  }
  // Values that differ in the document may be equal in a smaller number of bits.
  out.of_original = relative.size - std::min<uint64_t>(relative.size, shared_common);
  out.of_original = std::max(out.of_original, std::min<uint64_t>(out.shared, relative.size));
  out.shared = std::min({out.shared, out.of_document, out.of_original});
  const auto reaches = [&](uint64_t size, uint64_t all) {
    return kLeastLeft * size >= all && out.shared * 1'000'000 >= size * rule.containment_ppm;
  };
  std::vector<ShingleRun> runs = map.without(common, relative.runs);
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
  } else {
    return std::nullopt;
  }
  return out;
}

std::string_view relation_name(Relation relation) {
  switch (relation) {
    case Relation::contained:
      return "contained";
    case Relation::contains:
      return "contains";
    case Relation::shares:
      return "shares";
  }
  return "";
}

}  // namespace doppel
