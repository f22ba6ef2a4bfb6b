#include "engine/resolve.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"

namespace doppel {

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

struct Resolver::Batch {
  const SignedBatch& sign;
  std::span<uint64_t> band_keys;
  std::span<Matched> matched;
  int num_perm;
  int bands;

  const SignedDocument& document(size_t i) const { return sign.documents[i]; }
  const uint8_t* slices(size_t i) const {
    return document(i).content == Content::shingled ? sign.slices.data() + i * num_perm : nullptr;
  }
  const uint64_t* keys(size_t i) const { return band_keys.data() + i * bands; }
};

Resolver::Resolver(const Rule& rule, Index& index, Bodies& bodies, const Matcher& matcher)
    : rule_(rule),
      index_(index),
      bodies_(bodies),
      matcher_(matcher),
      expiry_(rule),
      newcomers_(index.options().num_perm, rule.banding, rule.min_equal, lowest_live_) {}

absl::Status Resolver::resolve(const SignedBatch& sign, std::span<uint64_t> band_keys,
                               std::span<Matched> matched, std::span<const Seq> forget,
                               const std::function<absl::Status(size_t)>& read, Resolved& out) {
  const Batch batch{sign, band_keys, matched, index_.options().num_perm, rule_.banding.bands};
  out.outcomes.assign(sign.documents.size(), {});
  out.rows.clear();
  out.removed.clear();
  out.listings_capped = 0;
  out_ = &out;
  read_ = &read;
  died_ = false;
  lowest_live_ = std::max(expiry_.lowest_live(), index_.lowest_live());
  newcomers_.start_batch(sign.documents.size());

  for (const Seq seq : forget) remove(seq, RemovalReason::forgotten);
  for (size_t i = 0; i < sign.documents.size(); ++i) {
    const SignedDocument& document = batch.document(i);
    expire_to(expiry_.observe(document.timestamp_ms));
    if (document.action == SignedDocument::Action::remove) {
      remove_id(document.id_tag);
      out.outcomes[i].verdict = Verdict::removal;
    } else {
      RETURN_IF_ERROR(judge(batch, i, out.outcomes[i]));
    }
  }

  RETURN_IF_ERROR(grow_index(batch));
  out.lowest_live = lowest_live_;
  return absl::OkStatus();
}

absl::Status Resolver::judge(const Batch& batch, size_t i, Outcome& outcome) {
  const SignedDocument& document = batch.document(i);
  Matched& matched = batch.matched[i];
  if (document.payload != Digest()) {
    Digest digest;
    RETURN_IF_ERROR(find_payload(batch, i, outcome, digest));
    if (outcome.verdict == Verdict::duplicate) {
      // The text of the same bytes is the same.
      if (document.replace && document.id_tag != 0) replace(document.id_tag, digest);
      return absl::OkStatus();
    }
    if (document.content == Content::unread && *read_) RETURN_IF_ERROR((*read_)(i));
  }
  if (document.content > Content::digest_only) {
    outcome.verdict = verdict_without_text(document.content);
    return absl::OkStatus();
  }
  if (document.replace && document.id_tag != 0) replace(document.id_tag, document.digest);
  outcome.verdict = Verdict::duplicate;
  if (matched.exact.has_value() && index_.live(*matched.exact)) {
    outcome.kind = Kind::exact;
    outcome.similarity = {1, 1};
    outcome.seq = *matched.exact;
    RETURN_IF_ERROR(matcher_.describe(outcome.seq, matched));
    outcome.original = matched.metadata;
    return absl::OkStatus();
  }
  if (const Newcomers::Entry* twin = newcomers_.find_digest(document.digest)) {
    outcome.kind = Kind::exact;
    outcome.similarity = {1, 1};
    outcome.seq = twin->seq;
    outcome.original = batch.document(twin->document).metadata;
    return absl::OkStatus();
  }
  if (document.content == Content::shingled) {
    bool found = false;
    RETURN_IF_ERROR(choose_near(batch, i, outcome, found));
    if (found) return absl::OkStatus();
  }
  become_representative(batch, i, outcome);
  return absl::OkStatus();
}

// An original of the same payload, and the digest of its text.
absl::Status Resolver::find_payload(const Batch& batch, size_t i, Outcome& outcome, Digest& digest) {
  Matched& matched = batch.matched[i];
  if (matched.same_payload.has_value() && index_.live(*matched.same_payload)) {
    outcome.seq = *matched.same_payload;
    RETURN_IF_ERROR(matcher_.describe(outcome.seq, matched));
    outcome.original = matched.metadata;
    digest = index_.row(outcome.seq).digest;
  } else if (const Newcomers::Entry* twin = newcomers_.find_payload(batch.document(i).payload)) {
    outcome.seq = twin->seq;
    outcome.original = batch.document(twin->document).metadata;
    digest = twin->digest;
  } else {
    return absl::OkStatus();
  }
  outcome.verdict = Verdict::duplicate;
  outcome.kind = Kind::exact;
  outcome.similarity = {1, 1};
  outcome.same_payload = true;
  return absl::OkStatus();
}

// Of all live candidates, of the index and of this batch, the most similar one that reaches the threshold.
// Leaves in listed_ how many newcomers each band lists with this document's key.
absl::Status Resolver::choose_near(const Batch& batch, size_t i, Outcome& outcome, bool& found) {
  const SignedDocument& document = batch.document(i);
  Matched& matched = batch.matched[i];
  auto& candidates = matched.candidates;
  if (died_) {
    auto dead = [&](const Verified& c) { return !index_.live(c.seq); };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), dead), candidates.end());
  }
  listed_.assign(batch.bands, 0);
  newcomers_.find(batch.slices(i), batch.keys(i), candidates, listed_);
  if (candidates.empty()) return absl::OkStatus();
  std::sort(candidates.begin(), candidates.end(), checked_before);

  Verified* best = nullptr;
  size_t checks = std::min<size_t>(candidates.size(), rule_.max_checks);
  for (size_t c = 0; c < checks; ++c) {
    Verified& candidate = candidates[c];
    if (const Newcomers::Entry* newcomer = newcomers_.at(candidate.seq)) {
      const SignedDocument& other = batch.document(newcomer->document);
      candidate.checked = true;
      candidate.estimated = rule_.verify == Verify::signature || document.set_left_out || other.set_left_out;
      if (candidate.estimated) {
        candidate.overlap = overlap_from_slices(candidate.equal, batch.num_perm);
      } else {
        Matched& theirs = batch.matched[newcomer->document];
        RETURN_IF_ERROR(Matcher::ensure_set(document, matched));
        RETURN_IF_ERROR(Matcher::ensure_set(other, theirs));
        candidate.overlap = overlap(matched.set, theirs.set);
      }
    } else if (!candidate.checked) {
      RETURN_IF_ERROR(matcher_.verify(document, matched, candidate));
    }
    if (best == nullptr || better(candidate, *best)) best = &candidate;
  }
  if (!reaches(best->overlap, rule_.threshold_ppm)) return absl::OkStatus();

  found = true;
  outcome.kind = Kind::near;
  outcome.similarity = best->overlap;
  outcome.estimated = best->estimated;
  outcome.seq = best->seq;
  if (const Newcomers::Entry* newcomer = newcomers_.at(best->seq)) {
    outcome.original = batch.document(newcomer->document).metadata;
  } else {
    RETURN_IF_ERROR(matcher_.describe(best->seq, matched));
    outcome.original = matched.metadata;
  }
  return absl::OkStatus();
}

void Resolver::become_representative(const Batch& batch, size_t i, Outcome& outcome) {
  const SignedDocument& document = batch.document(i);
  Newcomers::Entry entry;
  entry.seq = index_.next_seq() + newcomers_.entries().size();
  make_room(entry.seq);
  entry.document = i;
  entry.slices = batch.slices(i);
  entry.digest = document.digest;
  entry.payload = document.payload;
  entry.id_tag = document.id_tag;
  entry.mask.assign((batch.bands + 31) / 32, 0);
  if (entry.slices != nullptr) {
    const auto& counts = batch.matched[i].counts;
    auto count = counts.begin();
    for (int band = 0; band < batch.bands; ++band) {
      uint32_t in_index = 0;
      if (count != counts.end() && count->band == band) in_index = (count++)->listed;
      auto limit = static_cast<uint32_t>(rule_.max_listed);
      if (in_index + listed_[band] >= limit && died_) {
        in_index = index_.count_listed(band, batch.keys(i)[band], entry.slices);
      }
      if (in_index + listed_[band] < limit) {
        entry.mask[band / 32] |= 1u << (band % 32);
      } else {
        ++out_->listings_capped;
      }
    }
  }
  entry.trusted_ms = expiry_.trusted(document.timestamp_ms);
  expiry_.added(entry.seq, entry.trusted_ms);
  newcomers_.add(entry, batch.keys(i));
  outcome.verdict = Verdict::unique;
  outcome.seq = entry.seq;
}

// Of the index or of this batch; what is dead already stays as it is.
void Resolver::remove(Seq seq, RemovalReason reason) {
  if (Newcomers::Entry* newcomer = newcomers_.at(seq)) {
    if (newcomer->removed || seq < lowest_live_) return;
    newcomer->removed = true;
  } else {
    if (!index_.remove(seq)) return;
    died_ = true;
  }
  out_->removed.push_back({seq, reason});
}

void Resolver::remove_id(uint64_t id_tag) {
  if (id_tag == 0) return;
  for (const Seq seq : index_.find_id(id_tag)) remove(seq, RemovalReason::removed);
  newcomers_.find_id(id_tag, [&](const Newcomers::Entry& e) { remove(e.seq, RemovalReason::removed); });
}

// The same text again under its id is no new one.
void Resolver::replace(uint64_t id_tag, const Digest& digest) {
  for (const Seq seq : index_.find_id(id_tag)) {
    if (index_.row(seq).digest != digest) remove(seq, RemovalReason::replaced);
  }
  newcomers_.find_id(id_tag, [&](const Newcomers::Entry& e) {
    if (e.digest != digest) remove(e.seq, RemovalReason::replaced);
  });
}

// Before a representative is made with this number: the oldest go, so that there are max_documents with it.
void Resolver::make_room(Seq seq) {
  if (rule_.max_documents == 0 || seq < rule_.max_documents) return;
  expiry_.evict_below(seq + 1 - rule_.max_documents);
  expire_to(expiry_.lowest_live());
}

void Resolver::expire_to(Seq lowest_live) {
  if (lowest_live <= lowest_live_) return;
  lowest_live_ = lowest_live;
  index_.expire_below(std::min(lowest_live, index_.next_seq()));
  died_ = true;
}

absl::Status Resolver::grow_index(const Batch& batch) {
  std::vector<Newcomers::Entry>& entries = newcomers_.entries();
  std::vector<Row> rows;
  rows.reserve(entries.size());
  new_keys_.resize(entries.size() * batch.bands);
  for (size_t e = 0; e < entries.size(); ++e) {
    const Newcomers::Entry& entry = entries[e];
    const SignedDocument& document = batch.document(entry.document);
    Matched& matched = batch.matched[entry.document];
    if (rule_.verify == Verify::exact) Matcher::ensure_coded_set(document, matched);
    absl::StatusOr<BodyRef> body =
        bodies_.append({.metadata = document.metadata, .coded_set = matched.coded_set});
    if (!body.ok()) return body.status();
    rows.push_back({.slices = entry.slices,
                    .digest = entry.digest,
                    .id_tag = entry.id_tag,
                    .payload = payload_bits(entry.payload),
                    .body = *body,
                    .mask = entry.mask.data()});
    std::memcpy(&new_keys_[e * batch.bands], batch.keys(entry.document), batch.bands * sizeof(uint64_t));
    out_->rows.push_back(
        {.seq = entry.seq, .row = rows.back(), .trusted_ms = entry.trusted_ms, .removed = entry.removed});
  }
  index_.insert(rows, new_keys_.data());
  for (const Newcomers::Entry& entry : entries) {
    if (entry.removed) index_.remove(entry.seq);
  }
  if (lowest_live_ > index_.lowest_live()) index_.expire_below(std::min(lowest_live_, index_.next_seq()));
  return absl::OkStatus();
}

}  // namespace doppel
