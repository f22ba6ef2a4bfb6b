#include "engine/resolved.h"

#include <algorithm>

#include "base/check.h"
#include "text/words.h"

namespace doppel {

void find_bytes(std::string_view text, Normalisation normalisation, Outcome& outcome) {
  const std::vector<WordPlace> places = word_places(text, normalisation);
  for (Related& related : outcome.related) {
    related.bytes.clear();
    for (const WordRange& words : related.passages) {
      DOPPEL_CHECK(words.begin < words.end && words.end <= places.size(), "a passage is of words of the text",
                   words.begin, words.end, places.size());
      related.bytes.push_back({places[words.begin].begin, places[words.end - 1].end});
    }
  }
  // Cuts up to the next word, so that neither a full stop nor a second space stays behind. A ligature may be
  // a part of two words.
  outcome.cut.clear();
  for (const WordRange& words : outcome.repeated) {
    const size_t begin =
        words.begin == 0 ? 0 : std::max(places[words.begin].begin, places[words.begin - 1].end);
    const size_t end = words.end == places.size() ? text.size() : places[words.end].begin;
    if (begin < end) outcome.cut.push_back({begin, end});
  }
}

std::optional<Relation> strongest_relation(const Outcome& outcome) {
  std::optional<Relation> out;
  for (const Related& related : outcome.related)
    out = std::min(out.value_or(related.relation), related.relation);
  return out;
}

std::string_view removal_reason_name(RemovalReason reason) {
  switch (reason) {
    case RemovalReason::removed:
      return "removed";
    case RemovalReason::replaced:
      return "replaced";
    case RemovalReason::forgotten:
      return "forgotten";
    case RemovalReason::expired:
      return "expired";
    case RemovalReason::evicted:
      return "evicted";
  }
  return "";
}

std::vector<Seq> Resolved::removed_numbers() const {
  std::vector<Seq> out;
  out.reserve(removed.size());
  for (const Removed& r : removed) out.push_back(r.seq);
  return out;
}

std::vector<Shown> Resolved::shown() const {
  std::vector<Shown> out;
  out.reserve(better.size());
  for (const BetterCopy& better_copy : better) out.push_back({better_copy.seq, better_copy.copy});
  return out;
}

void Resolved::clear() {
  outcomes.clear();
  rows.clear();
  places.clear();
  removed.clear();
  better.clear();
  listings_capped = 0;
  prints_capped = 0;
}

}  // namespace doppel
