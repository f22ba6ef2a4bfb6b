#pragma once
// The engine: one index under one rule. SIGN (any thread, make_signer), MATCH (any threads, one batch at a
// time), RESOLVE (one thread), which then applies to the index what was decided. It owns no thread but one
// that takes memory from the system ahead of the index, and does no I/O but through Bodies.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/memory_ahead.h"
#include "engine/originals.h"
#include "engine/resolve.h"
#include "engine/rule.h"
#include "engine/sign.h"

namespace doppel {

struct EngineOptions {
  Scheme scheme;
  Rule rule;
  int shards = 1;  // over which originals are spread by their number, each with an index of its own
  // Only these shards are here, in one index: this process answers, and follows what another one decides.
  std::optional<ShardSet> own;
  // None is here: this process decides by the answers of others.
  bool elsewhere = false;
  bool track_ids = false;
  // What is known of the bytes that documents were made of; empty: nothing.
  Matcher::PayloadOf payload_of;
  uint64_t initial_capacity = 1024;
  uint64_t rows_max = kIndexRowsMax;  // of each shard; less in tests

  bool with_sets() const { return rule.verify == Verify::exact; }  // whether SIGN makes them
};

// The index of these options.
CandidateIndexOptions index_options(const EngineOptions& options);

// Work on one batch, from SIGN to RESOLVE. Reused from batch to batch.
struct Work {
  SignedBatch sign;
  PodVector<uint64_t> band_keys;
  std::vector<DocumentSet> sets;
  std::vector<Answer> answers;
  // Of answers that come from elsewhere: who gave them, and what they and all later ones cover.
  Owners owners;
  Cut covered = 0;
  std::vector<Seq> forget;  // removed before the first document of the batch; what is dead is passed over
  Resolved resolved;

  void resize(size_t documents, const EngineOptions& options);
};

// What the engine needs of its caller while it decides a batch.
struct ResolveHelp {
  // Fills a document of the batch that is unread, and matches it: its original has gone since.
  std::function<absl::Status(size_t)> read;
  // Where the originals are elsewhere: renews the answers to a document, as if these were dead.
  std::function<absl::Status(size_t, const Deaths&)> again;
  // Where new originals are entered on several threads.
  int threads = 1;
  CandidateIndex::Run run;
};

class Engine {
 public:
  // `bodies` outlives the engine.
  Engine(const EngineOptions& options, Bodies& bodies);

  const EngineOptions& options() const { return options_; }
  Originals& originals() { return originals_; }
  const Originals& originals() const { return originals_; }
  // Whether this process keeps the content of an original: in its index, or for those that are elsewhere.
  bool has(Seq seq) const { return options_.elsewhere || originals_.has(seq); }
  uint64_t id_tag(std::string_view id) const { return doppel::id_tag(options_.scheme.key, id); }

  Signer make_signer() const { return Signer(options_.scheme, options_.with_sets()); }
  absl::Status match(Work& work, size_t begin, size_t end, MatchCounters& counters) const;
  // Decides the batch, which was matched since the last call, and applies it: bodies of new originals are
  // appended, the index grows. After an error (a body could not be read or written) it is not to be used
  // further.
  absl::Status resolve(Work& work, const ResolveHelp& help = {});
  // Whether an original is known that was made of the same bytes. From any thread, also while a batch is
  // resolved, after which it may not be so any more.
  bool knows_payload(const Digest& payload) const;
  // What resolve() would say of each of the signed documents [begin, end), if it came now and alone: MATCH,
  // and RESOLVE over an empty window, of which nothing is applied. A query has no time and replaces nothing.
  // From any threads on disjoint parts of a batch, but not while a batch is resolved.
  absl::Status query(Work& work, size_t begin, size_t end, std::span<Outcome> out) const;

  // Why one below the lowest live number is dead that nobody removed; by the time that expiry trusts.
  RemovalReason why_dead(int64_t trusted_ms) const;

  // How many batches were decided.
  Cut cut() const { return resolver_.cut(); }
  // Originals that are decided and that answers may not cover yet.
  size_t window_originals() const { return resolver_.window_originals(); }
  // Applies what another process decided: its new originals, whose bodies are in place, and its removals.
  absl::Status follow(Resolved& decided, const ResolveHelp& help = {});

  // What expiry knows, for the commit record.
  std::string clock() { return resolver_.expiry().state(); }

  // take_room() of its rule. Before the first resolve().
  void take_room(std::string_view described) { doppel::take_room(options_.rule, described); }

  // Restoring, in this order: start(), every stored row ascending, finish(), which makes the tables.
  absl::Status start_restore(Seq first_row, Seq lowest_live, std::string_view clock);
  absl::Status restore(const StoredRow& row);  // ResourceExhausted: more than its shards take
  // All rows before are of indexes that are only read (Originals::first_own).
  void begin_own() { originals_.begin_own(); }
  // A removal that is known only after its row was restored; its record time, if the row did not have it.
  void restore_removed(Seq seq, int64_t trusted_ms);
  // What is known only at the end: replaces the arguments of start_restore().
  absl::Status restore_clock(Seq lowest_live, std::string_view clock);
  void finish_restore(int threads = 1);

 private:
  absl::Status match(Work& work, size_t begin, size_t end, const RelateHint* hint,
                     MatchCounters& counters) const;
  absl::Status apply(Work& work, const ResolveHelp& help);
  absl::Status append_bodies(Work& work);
  absl::Status fill_prints(StoredRow& row, PodVector<uint64_t>& prints) const;
  void check_originals(const Resolved& resolved) const;
  absl::Status answer_again(Work& work, size_t i, const ResolveHelp& help, size_t& applied);

  EngineOptions options_;
  Bodies& bodies_;
  MemoryAhead memory_;
  Originals originals_;
  Resolver resolver_;
  mutable std::shared_mutex growing_;  // held while the index changes
  Seq restore_lowest_live_ = 0;
  PodVector<uint64_t> followed_keys_;
  PodVector<uint64_t> prints_;  // of one original
  mutable std::string body_;
};

}  // namespace doppel
