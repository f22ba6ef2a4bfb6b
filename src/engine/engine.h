#pragma once
// The engine: one index under one rule. SIGN (any thread, make_signer), MATCH (any threads, one batch at a
// time), RESOLVE (one thread). It owns no threads and does no I/O but through Bodies.

#include <atomic>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/match.h"
#include "engine/resolve.h"
#include "engine/rule.h"
#include "engine/sign.h"

namespace doppel {

struct EngineOptions {
  Scheme scheme;
  Rule rule;
  int shards = 1;
  bool track_ids = false;
  // What is known of the bytes that documents were made of; empty: nothing.
  Matcher::PayloadOf payload_of;
  uint64_t initial_capacity = 1024;
};

// A rule from what a user says; bands and rows 0: chosen. The error names what is impossible and what would
// be possible.
absl::StatusOr<Rule> make_rule(double threshold, double recall, int num_perm, int bands = 0, int rows = 0);
std::string describe_rule(const Rule& rule);  // "name=value" lines

// Work on one batch, from SIGN to RESOLVE. Reused from batch to batch.
struct Work {
  SignedBatch sign;
  PodVector<uint64_t> band_keys;
  std::vector<Matched> matched;
  std::vector<Seq> forget;  // removed before the first document of the batch
  Resolved resolved;

  void resize(size_t documents, const EngineOptions& options);
};

class Engine {
 public:
  // `bodies` outlives the engine.
  Engine(const EngineOptions& options, Bodies& bodies);

  const EngineOptions& options() const { return options_; }
  Index& index() { return index_; }
  const Index& index() const { return index_; }
  uint64_t id_tag(std::string_view id) const;

  Signer make_signer() const { return Signer(options_.scheme, options_.rule.verify == Verify::exact); }
  absl::Status match(Work& work, size_t begin, size_t end, MatchCounters& counters) const;
  // `read`: see Resolver.
  absl::Status resolve(Work& work, const std::function<absl::Status(size_t)>& read = {});
  // Whether an original is known that was made of the same bytes. From any thread, also while a batch is
  // resolved, after which it may not be so any more.
  bool knows_payload(const Digest& payload) const;
  // What resolve() would say of one matched document, alone; nothing is inserted.
  Outcome decide(const Work& work, size_t i) const;

  // Why one below the lowest live number is dead that nobody removed; by the time that expiry trusts.
  RemovalReason why_dead(int64_t trusted_ms) const;

  // What expiry knows, for the commit record.
  std::string clock() { return resolver_.expiry().state(); }

  // Restoring, in this order: start(), every stored row ascending, finish(), which makes the tables.
  absl::Status start_restore(Seq first_row, Seq lowest_live, std::string_view clock);
  void restore(const StoredRow& row);
  // A removal that is known only after its row was restored; its record time, if the row did not have it.
  void restore_removed(Seq seq, int64_t trusted_ms);
  // What is known only at the end: replaces what start_restore() was told.
  absl::Status restore_clock(Seq lowest_live, std::string_view clock);
  void finish_restore(int threads = 1);

 private:
  EngineOptions options_;
  Index index_;
  Matcher matcher_;
  Resolver resolver_;
  uint64_t id_salt_;
  mutable std::shared_mutex growing_;  // held while the index changes
  Seq restore_lowest_live_ = 0;
};

}  // namespace doppel
