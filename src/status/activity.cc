#include "status/activity.h"

#include <fmt/format.h>

#include <algorithm>

#include "records/events.h"
#include "records/metadata.h"

namespace doppel {
namespace {

// Copies metadata and reuses the memory of `to`. Of long metadata it keeps only what identifies the document.
void keep(std::string& to, std::string_view encoded) {
  if (encoded.size() <= Activity::kMetadataMost) {
    to.assign(encoded);
    return;
  }
  Metadata m;
  to.clear();
  if (!decode_metadata(encoded, m).ok()) return;
  m.tags = m.passthrough = m.payload_digest = m.content_type = {};
  m.warc.reset();
  // This may cut within a character. Pages replace invalid UTF-8.
  m.url = m.url.substr(0, 1000);
  m.id = m.id.substr(0, 500);
  if (m.key && m.key->size() > 300) m.key = m.key->substr(0, 300);
  encode_metadata(m, to);
}

std::string url_host(std::string_view encoded) {
  Metadata m;
  return decode_metadata(encoded, m).ok() ? host_of(m.url) : std::string();
}

Sample sample_of(const Counters& c, int64_t now_ms) {
  return {.at_ms = now_ms,
          .documents = c.records,
          .unique = c.unique,
          .exact = c.exact,
          .near = c.near,
          .unscored = c.unscored,
          .rejected = c.rejected,
          .skipped = c.skipped,
          .partial = c.partial,
          .related = c.related,
          .bytes = c.bytes,
          .duplicate_bytes = c.duplicate_bytes};
}

std::string place_of(const Record& record) {
  if (record.partition >= 0) {
    return Metadata{.source = record.source,
                    .partition = record.partition,
                    .incarnation = record.incarnation,
                    .offset = record.offset}
        .event_id();
  }
  if (record.line > 0) return fmt::format("{}:{}", record.source, record.line);
  return record.whole_file ? std::string(record.source) : fmt::format("{}@{}", record.source, record.offset);
}

}  // namespace

std::vector<const Copy*> Cluster::last() const {
  std::vector<const Copy*> out;
  const uint64_t count = exact + near;
  out.reserve(kMembers);
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMembers); ++i)
    out.push_back(&members[(count - 1 - i) % kMembers]);
  return out;
}

void Activity::observe(const Decided& decided, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const std::vector<Outcome>& outcomes = decided.work.resolved.outcomes;
  size_t left = static_cast<size_t>(std::count_if(
      outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.verdict == Verdict::duplicate; }));
  keep_dead_letters(decided, now_ms);
  const uint64_t stride = 1 + left / kLookedAt;
  random_ = random_ * 6364136223846793005 + 1442695040888963407;
  const uint64_t phase = random_ >> 33;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (outcome.verdict != Verdict::duplicate) continue;
    const std::string& document = decided.work.sign.documents[i].metadata;
    Cluster& cluster = grow(outcome.seq, now_ms);
    Copy& member = cluster.members[(cluster.exact + cluster.near) % Cluster::kMembers];
    ++(outcome.kind == Kind::exact ? cluster.exact : cluster.near);
    cluster.last_ms = now_ms;
    if (cluster.original.empty()) {
      keep(cluster.original, outcome.original);
      cluster.host = url_host(cluster.original);
    }
    keep(member.document, document);
    member.kind = outcome.kind;
    member.estimated = outcome.estimated;
    member.similarity_ppm = similarity_ppm(outcome.similarity);
    member.at_ms = now_ms;

    if (--left < kEvents) {
      LastEvent& event = events_[event_count_++ % kEvents];
      event.copy = member;
      event.original.assign(cluster.original);
    }

    if ((left + phase) % stride != 0) continue;
    auto& hitter = originals_.add(outcome.seq, stride);
    if (hitter.note.empty()) hitter.note = cluster.original;
    if (!cluster.host.empty()) {
      pair_ = url_host(member.document);
      if (!pair_.empty()) hosts_.add(pair_.append(1, '\n').append(cluster.host), stride);
    }
  }
}

// Copies only the last ones of a batch, because the list would drop the others at once.
void Activity::keep_dead_letters(const Decided& decided, int64_t now_ms) {
  const std::vector<Outcome>& outcomes = decided.work.resolved.outcomes;
  std::vector<size_t> last;
  for (size_t i = std::min(outcomes.size(), decided.batch.records.size());
       i-- > 0 && last.size() < kDeadLetters;)
    if (outcomes[i].verdict == Verdict::rejected) last.push_back(i);
  for (; !last.empty(); last.pop_back()) {
    const size_t i = last.back();
    dead_letters_.push_front({.where = place_of(decided.batch.records[i]),
                              .reason = decided.work.sign.documents[i].reason,
                              .at_ms = now_ms});
    if (dead_letters_.size() > kDeadLetters) dead_letters_.pop_back();
  }
}

Cluster& Activity::grow(Seq seq, int64_t now_ms) {
  const auto found = places_.find(seq);
  if (found != places_.end()) {
    Slot& slot = slots_[found->second];
    used_.splice(used_.begin(), used_, slot.used);
    return slot.cluster;
  }
  if (slots_.size() < kClusters) {
    used_.push_front(slots_.size());
    slots_.push_back({.cluster = {}, .used = used_.begin()});
  } else {
    used_.splice(used_.begin(), used_, std::prev(used_.end()));
    places_.erase(slots_[used_.front()].cluster.seq);
    dropped_ = true;
  }
  places_[seq] = used_.front();
  Cluster& cluster = slots_[used_.front()].cluster;
  cluster.seq = seq;
  cluster.original.clear();
  cluster.host.clear();
  cluster.exact = cluster.near = 0;
  cluster.first_ms = now_ms;
  cluster.since_ms = dropped_ ? now_ms : start_ms_;
  return cluster;
}

void Activity::sample(const Counters& counters, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  now_ = sample_of(counters, now_ms);
  if (now_ms - samples_.back().at_ms < kSampleMs) return;
  samples_.push_back(now_);
  if (samples_.size() > kSamples) samples_.pop_front();
}

std::optional<Cluster> Activity::cluster(Seq seq) const {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(seq);
  if (found == places_.end()) return std::nullopt;
  return slots_[found->second].cluster;
}

std::optional<Cluster> Activity::cluster(std::string_view cluster_id) const {
  const std::lock_guard lock(mutex_);
  for (const size_t i : used_) {
    Metadata m;
    if (decode_metadata(slots_[i].cluster.original, m).ok() && m.event_id() == cluster_id)
      return slots_[i].cluster;
  }
  return std::nullopt;
}

std::vector<LastEvent> Activity::events() const {
  const std::lock_guard lock(mutex_);
  std::vector<LastEvent> out;
  out.reserve(kEvents);
  for (uint64_t i = 0; i < std::min<uint64_t>(event_count_, kEvents); ++i)
    out.push_back(events_[(event_count_ - 1 - i) % kEvents]);
  return out;
}

std::vector<DeadLetter> Activity::dead_letters() const {
  const std::lock_guard lock(mutex_);
  return {dead_letters_.begin(), dead_letters_.end()};
}

std::vector<HeavyHitters<Seq>::Entry> Activity::originals(size_t n) const {
  const std::lock_guard lock(mutex_);
  return originals_.top(n);
}

std::vector<HeavyHitters<std::string>::Entry> Activity::host_pairs(size_t n) const {
  const std::lock_guard lock(mutex_);
  return hosts_.top(n);
}

std::vector<Sample> Activity::samples() const {
  const std::lock_guard lock(mutex_);
  std::vector<Sample> out(samples_.begin(), samples_.end());
  if (now_.at_ms > out.back().at_ms) out.push_back(now_);
  return out;
}

}  // namespace doppel
