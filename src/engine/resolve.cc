#include "engine/resolve.h"

#include <algorithm>

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
  return false;
}

void Resolver::set_exact(size_t i, Seq seq, const Answer* answer, Outcome& outcome) const {
  outcome.verdict = Verdict::duplicate;
  outcome.kind = Kind::exact;
  outcome.similarity = {1, 1};
  outcome.seq = seq;
  outcome.original = answer != nullptr ? answer->about(seq).value_or("") : window_.at(seq)->metadata;
  for (const Answer& each : work_->answers.of(i))
    outcome.candidates += static_cast<uint32_t>(each.candidates.size()) + each.candidates_more;
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
  if (!reaches(best->overlap, rule_.threshold_ppm)) return true;
  const std::optional<std::string_view> original = about(i, best->seq);
  if (!original.has_value()) return false;
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

}  // namespace doppel
