#include "engine/match.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/bodies.h"
#include "index/print_table.h"

namespace doppel {
namespace {

// Bodies of old originals that the lookup of the running match() has found.
thread_local KnownBodies known_bodies;

}  // namespace

Matcher::Matcher(const Rule& rule, const ShardSet& shards, const ShareIndex& index, const Bodies& bodies,
                 PayloadOf payload_of)
    : rule_(rule), shards_(shards), index_(index), bodies_(bodies), payload_of_(std::move(payload_of)) {}

absl::StatusOr<Body> Matcher::body(Seq seq) const {
  thread_local std::string buffer;
  thread_local std::string page;
  ASSIGN_OR_RETURN(const Row row, index_.row(shards_.local(seq), page));
  return bodies_.read(row.body, buffer);
}

absl::StatusOr<Body> Matcher::body_of_found(Seq seq) const {
  const auto known = known_bodies.find(shards_.local(seq));
  if (known == known_bodies.end()) return body(seq);
  thread_local std::string buffer;
  return bodies_.read(known->second, buffer);
}

absl::Status Matcher::find_payload(const Digest& payload, Answer& answer) const {
  if (!payload_of_ || payload == Digest()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Seq> same, index_.find_payload(payload_bits(payload)));
  for (const Seq local : same) {
    const Seq seq = shards_.global(local);
    ASSIGN_OR_RETURN(const Body found, body(seq));
    if (payload_of_(found.metadata) != payload) continue;
    std::string page;
    ASSIGN_OR_RETURN(const Row row, index_.row(local, page));
    answer.same_payload = {seq, row.digest};
    answer.describe(seq, found.metadata);
    break;
  }
  return absl::OkStatus();
}

absl::Status Matcher::match(const ToMatch& work, size_t begin, size_t end, size_t owner, Cut as_of,
                            MatchCounters& counters) const {
  const int num_perm = index_.options().num_perm;
  const int bands = index_.options().banding.bands;
  thread_local std::vector<Query> queries;
  thread_local std::vector<size_t> places;
  thread_local std::vector<Found> found;
  thread_local std::vector<size_t> relate;
  known_bodies.clear();
  relate.clear();
  queries.clear();
  places.clear();
  for (size_t i = begin; i < end; ++i) {
    const SignedDocument& document = work.batch.documents[i];
    Answer& answer = work.answers.of(i)[owner];
    answer.clear();
    answer.as_of = as_of;
    if (document.asks_for_id()) {
      ASSIGN_OR_RETURN(const std::vector<Seq> same, index_.find_id(document.id_tag));
      std::string page;
      for (const Seq local : same) {
        ASSIGN_OR_RETURN(const Row row, index_.row(local, page));
        answer.same_id.push_back({shards_.global(local), row.digest});
      }
    }
    if (document.action != SignedDocument::Action::judge) continue;
    RETURN_IF_ERROR(find_payload(document.payload, answer));
    if (document.content > Content::digest_only) continue;
    Query query{.digest = document.digest};
    if (document.content == Content::shingled) {
      query.slices = work.batch.slices.data() + i * num_perm;
      query.band_keys = work.band_keys.data() + i * bands;
    }
    queries.push_back(query);
    places.push_back(i);
  }
  if (found.size() < queries.size()) found.resize(queries.size());
  RETURN_IF_ERROR(index_.lookup(queries, std::span(found).first(queries.size()), known_bodies));

  for (size_t q = 0; q < queries.size(); ++q) {
    const size_t i = places[q];
    Answer& answer = work.answers.of(i)[owner];
    answer.counts.assign(found[q].counts.begin(), found[q].counts.end());
    for (const Candidate& c : found[q].candidates)
      answer.candidates.push_back({.seq = shards_.global(c.seq), .equal = c.equal});
    counters.candidates += answer.candidates.size();
    const bool asks = rule_.relations.on() && !work.batch.documents[i].prints.empty();
    answer.relatives_left_out = asks && found[q].exact.has_value();
    if (found[q].exact.has_value()) {
      answer.exact = shards_.global(*found[q].exact);
      if (answer.about(*answer.exact).has_value()) continue;
      ASSIGN_OR_RETURN(const Body original, body_of_found(*answer.exact));
      answer.describe(*answer.exact, original.metadata);
      continue;
    }
    const auto checks = std::min<size_t>(answer.candidates.size(), static_cast<size_t>(rule_.max_checks));
    counters.checks += checks;
    counters.checks_capped += checks < answer.candidates.size() ? 1 : 0;
    if (checks != 0) {
      ASSIGN_OR_RETURN(const bool repeats, verify_best(work.batch.documents[i], work.sets[i], answer));
      answer.relatives_left_out = asks && repeats;
    }
    if (!asks) continue;
    if (work.hint != nullptr && work.hint->anyway) answer.relatives_left_out = false;
    if (!answer.relatives_left_out) relate.push_back(i);
  }
  return relate.empty() ? absl::OkStatus() : find_relatives(work, relate, owner);
}

// Verifies the best candidates. Returns whether one of them reaches the threshold.
absl::StatusOr<bool> Matcher::verify_best(const SignedDocument& document, DocumentSet& set,
                                          Answer& answer) const {
  const auto checks = std::min<size_t>(answer.candidates.size(), static_cast<size_t>(rule_.max_checks));
  const Verified* best = nullptr;
  for (size_t c = 0; c < checks; ++c) {
    Verified& candidate = answer.candidates[c];
    std::optional<Body> original;
    RETURN_IF_ERROR(verify(document, set, candidate, original));
    if (best != nullptr && !better(candidate, *best)) continue;
    best = &candidate;
    if (!reaches(candidate.overlap, rule_.least_ppm())) continue;
    if (!original.has_value()) {
      ASSIGN_OR_RETURN(original, body_of_found(candidate.seq));
    }
    answer.describe(candidate.seq, original->metadata);
  }
  return best != nullptr && reaches(best->overlap, rule_.threshold_ppm);
}

// If the comparison reads the body, it is returned in `original`.
absl::Status Matcher::verify(const SignedDocument& document, DocumentSet& set, Verified& candidate,
                             std::optional<Body>& original) const {
  candidate.checked = true;
  candidate.estimated = true;
  candidate.overlap = overlap_from_slices(candidate.equal, index_.options().num_perm);
  if (rule_.verify == Verify::signature || document.set_left_out) return absl::OkStatus();

  thread_local CompactSet theirs;
  ASSIGN_OR_RETURN(original, body_of_found(candidate.seq));
  if (original->coded_set.empty()) return absl::OkStatus();  // left out when it was stored
  ASSIGN_OR_RETURN(const std::string_view coded, split_stored_set(original->coded_set, rule_.relations.on()));
  RETURN_IF_ERROR(decode_compact_set(coded, theirs));
  RETURN_IF_ERROR(set.make(document));
  candidate.estimated = false;
  candidate.overlap = overlap(set.set, theirs);
  return absl::OkStatus();
}

// MATCH by prints: which originals list a document's prints, and how much of the document is in their sets.

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
  const auto block_at = [&](size_t first) {
    return places.subspan(first, std::min(at_once, places.size() - first));
  };
  for (size_t first = 0; first < places.size(); first += at_once) {
    const auto block = block_at(first);
    keys.clear();
    for (const size_t i : block_at(first + block.size())) fetch_prints(work.batch.documents[i].prints);
    for (const size_t i : block) {
      each_key(work.batch.documents[i].prints, [&](const Print& print) {
        table.prefetch(print.key);
        keys.push_back(print.key);
      });
    }
    RETURN_IF_ERROR(index_.find_prints(keys, common_after - 1, count_most, found));
    FoundOf rest{.numbers = found.numbers, .listings = found.listings};
    for (const size_t i : block) {
      Answer& answer = work.answers.of(i)[owner];
      find_hits(work.batch.documents[i], hint, rest, answer);
      if (!answer.relatives.empty())
        RETURN_IF_ERROR(compare_relatives(work.batch.documents[i], work.sets[i], answer));
    }
  }
  return absl::OkStatus();
}

// Takes the counts of the originals that list each print, and collects those that list a print that is not
// common.
void Matcher::find_hits(const SignedDocument& document, const RelateHint& hint, FoundOf& rest,
                        Answer& answer) const {
  thread_local std::vector<std::pair<Seq, uint32_t>> hits;
  thread_local PodVector<const Print*> by_number;
  const uint32_t common_after = rule_.relations.common_after;
  hits.clear();
  by_number.clear();
  each_key(document.prints, [&](const Print& print) { by_number.push_back(&print); });
  const auto end = static_cast<uint32_t>(rest.begin + by_number.size());
  while (!rest.listings.empty() && rest.listings.front().asked < end) {
    const PrintListing& listing = rest.listings.front();
    rest.listings = rest.listings.subspan(1);
    const uint32_t number = listing.asked - rest.begin;
    const bool stored = by_number[number]->stored != 0;
    answer.print_counts.push_back(
        {number, stored ? listing.count : std::min(listing.count, 2 * common_after)});
    if (hint.is_common(number)) continue;
    for (uint32_t at = listing.begin; at < listing.end; ++at) hits.emplace_back(rest.numbers[at], number);
  }
  rest.begin = end;
  if (hits.empty()) return;
  std::sort(hits.begin(), hits.end());
  for (size_t i = 0; i < hits.size();) {
    const Seq local = hits[i].first;
    size_t next = i;
    while (next < hits.size() && hits[next].first == local) ++next;
    const uint32_t prints = index_.prints_of(local);
    Hits counted;
    for (size_t hit = i; hit < next; ++hit)
      counted.add(rule_.relations, by_number[hits[hit].second]->position);
    if (promising(rule_.relations, counted, document.tops.size(), prints)) {
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
  const size_t checks = std::min(answer.relatives.size(),
                                 compared_most(rule_.relations, rule_.max_checks, document.tops.size()));
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
