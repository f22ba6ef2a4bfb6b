#include "engine/match.h"

#include <algorithm>

#include "base/status.h"

namespace doppel {

void Matched::clear() {
  same_payload.reset();
  exact.reset();
  candidates.clear();
  counts.clear();
  described.reset();
  metadata.clear();
  has_set = false;
  coded_set.clear();
}

uint32_t payload_bits(const Digest& payload) {
  if (payload == Digest()) return 0;
  return std::max<uint32_t>(1, static_cast<uint32_t>(payload.low) & ((1u << kPayloadBits) - 1));
}

Matcher::Matcher(const Rule& rule, const Index& index, const Bodies& bodies, PayloadOf payload_of)
    : rule_(rule), index_(index), bodies_(bodies), payload_of_(std::move(payload_of)) {}

absl::StatusOr<std::optional<Seq>> Matcher::find_payload(const Digest& payload, std::string& metadata) const {
  if (!payload_of_ || payload == Digest()) return std::nullopt;
  thread_local std::string buffer;
  for (const Seq seq : index_.find_payload(payload_bits(payload))) {
    const absl::StatusOr<Body> body = bodies_.read(index_.row(seq).body, buffer);
    RETURN_IF_ERROR(body.status());
    if (payload_of_(body->metadata) != payload) continue;
    metadata.assign(body->metadata);
    return seq;
  }
  return std::nullopt;
}

absl::Status Matcher::match(const SignedBatch& batch, size_t begin, size_t end, std::span<uint64_t> band_keys,
                            std::span<Matched> matched, MatchCounters& counters) const {
  const int num_perm = index_.options().num_perm;
  const int bands = index_.options().banding.bands;
  thread_local std::vector<Query> queries;
  thread_local std::vector<size_t> places;
  thread_local std::vector<Found> found;
  queries.clear();
  places.clear();
  for (size_t i = begin; i < end; ++i) {
    const SignedDocument& document = batch.documents[i];
    matched[i].clear();
    if (document.action != SignedDocument::Action::judge) continue;
    ASSIGN_OR_RETURN(matched[i].same_payload, find_payload(document.payload, matched[i].metadata));
    if (matched[i].same_payload.has_value()) matched[i].described = matched[i].same_payload;
    if (document.content > Content::digest_only) continue;
    Query query{.digest = document.digest};
    if (document.content == Content::shingled) {
      query.slices = batch.slices.data() + i * num_perm;
      query.band_keys = band_keys.data() + i * bands;
      index_.band_keys(query.slices, band_keys.data() + i * bands);
    }
    queries.push_back(query);
    places.push_back(i);
  }
  if (found.size() < queries.size()) found.resize(queries.size());
  index_.lookup(queries, std::span(found).first(queries.size()));

  for (size_t q = 0; q < queries.size(); ++q) {
    const SignedDocument& document = batch.documents[places[q]];
    Matched& m = matched[places[q]];
    m.exact = found[q].exact;
    m.counts.assign(found[q].counts.begin(), found[q].counts.end());
    for (const Candidate& c : found[q].candidates) m.candidates.push_back({.seq = c.seq, .equal = c.equal});
    counters.candidates += m.candidates.size();
    if (m.exact.has_value()) {
      RETURN_IF_ERROR(describe(*m.exact, m));
      continue;
    }
    size_t checks = std::min<size_t>(m.candidates.size(), rule_.max_checks);
    counters.checks += checks;
    counters.checks_capped += checks < m.candidates.size() ? 1 : 0;
    const Verified* best = nullptr;
    for (size_t c = 0; c < checks; ++c) {
      RETURN_IF_ERROR(verify(document, m, m.candidates[c]));
      if (best == nullptr || better(m.candidates[c], *best)) best = &m.candidates[c];
    }
    if (best != nullptr && reaches(best->overlap, rule_.threshold_ppm)) {
      RETURN_IF_ERROR(describe(best->seq, m));
    } else if (rule_.verify == Verify::exact) {
      ensure_coded_set(document, m);  // it will most likely be stored
    }
  }
  return absl::OkStatus();
}

// One read serves the check and, if this candidate is the best so far, the report.
absl::Status Matcher::verify(const SignedDocument& document, Matched& matched, Verified& candidate) const {
  candidate.checked = true;
  candidate.estimated = true;
  candidate.overlap = overlap_from_slices(candidate.equal, index_.options().num_perm);
  if (rule_.verify == Verify::signature || document.set_left_out) return absl::OkStatus();

  thread_local std::string buffer;
  thread_local CompactSet theirs;
  absl::StatusOr<Body> body = bodies_.read(index_.row(candidate.seq).body, buffer);
  if (!body.ok()) return body.status();
  if (body->coded_set.empty()) return absl::OkStatus();  // left out when it was stored
  RETURN_IF_ERROR(decode_compact_set(body->coded_set, theirs));
  RETURN_IF_ERROR(ensure_set(document, matched));
  candidate.estimated = false;
  candidate.overlap = overlap(matched.set, theirs);
  if (reaches(candidate.overlap, rule_.threshold_ppm)) {
    const Verified* described = nullptr;
    for (const Verified& other : matched.candidates) {
      if (matched.described == other.seq) described = &other;
    }
    if (described == nullptr || better(candidate, *described)) {
      matched.metadata.assign(body->metadata);
      matched.described = candidate.seq;
    }
  }
  return absl::OkStatus();
}

absl::Status Matcher::describe(Seq seq, Matched& matched) const {
  if (matched.described == seq) return absl::OkStatus();
  thread_local std::string buffer;
  absl::StatusOr<Body> body = bodies_.read(index_.row(seq).body, buffer);
  if (!body.ok()) return body.status();
  matched.metadata.assign(body->metadata);
  matched.described = seq;
  return absl::OkStatus();
}

absl::Status Matcher::ensure_set(const SignedDocument& document, Matched& matched) {
  if (matched.has_set) return absl::OkStatus();
  matched.has_set = true;
  if (!matched.coded_set.empty()) return decode_compact_set(matched.coded_set, matched.set);
  make_compact_set(document.tops, matched.set);
  return absl::OkStatus();
}

void Matcher::ensure_coded_set(const SignedDocument& document, Matched& matched) {
  if (!matched.coded_set.empty() || document.content != Content::shingled || document.set_left_out) return;
  // Most documents are compared with none: then nobody needs the set itself, and one place serves them all.
  thread_local CompactSet passing;
  if (!matched.has_set) make_compact_set(document.tops, passing);
  encode_compact_set(matched.has_set ? matched.set : passing, matched.coded_set);
}

}  // namespace doppel
