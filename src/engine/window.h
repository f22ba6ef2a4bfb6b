#pragma once
// Decisions of RESOLVE that some answers may not cover yet: the originals of the last batches, and all deaths
// since. An original counts either by the answer or by the window, never by both: by the window if its batch
// is not before the cut of its owner's answer.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "engine/newcomers.h"
#include "engine/shard_set.h"

namespace doppel {

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
