#pragma once
// Decisions of RESOLVE that some answers may not cover yet: the originals of the last batches, and all deaths
// since. An original counts either by the answer or by the window, never by both: by the window if its batch
// is not before the cut of its owner's answer.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/answer.h"
#include "engine/shard_set.h"
#include "engine/sign.h"

namespace doppel {

// The originals that one batch created, until every owner's answers cover them. They are found by number,
// digest, payload and id tag and, through a small table of band keys, by slices.
class Newcomers {
 public:
  struct Entry {
    Seq seq = 0;
    size_t owner = 0;                 // see Owners
    size_t place = 0;                 // index of its document in the batch
    const uint8_t* slices = nullptr;  // nullptr: found by digest only
    Digest digest;
    Digest payload;  // zeros: unknown
    uint64_t id_tag = 0;
    int64_t trusted_ms = kNoTime;
    BandMask mask;
    bool removed = false;
    uint32_t same_id = ~0u;                   // the previous entry with this id tag; ~0: none
    size_t prints_begin = 0, prints_end = 0;  // see prints_of()
    // The following refer to the batch, until keep().
    std::string_view metadata;
    const SignedDocument* document = nullptr;
    DocumentSet* set = nullptr;
  };

  Newcomers(int num_perm, Banding banding, int min_equal, const uint64_t& lowest_live);

  void start_batch(Cut batch, size_t documents);
  Cut batch() const { return batch_; }

  // `entry.mask` and `prints` name the bands and the prints that list the entry.
  void add(const Entry& entry, const uint64_t* band_keys, std::span<const uint64_t> prints);
  std::span<const uint64_t> prints_of(const Entry& entry) const {
    return std::span(prints_).subspan(entry.prints_begin, entry.prints_end - entry.prints_begin);
  }

  // Return the live newcomer with this digest, or with this payload.
  const Entry* find_digest(const Digest& digest) const;
  const Entry* find_payload(const Digest& payload) const;

  // Calls `visit` for the live newcomers with this id tag (not 0), in ascending order.
  void find_id(uint64_t id_tag, const std::function<void(const Entry&)>& visit) const;

  // Appends the live newcomers that are candidates, and increments `listed` for each band that lists one.
  // `sees` says for each owner whether its originals count.
  void find(const uint8_t* slices, const uint64_t* band_keys, const std::vector<bool>& sees,
            std::vector<Verified>& candidates, std::span<uint32_t> listed);

  // Calls `visit` with the number of each of these prints and each live newcomer that lists it. A repeated
  // key counts once.
  void find_prints(std::span<const Print> prints, const std::vector<bool>& sees,
                   const std::function<void(uint32_t number, const Entry&)>& visit) const;

  Entry* at(Seq seq);  // nullptr: not in this batch
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }

  // Copies everything that points into the batch, so that the batch can be reused.
  absl::Status keep();
  bool kept() const { return kept_; }

 private:
  struct Listing {
    uint64_t key;
    uint32_t entry;
    uint32_t next;  // in the same chain; kEnd: none
  };
  struct Copy {
    SignedDocument document;
    DocumentSet set;
    std::vector<uint8_t> slices;
  };
  static constexpr uint32_t kEnd = ~0u;
  static constexpr size_t kFilterBits = size_t{1} << 17;
  // Uses other bits of the print than its chain does.
  static size_t filter_bit(uint64_t print) { return print >> 20 & (kFilterBits - 1); }
  bool live(const Entry& entry) const { return !entry.removed && entry.seq >= lowest_live_; }

  int num_perm_;
  Banding banding_;
  int min_equal_;
  const uint64_t& lowest_live_;
  Cut batch_ = 0;
  std::vector<Entry> entries_;
  std::vector<Listing> listings_;
  std::vector<uint32_t> heads_;
  uint64_t head_mask_ = 0;
  // The prints of all entries, one after the other; for each its entry, and the next print in its chain.
  PodVector<uint64_t> prints_;
  std::vector<std::pair<uint32_t, uint32_t>> print_links_;
  std::vector<uint32_t> print_heads_;
  std::vector<uint64_t> print_filter_;  // bit set of the listed prints: most queries are for other prints
  std::vector<uint32_t> seen_;          // by entry: stamp of the last document that counted it
  uint32_t stamp_ = 0;
  absl::flat_hash_map<uint64_t, uint32_t> digests_;   // digest.low -> the last entry with it
  absl::flat_hash_map<uint64_t, uint32_t> payloads_;  // payload.low -> the last entry with it
  absl::flat_hash_map<uint64_t, uint32_t> ids_;       // id tag -> the last entry with it
  std::vector<std::unique_ptr<Copy>> copies_;
  bool kept_ = false;
};

class Window {
 public:
  Window(int num_perm, Banding banding, int min_equal, Owners owners);

  // Sets who answers from now on.
  void set_owners(const Owners& owners);
  // Starts a batch. All answers from now on cover what was decided before `covered`. Batches that they do not
  // cover must have been kept.
  void start_batch(Cut batch, size_t documents, Cut covered);
  // Copies everything that points into the current batch, so that the batch can be reused.
  absl::Status keep();

  // These concern the current batch.
  void add(Newcomers::Entry entry, const uint64_t* band_keys, std::span<const uint64_t> prints);
  std::vector<Newcomers::Entry>& made() { return batches_.back()->entries(); }
  // The prints that one of these originals lists.
  std::span<const uint64_t> prints_of(const Newcomers::Entry& made) const {
    return batches_.back()->prints_of(made);
  }

  size_t originals() const;

  // These find live originals of the window.
  const Newcomers::Entry* find_digest(const Digest& digest) const;
  const Newcomers::Entry* find_payload(const Digest& payload) const;
  void find_id(uint64_t id_tag, const std::function<void(const Newcomers::Entry&)>& visit) const;
  // Appends the candidates that the answers do not cover, and counts for each band how many it lists.
  void find(const uint8_t* slices, const uint64_t* band_keys, std::span<const Answer> answers,
            std::vector<Verified>& candidates, std::span<uint32_t> listed);
  // Calls `visit` with the number of each of these prints and each original that lists it and is not covered
  // by the answers. A repeated key counts once.
  void find_prints(std::span<const Print> prints, std::span<const Answer> answers,
                   const std::function<void(uint32_t number, const Newcomers::Entry& entry)>& visit);
  const Newcomers::Entry* at(Seq seq) const;

  // Whether an original that an answer counts as live is dead; it may be in the window or not.
  bool dead(Seq seq) const;
  bool bury(Seq seq);  // returns false if it was dead already
  void bury_below(Seq lowest_live);
  Seq lowest_live() const { return lowest_live_; }
  // The originals that died individually and that some answer may count as live.
  std::vector<Seq> died() const;
  uint64_t deaths() const { return deaths_; }  // number of times that something died
  // Whether an original has died that an answer as of this cut may count as live.
  bool died_since(Cut as_of) const { return last_death_.has_value() && *last_death_ >= as_of; }

 private:
  struct Death {
    Seq seq;
    Cut batch;
  };
  Cut now() const { return batches_.back()->batch(); }
  std::unique_ptr<Newcomers> fresh();
  // For each owner, whether its answers are older than a batch: then the batch is searched for its originals.
  const std::vector<bool>& sees(const Newcomers& batch, std::span<const Answer> answers);

  const int num_perm_;
  const Banding banding_;
  const int min_equal_;
  Owners owners_;
  std::deque<std::unique_ptr<Newcomers>> batches_;  // the last one is the current batch
  std::vector<std::unique_ptr<Newcomers>> spare_;
  std::deque<Death> died_;  // in order of death
  absl::flat_hash_set<Seq> dead_;
  std::optional<Cut> last_death_;
  uint64_t deaths_ = 0;
  Seq lowest_live_ = 0;
  std::vector<bool> sees_;
};

}  // namespace doppel
