#pragma once
// Relations word for word: compares every live original with the document, shingle by shingle, with maps and
// sets. It shares only prints and compact sets with the engine.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "engine/relatives.h"
#include "engine/sign.h"
#include "sketch/compact_set.h"

namespace doppel::testing {

struct SlowOriginal {
  Seq seq = 0;
  const CompactSet* set = nullptr;
  const std::set<uint64_t>* listed = nullptr;  // prints
};

struct SlowRelated {
  std::vector<Related> related;
  size_t more = 0;
  std::set<uint64_t> listed;        // the prints that it lists if it becomes an original
  std::vector<WordRange> repeated;  // the words of all passages, if they are cut
};

// How many of these originals list a print.
inline uint32_t slow_count(const std::vector<SlowOriginal>& live, uint64_t print) {
  uint32_t out = 0;
  for (const SlowOriginal& r : live) out += r.listed->contains(print) ? 1 : 0;
  return out;
}

inline SlowRelated slow_relations(const RelationRule& rule, size_t max_checks, size_t max_listed,
                                  const SignedDocument& d, const CompactSet& own,
                                  const std::vector<SlowOriginal>& live) {
  SlowRelated out;
  if (!rule.on() || d.prints.empty()) return out;
  std::map<uint64_t, uint32_t> count;
  for (const Print& p : d.prints) count[p.key] = slow_count(live, p.key);

  // Finds the cell of each place, and whether it is common.
  const auto distance = [](uint32_t a, uint32_t b) { return a > b ? a - b : b - a; };
  const auto nearest = [&](uint32_t place, uint32_t least) -> const Print* {
    const Print* best = nullptr;
    for (const Print& p : d.prints) {
      if (count[p.key] < least) continue;
      if (best == nullptr || distance(p.position, place) < distance(best->position, place)) best = &p;
    }
    return best;
  };
  std::vector<bool> common(d.tops.size());
  std::map<uint32_t, uint32_t> frequency;  // by the position of a print
  for (const Print& p : d.prints) {
    if (const Print* by = nearest(p.position, 1); by != nullptr) {
      if (distance(by->position, p.position) <= rule.passage) frequency[p.position] = count[by->key];
    }
    if (const Print* by = nearest(p.position, 2); by != nullptr) {
      const bool near = distance(by->position, p.position) <= kAskedWindowMost;
      if (near && count[by->key] < 2 * rule.common_after) out.listed.insert(p.key);
    }
  }
  for (const Print& p : d.prints)
    if (p.stored != 0) out.listed.insert(p.key);
  std::erase_if(out.listed, [&](uint64_t key) { return count[key] >= max_listed; });
  // A cell is common if it is frequent, or if cells that are two thirds as frequent lead from it to a
  // frequent one.
  std::map<uint32_t, bool> common_at;
  for (const Print& p : d.prints) {
    const auto reaches_common = [&](auto from, auto to) {
      for (; from != to && 3 * frequency[from->position] >= 2 * rule.common_after; ++from)
        if (frequency[from->position] >= rule.common_after) return true;
      return false;
    };
    const auto at = d.prints.begin() + (&p - d.prints.data());
    common_at[p.position] = reaches_common(at, d.prints.end()) ||
                            reaches_common(std::make_reverse_iterator(at + 1), d.prints.rend());
  }
  for (uint32_t place = 0; place < d.tops.size(); ++place)
    common[place] = common_at[nearest(place, 0)->position];

  // The shingles that end a passage: each print that is frequent itself, and everything between two of them
  // in common cells.
  std::set<uint32_t> ends;
  const Print* last = nullptr;  // the last frequent print, with only common cells since
  for (const Print& p : d.prints) {
    if (count[p.key] >= rule.common_after) {
      ends.insert(p.position);
      if (last != nullptr && p.position - last->position <= rule.passage)
        for (uint32_t place = last->position; place < p.position; ++place) ends.insert(place);
      last = &p;
    } else if (!common_at[p.position]) {
      last = nullptr;
    }
  }

  struct Candidate {
    size_t hits;
    const SlowOriginal* r;
  };
  std::set<uint32_t> repeated;  // words
  std::vector<Candidate> candidates;
  for (const SlowOriginal& r : live) {
    size_t hits = 0;
    std::set<uint32_t> parts, keys;  // half passages of the document with a hit
    for (const auto& [key, listed] : count)
      hits += listed < rule.common_after && r.listed->contains(key) ? 1 : 0;
    for (const Print& p : d.prints) {
      const bool first = keys.insert(p.number).second;
      if (first && count[p.key] < rule.common_after && r.listed->contains(p.key))
        parts.insert(p.position / std::max(1u, rule.passage / 2));
    }
    const size_t prints = std::min<size_t>(r.listed->size(), 127);
    bool worth = hits != 0 && rule.shares;
    worth = worth || (hits != 0 && rule.contains && hits * 8 >= prints);
    worth = worth || (hits != 0 && rule.contained && parts.size() * 2 * rule.passage >= d.tops.size());
    if (worth) candidates.push_back({hits, &r});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.hits > b.hits; });
  // Long documents are compared with fewer originals.
  const size_t fewer = std::max<size_t>(rule.max_related, 32'768 / d.tops.size());
  const size_t most = rule.cut ? max_checks : std::min(max_checks, fewer);
  if (candidates.size() > most) candidates.resize(most);

  for (const Candidate& candidate : candidates) {
    const CompactSet& r = *candidate.r->set;
    const int bits = std::min(own.bits, r.bits);
    std::set<uint32_t> theirs;
    for (const uint32_t value : r.values) theirs.insert(value >> (r.bits - bits));
    const auto has = [&](size_t place) { return theirs.contains(d.tops[place] >> (32 - bits)); };
    Related related{.seq = candidate.r->seq};
    uint64_t common_shared = 0, all = 0;
    std::set<uint32_t> seen;
    std::vector<ShingleRun> runs;
    uint32_t begin = 0;
    const uint32_t least = std::min<uint32_t>(8, rule.passage);
    const auto n = static_cast<uint32_t>(d.tops.size());
    for (uint32_t place = 0; place <= n; ++place) {
      if (place == n || !has(place)) {
        if (place - begin >= least) runs.push_back({begin, place});
        begin = place + 1;
      }
      if (place == n) break;
      // Values of the document count separately, even if several are equal in fewer bits.
      if (!seen.insert(d.tops[place] >> (32 - own.bits)).second) continue;
      if (has(place)) ++(common[place] ? common_shared : related.shared);
      ++all;
      related.of_document += common[place] ? 0 : 1;
    }
    std::stable_sort(runs.begin(), runs.end(),
                     [](ShingleRun a, ShingleRun b) { return a.size() > b.size(); });
    if (runs.size() > kRunsMost) runs.resize(kRunsMost);
    std::sort(runs.begin(), runs.end(), [](ShingleRun a, ShingleRun b) { return a.begin < b.begin; });
    uint32_t longest = 0;
    std::vector<ShingleRun> passages;
    for (const ShingleRun& run : runs) {
      uint32_t from = run.begin;
      for (uint32_t place = run.begin; place <= run.end; ++place) {
        if (place < run.end && !ends.contains(place)) continue;
        if (place > from && place - from >= least) passages.push_back({from, place});
        if (place > from) longest = std::max(longest, place - from);
        from = place + 1;
      }
    }
    std::set<uint32_t> cut;
    for (const ShingleRun& run : passages)
      for (uint32_t word = run.begin; run.size() >= rule.passage && word < run.end + rule.shingle_words - 1;
           ++word)
        cut.insert(word);
    std::stable_sort(passages.begin(), passages.end(),
                     [](ShingleRun a, ShingleRun b) { return a.size() > b.size(); });
    if (passages.size() > kPassagesMost) passages.resize(kPassagesMost);
    std::sort(passages.begin(), passages.end(), [](ShingleRun a, ShingleRun b) { return a.begin < b.begin; });
    for (const ShingleRun& run : passages)
      related.passages.push_back({run.begin, run.end + rule.shingle_words - 1});
    if (related.shared + common_shared < rule.shared_least()) continue;
    const uint64_t size = r.values.size();
    related.of_original = size - std::min(size, common_shared);
    related.of_original = std::max(related.of_original, std::min(related.shared, size));
    related.shared = std::min({related.shared, related.of_document, related.of_original});
    const auto reaches = [&](uint64_t part, uint64_t whole) {
      return related.shared >= rule.shared_least() && 4 * part >= whole &&
             related.shared * 1'000'000 >= part * rule.containment_ppm;
    };
    if (rule.contained && reaches(related.of_document, all)) {
      related.relation = Relation::contained;
    } else if (rule.contains && reaches(related.of_original, size)) {
      related.relation = Relation::contains;
    } else if (rule.shares && longest >= rule.passage) {
      related.relation = Relation::shares;
      related.shared = std::max(related.shared, std::min<uint64_t>({longest, all, size}));
      related.of_document = std::max(related.of_document, related.shared);
      related.of_original = std::max(related.of_original, related.shared);
    } else {
      continue;
    }
    out.related.push_back(related);
    if (rule.cut) repeated.merge(cut);
  }
  for (const uint32_t word : repeated) {
    if (out.repeated.empty() || out.repeated.back().end != word) out.repeated.push_back({word, word});
    ++out.repeated.back().end;
  }
  std::stable_sort(out.related.begin(), out.related.end(), [](const Related& a, const Related& b) {
    return a.shared != b.shared ? a.shared > b.shared : a.seq < b.seq;
  });
  if (out.related.size() > rule.max_related) {
    out.more = out.related.size() - rule.max_related;
    out.related.resize(rule.max_related);
  }
  return out;
}

}  // namespace doppel::testing
