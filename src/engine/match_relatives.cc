// MATCH by prints: which originals list a document's prints, and how much of the document is in their sets.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/match.h"
#include "engine/stored_set.h"
#include "index/print_table.h"

namespace doppel {
namespace {

constexpr size_t kBlock = 8;          // documents whose prints are looked up together
constexpr size_t kBlockOfReads = 64;  // the same, if pages are read

// Visits each key once, at its first occurrence.
template <typename Visit>
void each_key(std::span<const Print> prints, const Visit& visit) {
  uint32_t next = 0;
  for (const Print& print : prints) {
    if (print.number != next) continue;
    ++next;
    visit(print);
  }
}

}  // namespace

// What a lookup of several documents found, from one of them on.
struct Matcher::FoundOf {
  std::span<const uint64_t> numbers;
  std::span<const PrintListing> listings;
  uint32_t begin = 0;  // index of the document's first key in the lookup
};

absl::Status Matcher::find_relatives(const ToMatch& work, std::span<const size_t> places,
                                     size_t owner) const {
  const RelateHint none;
  const RelateHint& hint = work.hint != nullptr ? *work.hint : none;
  const PrintTable& table = index_.young().prints();
  const uint32_t common_after = rule_.relations.common_after;
  const uint32_t count_most = std::max(2 * common_after, static_cast<uint32_t>(rule_.max_listed));
  thread_local PodVector<uint64_t> keys;
  thread_local PrintsFound found;
  const size_t at_once = index_.any_old() ? kBlockOfReads : kBlock;
  for (size_t first = 0; first < places.size(); first += at_once) {
    const auto block = places.subspan(first, std::min(at_once, places.size() - first));
    keys.clear();
    for (const size_t i : block) {
      each_key(work.batch.documents[i].prints, [&](const Print& print) {
        table.prefetch(print.key);
        keys.push_back(print.key);
      });
    }
    RETURN_IF_ERROR(index_.find_prints(keys, common_after - 1, count_most, found));
    FoundOf of{.numbers = found.numbers, .listings = found.listings};
    for (const size_t i : block) {
      Answer& answer = work.answers.of(i)[owner];
      find_hits(work.batch.documents[i], hint, of, answer);
      if (!answer.relatives.empty())
        RETURN_IF_ERROR(compare_relatives(work.batch.documents[i], work.sets[i], answer));
    }
  }
  return absl::OkStatus();
}

// Takes the counts of the originals that list each print, and collects those that list a print that is not
// common.
void Matcher::find_hits(const SignedDocument& document, const RelateHint& hint, FoundOf& of,
                        Answer& answer) const {
  thread_local std::vector<std::pair<Seq, uint32_t>> hits;
  thread_local PodVector<const Print*> by_number;
  const uint32_t common_after = rule_.relations.common_after;
  hits.clear();
  by_number.clear();
  each_key(document.prints, [&](const Print& print) { by_number.push_back(&print); });
  const auto end = static_cast<uint32_t>(of.begin + by_number.size());
  while (!of.listings.empty() && of.listings.front().asked < end) {
    const PrintListing& listing = of.listings.front();
    of.listings = of.listings.subspan(1);
    const uint32_t number = listing.asked - of.begin;
    const bool stored = by_number[number]->stored != 0;
    answer.print_counts.push_back(
        {number, stored ? listing.count : std::min(listing.count, 2 * common_after)});
    if (hint.is_common(number)) continue;
    for (uint32_t at = listing.begin; at < listing.end; ++at) hits.emplace_back(of.numbers[at], number);
  }
  of.begin = end;
  if (hits.empty()) return;
  std::sort(hits.begin(), hits.end());
  for (size_t i = 0; i < hits.size();) {
    const Seq local = hits[i].first;
    size_t next = i;
    while (next < hits.size() && hits[next].first == local) ++next;
    const uint32_t prints = index_.prints_of(local);
    if (promising(rule_.relations, next - i, document.tops.size(), prints)) {
      Relative& relative = answer.relatives.emplace_back();
      relative.seq = shards_.global(local);
      relative.prints = prints;
      for (; i < next; ++i) relative.hits.push_back(hits[i].second);
    }
    i = next;
  }
  std::stable_sort(answer.relatives.begin(), answer.relatives.end(),
                   [](const Relative& a, const Relative& b) { return a.hits.size() > b.hits.size(); });
}

absl::Status Matcher::compare_relatives(const SignedDocument& document, DocumentSet& set,
                                        Answer& answer) const {
  thread_local TextMap map;
  thread_local CompactSet theirs;
  RETURN_IF_ERROR(set.make(document));
  map.start(rule_.relations, document.tops, document.prints, set.set);
  const size_t checks = std::min(answer.relatives.size(), static_cast<size_t>(rule_.max_checks));
  for (size_t r = 0; r < checks; ++r) {
    Relative& relative = answer.relatives[r];
    ASSIGN_OR_RETURN(const Body original, body(relative.seq));
    ASSIGN_OR_RETURN(const std::string_view coded, split_stored_set(original.coded_set, true));
    RETURN_IF_ERROR(decode_compact_set(coded, theirs));  // an original that lists prints has a set
    map.compare(theirs, relative);
    if (relative.cells.empty()) continue;
    if (set.cell_sizes.empty()) set.cell_sizes.assign(map.cell_sizes().begin(), map.cell_sizes().end());
    answer.describe(relative.seq, original.metadata);
  }
  return absl::OkStatus();
}

}  // namespace doppel
