#include "engine/resolve.h"

#include <algorithm>
#include <ranges>

#include "base/check.h"
#include "base/status.h"

namespace doppel {

Resolver::Resolver(const Rule& rule, int num_perm, Owners owners)
    : rule_(rule),
      num_perm_(num_perm),
      expiry_(rule),
      window_(num_perm, rule.banding, rule.min_equal, std::move(owners)) {}

void Resolver::finish_restore(Seq next_seq, Seq lowest_live) {
  expiry_.finish_restore();
  next_seq_ = next_seq;
  window_.bury_below(std::max(lowest_live, expiry_.lowest_live()));
}

absl::Status Resolver::resolve(const ToResolve& work, const Ask& ask, Resolved& out) {
  const size_t documents = work.batch.documents.size();
  DOPPEL_CHECK(work.answers.documents() >= documents && work.sets.size() >= documents &&
                   work.band_keys.size() >= documents * static_cast<size_t>(rule_.banding.bands) &&
                   work.batch.slices.size() >= documents * static_cast<size_t>(num_perm_),
               "each document of a batch has its place in what SIGN and MATCH found", documents,
               work.answers.documents(), work.band_keys.size(), work.batch.slices.size());
  work_ = &work;
  ask_ = &ask;
  out_ = &out;
  out.clear();
  out.outcomes.resize(documents);
  window_.start_batch(cut_, documents, work.answers.covered);
  expire_to(expiry_.lowest_live());
  out.lowest_live = window_.lowest_live();

  for (const Seq seq : work.forget) remove(seq, RemovalReason::forgotten);
  for (size_t i = 0; i < documents; ++i) {
    if (i + 1 < documents) fetch_prints(document(i + 1).prints);
    expire_to(expiry_.observe(document(i).timestamp_ms));
    if (document(i).action == SignedDocument::Action::remove) {
      remove_id(i);
      out.outcomes[i].verdict = Verdict::removal;
    } else {
      RETURN_IF_ERROR(judge(i, out.outcomes[i]));
      if (out.outcomes[i].verdict == Verdict::duplicate) check_original(i, out.outcomes[i]);
    }
  }
  list_rows();
  ++cut_;
  return absl::OkStatus();
}

const uint8_t* Resolver::slices(size_t i) const {
  return document(i).content == Content::shingled
             ? work_->batch.slices.data() + i * static_cast<size_t>(num_perm_)
             : nullptr;
}

const uint64_t* Resolver::keys(size_t i) const {
  return work_->band_keys.data() + i * static_cast<size_t>(rule_.banding.bands);
}

// Checks what the rule guarantees about an original, however it was found.
void Resolver::check_original(size_t i, const Outcome& outcome) const {
  DOPPEL_CHECK(outcome.similarity.inter <= outcome.similarity.uni, "a similarity is at most 1", i,
               outcome.seq, outcome.similarity.inter, outcome.similarity.uni);
  DOPPEL_CHECK(outcome.seq < next_seq_ && !window_.dead(outcome.seq),
               "an original was stored before its copy came, and lives", i, outcome.seq,
               window_.lowest_live(), next_seq_);
}

absl::Status Resolver::query(const ToResolve& work, const Ask& ask, size_t i, Outcome& out) {
  DOPPEL_CHECK(window_.originals() == 0, "a query knows nothing but its answers", window_.originals());
  Resolved unused;
  work_ = &work;
  ask_ = &ask;
  out_ = &unused;
  out = {};
  RETURN_IF_ERROR(find_original(i, out).status());
  if (out.verdict == Verdict::duplicate) check_original(i, out);
  return absl::OkStatus();
}

absl::Status Resolver::judge(size_t i, Outcome& outcome) {
  ASSIGN_OR_RETURN(const bool settled, find_original(i, outcome));
  return settled ? absl::OkStatus() : become_original(i, outcome);
}

// Returns false if the document is not a duplicate: it is unique and becomes an original.
absl::StatusOr<bool> Resolver::find_original(size_t i, Outcome& outcome) {
  asked_.reset();
  hint_.clear();
  print_listed_.clear();
  similar_.reset();
  if (document(i).payload != Digest()) {
    Digest digest;
    if (find_payload(i, outcome, digest)) {
      // Equal bytes give equal text.
      if (document(i).replace) replace(i, digest);
      return true;
    }
    if (document(i).content == Content::unread && ask_->read) RETURN_IF_ERROR(ask_->read(i));
  }
  if (document(i).content > Content::digest_only) {
    outcome.verdict = verdict_without_text(document(i).content);
    return true;
  }
  if (document(i).replace) replace(i, document(i).digest);
  if (find_exact(i, outcome)) return true;
  if (slices(i) != nullptr) RETURN_IF_ERROR(choose_near(i, outcome));
  if (outcome.verdict == Verdict::duplicate) return true;
  RETURN_IF_ERROR(find_related(i, outcome));
  if (outcome.verdict == Verdict::duplicate) return true;
  outcome.verdict = Verdict::unique;
  if (similar_ && std::none_of(outcome.related.begin(), outcome.related.end(),
                               [&](const Related& related) { return related.seq == similar_->seq; }))
    outcome.related.push_back(*std::move(similar_));
  return false;
}

void Resolver::set_exact(size_t i, Seq seq, const Answer* answer, Outcome& outcome) const {
  outcome.verdict = Verdict::duplicate;
  outcome.kind = Kind::exact;
  outcome.similarity = {1, 1};
  outcome.seq = seq;
  outcome.original = answer != nullptr ? answer->about(seq).value_or("") : window_.at(seq)->metadata;
  for (const Answer& owner_answer : work_->answers.of(i))
    outcome.candidates +=
        static_cast<uint32_t>(owner_answer.candidates.size()) + owner_answer.candidates_more;
}

// Finds an original with the same payload, and the digest of its text.
bool Resolver::find_payload(size_t i, Outcome& outcome, Digest& digest) const {
  for (const Answer& answer : work_->answers.of(i)) {
    if (!answer.same_payload.has_value() || window_.dead(answer.same_payload->seq)) continue;
    set_exact(i, answer.same_payload->seq, &answer, outcome);
    digest = answer.same_payload->digest;
    return outcome.same_payload = true;
  }
  const Newcomers::Entry* twin = window_.find_payload(document(i).payload);
  if (twin == nullptr) return false;
  set_exact(i, twin->seq, nullptr, outcome);
  digest = twin->digest;
  return outcome.same_payload = true;
}

bool Resolver::find_exact(size_t i, Outcome& outcome) const {
  for (const Answer& answer : work_->answers.of(i)) {
    if (!answer.exact.has_value() || window_.dead(*answer.exact)) continue;
    set_exact(i, *answer.exact, &answer, outcome);
    return true;
  }
  const Newcomers::Entry* twin = window_.find_digest(document(i).digest);
  if (twin == nullptr) return false;
  set_exact(i, twin->seq, nullptr, outcome);
  return true;
}

// Chooses the most similar of all live candidates, from the owners and the window, if it reaches the
// threshold.
absl::Status Resolver::choose_near(size_t i, Outcome& outcome) {
  ASSIGN_OR_RETURN(bool known, weigh(i, outcome));
  if (known) return absl::OkStatus();
  RETURN_IF_ERROR(ask_again(i));
  ASSIGN_OR_RETURN(known, weigh(i, outcome));
  DOPPEL_CHECK(known, "an answer as of now leaves nothing open", i, candidates_.size());
  return absl::OkStatus();
}

// Returns false if the answers do not suffice, because an original in them has died.
absl::StatusOr<bool> Resolver::weigh(size_t i, Outcome& outcome) {
  if (!collect(i)) return false;
  outcome.candidates = static_cast<uint32_t>(candidates_.size());
  if (candidates_.empty()) return true;
  outcome.checks = std::min(outcome.candidates, static_cast<uint32_t>(rule_.max_checks));
  const Verified* best = candidates_.data();
  for (size_t c = 0; c < outcome.checks; ++c) {
    Verified& candidate = candidates_[c];
    if (!candidate.checked) {
      const Newcomers::Entry* newcomer = window_.at(candidate.seq);
      if (newcomer == nullptr) return false;
      RETURN_IF_ERROR(compare(i, *newcomer, candidate));
    }
    if (better(candidate, *best)) best = &candidate;
  }
  outcome.closest = best->overlap;
  if (!reaches(best->overlap, rule_.least_ppm())) return true;
  const std::optional<std::string_view> original = about(i, best->seq);
  if (!original.has_value()) return false;
  if (!reaches(best->overlap, rule_.threshold_ppm)) {
    similar_ = Related{.seq = best->seq,
                       .relation = Relation::similar,
                       .shared = best->overlap.inter,
                       .of_document = best->overlap.uni,
                       .of_original = best->overlap.uni,
                       .original = std::string(*original)};
    return true;
  }
  outcome.verdict = Verdict::duplicate;
  outcome.kind = Kind::near;
  outcome.similarity = best->overlap;
  outcome.estimated = best->estimated;
  outcome.seq = best->seq;
  outcome.original = *original;
  return true;
}

// Collects all live candidates in the order of verification, and counts in listed_ the originals of the
// window that each band lists with this document's key. Returns false if an owner may have a better candidate
// that it has not named.
bool Resolver::collect(size_t i) {
  candidates_.clear();
  listed_.assign(static_cast<size_t>(rule_.banding.bands), 0);
  const std::span<const Answer> answers = work_->answers.of(i);
  bool all = true;
  for (const Answer& answer : answers) {
    size_t live = 0;
    for (const Verified& candidate : answer.candidates) {
      if (window_.dead(candidate.seq)) continue;
      candidates_.push_back(candidate);
      ++live;
    }
    if (answer.candidates_more != 0 && live < static_cast<size_t>(rule_.max_checks)) all = false;
  }
  window_.find(slices(i), keys(i), answers, candidates_, listed_);
  if (candidates_.size() > 1) std::sort(candidates_.begin(), candidates_.end(), checked_before);
  return all;
}

absl::Status Resolver::compare(size_t i, const Newcomers::Entry& newcomer, Verified& candidate) {
  candidate.checked = true;
  candidate.estimated =
      rule_.verify == Verify::signature || document(i).set_left_out || newcomer.document->set_left_out;
  if (candidate.estimated) {
    candidate.overlap = overlap_from_slices(candidate.equal, num_perm_);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(work_->sets[i].make(document(i)));
  RETURN_IF_ERROR(newcomer.set->make(*newcomer.document));
  candidate.overlap = overlap(work_->sets[i].set, newcomer.set->set);
  return absl::OkStatus();
}

std::optional<std::string_view> Resolver::about(size_t i, Seq seq) const {
  if (const Newcomers::Entry* newcomer = window_.at(seq)) return newcomer->metadata;
  for (const Answer& answer : work_->answers.of(i))
    if (const std::optional<std::string_view> found = answer.about(seq)) return found;
  return std::nullopt;
}

absl::Status Resolver::become_original(size_t i, Outcome& outcome) {
  const Seq seq = next_seq_;
  make_room(seq);
  Newcomers::Entry entry{.seq = seq,
                         .place = i,
                         .slices = slices(i),
                         .digest = document(i).digest,
                         .payload = document(i).payload,
                         .id_tag = document(i).id_tag,
                         .trusted_ms = expiry_.trusted(document(i).timestamp_ms),
                         .metadata = document(i).metadata,
                         .document = &document(i),
                         .set = &work_->sets[i]};
  entry.mask.assign(static_cast<size_t>(rule_.banding.mask_words()), 0);
  if (entry.slices != nullptr) {
    // Counts are never too low, so a band that seems to have room has room.
    if (count_listed(i) && may_be_stale(i)) {
      RETURN_IF_ERROR(ask_again(i));
      collect(i);  // the owners cover more now, and the window less
      count_listed(i);
    }
    for (size_t band = 0; band < listed_.size(); ++band) {
      if (answered_[band] + listed_[band] < static_cast<uint32_t>(rule_.max_listed)) {
        entry.mask[band / 32] |= 1u << (band % 32);
      } else {
        ++out_->listings_capped;
      }
    }
  }
  expiry_.added(seq, entry.trusted_ms);
  window_.add(entry, keys(i), listed_prints(i));
  ++next_seq_;
  outcome.seq = seq;
  return absl::OkStatus();
}

// Returns whether a band is full.
bool Resolver::count_listed(size_t i) {
  answered_.assign(listed_.size(), 0);
  for (const Answer& answer : work_->answers.of(i))
    for (const BandCount& count : answer.counts) answered_[count.band] += count.listed;
  for (size_t band = 0; band < listed_.size(); ++band)
    if (answered_[band] + listed_[band] >= static_cast<uint32_t>(rule_.max_listed)) return true;
  return false;
}

// Whether an answer may count an original that has died since.
bool Resolver::may_be_stale(size_t i) const {
  if (asked_ == window_.deaths()) return false;
  for (const Answer& answer : work_->answers.of(i))
    if (window_.died_since(answer.as_of)) return true;
  return false;
}

absl::Status Resolver::ask_again(size_t i) {
  asked_ = window_.deaths();
  return ask_->again(i);
}

// Removes an original, unless it is dead already.
void Resolver::remove(Seq seq, RemovalReason reason) {
  if (window_.bury(seq)) out_->removed.push_back({seq, reason});
}

void Resolver::remove_id(size_t i) {
  for (const Named& named : same_id(i)) remove(named.seq, RemovalReason::removed);
}

// An original with the same text stays.
void Resolver::replace(size_t i, const Digest& digest) {
  for (const Named& named : same_id(i))
    if (named.digest != digest) remove(named.seq, RemovalReason::replaced);
}

// All originals with the document's id, ascending.
std::vector<Named> Resolver::same_id(size_t i) const {
  std::vector<Named> out;
  if (document(i).id_tag == 0) return out;
  for (const Answer& answer : work_->answers.of(i))
    out.insert(out.end(), answer.same_id.begin(), answer.same_id.end());
  window_.find_id(document(i).id_tag,
                  [&](const Newcomers::Entry& entry) { out.push_back({entry.seq, entry.digest}); });
  std::sort(out.begin(), out.end(), [](const Named& a, const Named& b) { return a.seq < b.seq; });
  return out;
}

// Evicts the oldest originals, so that at most max_documents remain with the new one.
void Resolver::make_room(Seq seq) {
  if (rule_.max_documents == 0 || seq < rule_.max_documents) return;
  expiry_.evict_below(seq + 1 - rule_.max_documents);
  expire_to(expiry_.lowest_live());
}

void Resolver::expire_to(Seq lowest_live) {
  window_.bury_below(lowest_live);
  out_->lowest_live = window_.lowest_live();
}

void Resolver::list_rows() {
  for (const Newcomers::Entry& entry : window_.made()) {
    DOPPEL_CHECK(rule_.banding.bands % 32 == 0 || entry.mask.back() >> (rule_.banding.bands % 32) == 0,
                 "an original is listed in bands that there are", entry.seq, entry.mask.back(),
                 rule_.banding.bands);
    out_->rows.push_back({.seq = entry.seq,
                          .row = {.slices = entry.slices,
                                  .digest = entry.digest,
                                  .id_tag = entry.id_tag,
                                  .payload = payload_bits(entry.payload),
                                  .mask = entry.mask.data(),
                                  .prints = window_.prints_of(entry)},
                          .trusted_ms = entry.trusted_ms,
                          .removed = entry.removed});
    out_->places.push_back(entry.place);
  }
}

// RESOLVE for relations: what a document shares with originals apart from common passages.

namespace {

void add_passages(const RelationRule& rule, std::span<const ShingleRun> runs, std::vector<WordRange>& out) {
  for (const ShingleRun& run : runs)
    if (run.size() >= rule.passage) out.push_back({run.begin, run.end + rule.shingle_words - 1});
}

void join_overlapping(std::vector<WordRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](WordRange a, WordRange b) { return a.begin < b.begin; });
  size_t last = 0;  // the range that the next one may overlap
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin <= ranges[last].end) {
      ranges[last].end = std::max(ranges[last].end, ranges[i].end);
    } else {
      ranges[++last] = ranges[i];
    }
  }
  if (!ranges.empty()) ranges.resize(last + 1);
}

}  // namespace

absl::Status Resolver::find_related(size_t i, Outcome& outcome) {
  print_listed_.clear();
  if (!rule_.relations.on() || document(i).prints.empty()) return absl::OkStatus();
  // The first answer may count dead originals as live. The second may not have compared the originals that
  // come first once all counts are known.
  constexpr int kTimesMost = 2;
  for (int times = 0;; ++times) {
    ASSIGN_OR_RETURN(const bool known, weigh_related(i, times, times == kTimesMost, outcome));
    if (known) return absl::OkStatus();
    RETURN_IF_ERROR(ask_again(i));
    collect(i);  // the owners cover more now, and the window less
  }
}

// Returns false if an answer lacks something. RESOLVE has repeated the request `asked` times; if `last`, it
// will not repeat it.
absl::StatusOr<bool> Resolver::weigh_related(size_t i, int asked, bool last, Outcome& outcome) {
  if (!collect_related(i, asked, last)) return false;
  ASSIGN_OR_RETURN(const bool known, compare_related(i, last, outcome));
  if (known && rule_.relations.partial_duplicate) repeat_container(outcome);
  return known;
}

// Counts how many live originals list each print, and collects the originals that may be related, in the
// order of comparison. Returns false if an answer lacks something.
bool Resolver::collect_related(size_t i, int asked, bool last) {
  const RelationRule& rule = rule_.relations;
  const std::span<const Print> prints = document(i).prints;
  const std::span<const Answer> answers = work_->answers.of(i);
  print_listed_.assign(distinct_prints(prints), 0);
  print_hits_.clear();
  maybe_related_.clear();
  bool stale = false;
  for (const Answer& answer : answers) {
    hint_.anyway |= answer.relatives_left_out;
    stale |= window_.died_since(answer.as_of);
    for (const PrintCount& count : answer.print_counts)
      // otherwise damaged
      if (count.number < print_listed_.size()) print_listed_[count.number] += count.listed;
  }
  window_.find_prints(prints, answers, [&](uint32_t number, const Newcomers::Entry& entry) {
    ++print_listed_[number];
    print_hits_.emplace_back(&entry, number);
  });
  any_listed_ = !print_hits_.empty() || std::any_of(answers.begin(), answers.end(), [](const Answer& answer) {
    return !answer.print_counts.empty();
  });
  if (!any_listed_ && !hint_.anyway) return true;
  hint_.common.assign(print_listed_.size(), 0);
  bool frequent = false;  // whether one listing less could make a difference
  for (const Print& print : prints) {
    const uint32_t listed = print_listed_[print.number];
    hint_.common[print.number] = listed >= rule.common_after ? 1 : 0;
    frequent |= listed >= std::min(kFrequentFrom, rule.common_after);
  }
  if (asked == 0 && (hint_.anyway || (stale && frequent))) {
    hint_.common.clear();  // computed from stale counts
    return false;
  }

  const size_t shingles = document(i).tops.size();
  print_positions_.assign(print_listed_.size(), 0);
  for (const Print& print : std::views::reverse(prints)) print_positions_[print.number] = print.position;
  const auto add = [&](Hits& hits, uint32_t number) {
    // A number beyond the prints is of a damaged answer.
    if (number < print_positions_.size() && !hint_.is_common(number))
      hits.add(rule, print_positions_[number]);
  };
  const auto consider = [&](Seq seq, const Hits& hits, uint32_t listed, const Relative* answered) {
    if (promising(rule, hits, shingles, listed)) maybe_related_.push_back({seq, hits.count, answered});
  };
  for (const Answer& answer : answers) {
    for (const Relative& relative : answer.relatives) {
      if (window_.dead(relative.seq)) continue;
      Hits hits;
      for (const uint32_t number : relative.hits) add(hits, number);
      consider(relative.seq, hits, relative.prints, &relative);
    }
  }
  std::sort(print_hits_.begin(), print_hits_.end(), [](const auto& a, const auto& b) {
    return a.first->seq != b.first->seq ? a.first->seq < b.first->seq : a.second < b.second;
  });
  for (size_t first = 0; first < print_hits_.size();) {
    const Newcomers::Entry& entry = *print_hits_[first].first;
    Hits hits;
    for (; first < print_hits_.size() && print_hits_[first].first == &entry; ++first)
      add(hits, print_hits_[first].second);
    consider(entry.seq, hits,
             static_cast<uint32_t>(std::min(entry.prints_end - entry.prints_begin, kPrintsCounted)), nullptr);
  }
  std::sort(maybe_related_.begin(), maybe_related_.end(), [](const MaybeRelated& a, const MaybeRelated& b) {
    return a.hits != b.hits ? a.hits > b.hits : a.seq < b.seq;
  });
  const size_t most = compared_most(rule, rule_.max_checks, shingles);
  if (maybe_related_.size() > most) maybe_related_.resize(most);
  return last || std::all_of(maybe_related_.begin(), maybe_related_.end(), [](const MaybeRelated& maybe) {
           return maybe.answered == nullptr || maybe.answered->compared;
         });
}

absl::StatusOr<bool> Resolver::compare_related(size_t i, bool last, Outcome& outcome) {
  const RelationRule& rule = rule_.relations;
  outcome.related.clear();
  outcome.related_more = 0;
  outcome.repeated.clear();
  if (maybe_related_.empty()) return true;
  RETURN_IF_ERROR(work_->sets[i].make(document(i)));
  map_.start(rule, document(i).tops, document(i).prints, work_->sets[i].set, work_->sets[i].cell_sizes);
  std::optional<Common> common;
  Relative compared;
  for (const MaybeRelated& maybe : maybe_related_) {
    const Relative* relative = maybe.answered;
    if (relative == nullptr) {
      const Newcomers::Entry* newcomer = window_.at(maybe.seq);
      RETURN_IF_ERROR(newcomer->set->make(*newcomer->document));
      compared.seq = maybe.seq;
      map_.compare(newcomer->set->set, compared);
      relative = &compared;
    } else if (!relative->compared) {
      continue;
    }
    if (relative->cells.empty()) continue;
    if (!common.has_value()) common = find_common(rule, document(i).prints, print_listed_);
    std::optional<Related> related = relate(rule, map_, *common, *relative);
    if (!related.has_value()) continue;
    const std::optional<std::string_view> original = about(i, related->seq);
    if (!original.has_value() && !last) return false;
    related->original = original.value_or("");
    outcome.related.push_back(std::move(*related));
    if (rule.cut) add_passages(rule, without(rule, common->ranges, relative->runs), outcome.repeated);
  }
  join_overlapping(outcome.repeated);
  std::sort(outcome.related.begin(), outcome.related.end(), [](const Related& a, const Related& b) {
    return a.shared != b.shared ? a.shared > b.shared : a.seq < b.seq;
  });
  if (outcome.related.size() > rule.max_related) {
    outcome.related_more = static_cast<uint32_t>(outcome.related.size() - rule.max_related);
    outcome.related.resize(rule.max_related);
  }
  return true;
}

// If originals contain the document, it is a duplicate of the first one, which has most of it.
void Resolver::repeat_container(Outcome& outcome) const {
  const auto first = std::find_if(outcome.related.begin(), outcome.related.end(), [](const Related& related) {
    return related.relation == Relation::contained;
  });
  if (first == outcome.related.end()) return;
  Related original = std::move(*first);
  outcome.related.clear();
  outcome.related_more = 0;
  outcome.repeated.clear();
  outcome.related.push_back(std::move(original));
  const Related& only = outcome.related.front();
  outcome.verdict = Verdict::duplicate;
  outcome.kind = Kind::contained;
  outcome.similarity = {only.shared, only.of_document};
  outcome.seq = only.seq;
  outcome.original = only.original;
}

// Returns the prints that the new original lists: of those to be listed, the ones whose list has room.
std::span<const uint64_t> Resolver::listed_prints(size_t i) {
  prints_.clear();
  if (print_listed_.empty()) return prints_;
  const std::span<const Print> prints = document(i).prints;
  if (!any_listed_) {
    uint32_t next = 0;
    for (const Print& print : prints) {
      if (print.number != next) continue;
      ++next;
      if (print.stored) prints_.push_back(print.key);
    }
    return prints_;
  }
  const std::vector<uint8_t> frequent = frequent_prints(rule_.relations, prints, print_listed_);
  entered_.assign(print_listed_.size(), 0);
  for (size_t p = 0; p < prints.size(); ++p) {
    const Print& print = prints[p];
    if ((print.stored == 0 && frequent[p] == 0) || entered_[print.number] != 0) continue;
    entered_[print.number] = 1;
    if (print_listed_[print.number] < static_cast<uint32_t>(rule_.max_listed)) {
      prints_.push_back(print.key);
    } else {
      ++out_->prints_capped;
    }
  }
  return prints_;
}

}  // namespace doppel
