#pragma once
// The rule and the definition of candidates, word for word, by linear search: the results that the engine
// must give for any batches, shards, table sizes and kernels. It shares only SIGN and the sets with the
// engine.

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/slow_relations.h"

namespace doppel::testing {

struct SlowOutcome {
  Verdict verdict = Verdict::unscored;
  Kind kind = Kind::none;
  Overlap similarity{0, 1};
  Seq seq = 0;
  std::vector<Related> related = {};  // without metadata
  size_t related_more = 0;
  std::vector<WordRange> repeated = {};
  bool estimated = false;
  bool operator==(const SlowOutcome&) const = default;
};

class SlowEngine {
 public:
  explicit SlowEngine(const EngineOptions& options) : options_(options) {}
  virtual ~SlowEngine() = default;

  SlowOutcome judge(const SignedDocument& document, const uint8_t* slices) {
    expire(document.timestamp_ms);
    if (document.payload != Digest()) {
      if (const Entry* r = with_payload(document.payload)) {
        if (document.replace && document.id_tag != 0) replace(document.id_tag, r->digest);
        return {Verdict::duplicate, Kind::exact, {1, 1}, r->seq};
      }
    }
    if (document.content <= Content::digest_only && document.replace && document.id_tag != 0) {
      replace(document.id_tag, document.digest);
    }
    if (document.content == Content::empty) return {.verdict = Verdict::unscored};
    if (document.content == Content::rejected) return {.verdict = Verdict::rejected};
    if (const Entry* r = with_digest(document.digest))
      return {Verdict::duplicate, Kind::exact, {1, 1}, r->seq};
    Entry entry{.seq = next_++,
                .digest = document.digest,
                .payload = document.payload,
                .id_tag = document.id_tag,
                .timestamp_ms = trusted(document.timestamp_ms)};
    std::optional<Related> similar;
    if (document.content == Content::shingled) {
      entry.slices.assign(slices, slices + options_.scheme.num_perm);
      make_compact_set(document.tops, entry.set);
      const Entry* original = most_similar(entry);
      if (original != nullptr && !reaches(similarity(entry, *original), options_.rule.threshold_ppm)) {
        const auto [inter, uni] = similarity(entry, *original);
        if (reaches({inter, uni}, options_.rule.least_ppm())) {
          similar = Related{.seq = original->seq,
                            .relation = Relation::similar,
                            .shared = inter,
                            .of_document = uni,
                            .of_original = uni};
        }
      } else if (original != nullptr) {
        --next_;
        return {.verdict = Verdict::duplicate,
                .kind = Kind::near,
                .similarity = similarity(entry, *original),
                .seq = original->seq,
                .estimated = options_.rule.verify == Verify::signature};
      }
    }
    SlowOutcome out{.verdict = Verdict::unique, .seq = entry.seq};
    if (!document.prints.empty() && options_.rule.relations.on()) {
      relate(document, entry, out);
      if (out.verdict == Verdict::duplicate) {
        --next_;
        return out;
      }
    }
    bool related = false;
    for (const Related& each : out.related) related |= similar && each.seq == similar->seq;
    if (similar && !related) out.related.push_back(*similar);
    const uint64_t room = options_.rule.max_documents;
    if (room != 0 && next_ > room) raise(next_ - room);
    if (!entry.slices.empty()) {
      for (int band = 0; band < options_.rule.banding.bands; ++band) {
        int listed = 0;
        for (const Entry* r : listed_like(entry, band)) listed += r->live ? 1 : 0;
        if (listed < options_.rule.max_listed) entry.bands.push_back(band);
      }
    }
    entries_.push_back(entry);
    added(entry);
    return out;
  }

  void remove(uint64_t id_tag) {
    for (Entry& r : entries_) {
      if (r.id_tag == id_tag) kill(r, RemovalReason::removed);
    }
  }

  void forget(Seq seq) {
    if (seq < entries_.size()) kill(entries_[seq], RemovalReason::forgotten);
  }

  const std::vector<Removed>& removed() const { return removed_; }

  Seq lowest_live() const { return lowest_live_; }

 protected:
  struct Entry {
    Seq seq = 0;
    Digest digest, payload;
    uint64_t id_tag = 0;
    int64_t timestamp_ms = kNoTime;
    std::vector<uint8_t> slices;  // empty: the text is shorter than one shingle
    CompactSet set;
    std::vector<int> bands;
    std::set<uint64_t> prints;  // the prints that the original lists
    bool live = true;
    bool listed(int band) const { return std::find(bands.begin(), bands.end(), band) != bands.end(); }
  };

  // Returns the first live one, in the order of numbers.
  virtual const Entry* with_payload(const Digest& payload) const {
    for (const Entry& r : entries_) {
      if (r.live && r.payload == payload) return &r;
    }
    return nullptr;
  }
  virtual const Entry* with_digest(const Digest& digest) const {
    for (const Entry& r : entries_) {
      if (r.live && r.digest == digest) return &r;
    }
    return nullptr;
  }
  // Returns all originals that a band lists under d's key, including dead ones, in any order.
  virtual std::vector<const Entry*> listed_like(const Entry& d, int band) const {
    std::vector<const Entry*> out;
    for (const Entry& r : entries_) {
      if (r.listed(band) && same_key(d, r, band)) out.push_back(&r);
    }
    return out;
  }
  virtual void added(const Entry& /*last*/) {}

  bool same_key(const Entry& a, const Entry& b, int band) const {
    const int rows = options_.rule.banding.rows;
    if (a.slices.empty() || b.slices.empty()) return false;
    return std::equal(a.slices.begin() + band * rows, a.slices.begin() + (band + 1) * rows,
                      b.slices.begin() + band * rows);
  }

  EngineOptions options_;
  std::vector<Entry> entries_;  // by number

 private:
  void kill(Entry& r, RemovalReason reason) {
    if (!r.live) return;
    r.live = false;
    removed_.push_back({r.seq, reason});
  }

  // Relates the document to the live originals, and sets the prints that it lists.
  void relate(const SignedDocument& document, Entry& entry, SlowOutcome& out) {
    const RelationRule& rule = options_.rule.relations;
    std::vector<SlowOriginal> live;
    for (const Entry& r : entries_)
      if (r.live) live.push_back({r.seq, &r.set, &r.prints});
    SlowRelated found =
        slow_relations(rule, static_cast<size_t>(options_.rule.max_checks),
                       static_cast<size_t>(options_.rule.max_listed), document, entry.set, live);
    out.related = found.related;
    out.related_more = found.more;
    out.repeated = found.repeated;
    entry.prints = found.listed;
    for (const Related& related : found.related) {
      if (!rule.partial_duplicate || related.relation != Relation::contained) continue;
      out = {
          Verdict::duplicate, Kind::contained, {related.shared, related.of_document}, related.seq, {related}};
      break;
    }
  }

  void replace(uint64_t id_tag, Digest digest) {
    for (Entry& r : entries_) {
      if (r.id_tag == id_tag && r.digest != digest) kill(r, RemovalReason::replaced);
    }
  }

  // Makes everything below `lowest` dead.
  void raise(Seq lowest) {
    lowest_live_ = std::max(lowest_live_, lowest);
    for (Entry& r : entries_) {
      if (r.seq < lowest_live_) r.live = false;
    }
  }

  int equal(const Entry& a, const Entry& b) const {
    int n = 0;
    for (size_t i = 0; i < a.slices.size(); ++i) n += a.slices[i] == b.slices[i] ? 1 : 0;
    return n;
  }

  Overlap similarity(const Entry& a, const Entry& b) const {
    if (options_.rule.verify == Verify::signature)
      return overlap_from_slices(equal(a, b), options_.scheme.num_perm);
    return overlap(a.set, b.set);
  }

  const Entry* most_similar(const Entry& d) const {
    std::set<const Entry*> meet;
    for (int band = 0; band < options_.rule.banding.bands; ++band) {
      for (const Entry* r : listed_like(d, band)) meet.insert(r);
    }
    std::vector<const Entry*> candidates;
    for (const Entry* r : meet) {
      if (r->live && equal(d, *r) >= options_.rule.min_equal) candidates.push_back(r);
    }
    std::sort(candidates.begin(), candidates.end(), [&](const Entry* a, const Entry* b) {
      return equal(d, *a) != equal(d, *b) ? equal(d, *a) > equal(d, *b) : a->seq < b->seq;
    });
    if (candidates.size() > static_cast<size_t>(options_.rule.max_checks))
      candidates.resize(options_.rule.max_checks);
    std::sort(candidates.begin(), candidates.end(),
              [](const Entry* a, const Entry* b) { return a->seq < b->seq; });
    const Entry* best = nullptr;
    for (const Entry* r : candidates) {
      if (best == nullptr || more_similar(similarity(d, *r), similarity(d, *best))) best = r;
    }
    return best;
  }

  // A time counts as no later than the watermark; without a watermark it does not count.
  int64_t trusted(int64_t time) const {
    const size_t rank = options_.rule.watermark_rank;
    return time == kNoTime || times_.size() < rank ? kNoTime : std::min(time, times_[rank - 1]);
  }

  // The watermark is the n-th largest time so far. A full generation whose youngest member is too old
  // expires, with all earlier ones.
  void expire(int64_t now) {
    const Rule& rule = options_.rule;
    if (rule.expire_after_ms == 0) return;
    if (now != kNoTime) times_.push_back(now);
    std::sort(times_.rbegin(), times_.rend());
    if (times_.size() < rule.watermark_rank) return;
    const int64_t limit = times_[rule.watermark_rank - 1] - rule.expire_after_ms;
    std::map<Seq, int64_t> youngest;
    for (const Entry& r : entries_) {
      auto [it, fresh] = youngest.try_emplace(r.seq / rule.generation, r.timestamp_ms);
      it->second = std::max(it->second, r.timestamp_ms);
    }
    for (const auto& [generation, time] : youngest) {
      if ((generation + 1) * rule.generation >= next_) break;  // still growing
      if (time == kNoTime) continue;                           // expires with the next one that has a time
      if ((generation + 1) * rule.generation <= lowest_live_) continue;
      if (time >= limit) break;
      raise((generation + 1) * rule.generation);
    }
  }

  std::vector<Removed> removed_;
  std::vector<int64_t> times_;
  Seq next_ = 0;
  Seq lowest_live_ = 0;
};

}  // namespace doppel::testing
