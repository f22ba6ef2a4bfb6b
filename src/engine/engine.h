#pragma once
// The engine: one index under one rule. It runs SIGN (make_signer(), any thread), MATCH (any threads, one
// batch at a time) and RESOLVE (one thread), and then applies the decisions to the index. Its only thread
// takes memory from the system ahead of the index, and its only I/O is through Bodies.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/originals.h"
#include "engine/resolve.h"
#include "engine/rule.h"
#include "engine/sign.h"

namespace doppel {

// A thread that takes memory from the system before it is needed, so that no urgent work waits for the first
// touch of a page. It starts with the first request.
class MemoryAhead {
 public:
  MemoryAhead() = default;
  ~MemoryAhead();
  MemoryAhead(const MemoryAhead&) = delete;
  MemoryAhead& operator=(const MemoryAhead&) = delete;

  // Requests memory; it is taken soon. Memory that is present stays unchanged, and unmapped memory is
  // skipped. Nothing depends on it: other memory is provided at its first touch.
  void take(void* at, size_t bytes);
  // Returns when all requested memory is present.
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<char*, size_t>> pieces_;  // the first one is being processed
  bool stop_ = false;
  std::thread thread_;
};

struct EngineOptions {
  Scheme scheme;
  Rule rule;
  int shards = 1;  // originals are spread over them by number; each has an index
  // If set, the process has only these shards, in one index: it answers, and follows another process's
  // decisions.
  std::optional<ShardSet> own;
  // The process has no shard: it decides by the answers of others.
  bool elsewhere = false;
  bool track_ids = false;
  // Returns the payload of an original from its metadata; if empty, payloads are not compared.
  Matcher::PayloadOf payload_of;
  uint64_t initial_capacity = 1024;
  uint64_t rows_max = kIndexRowsMax;  // of each shard; lower in tests
  // For old originals, one for each of shares_of(); empty: all originals are in memory.
  std::vector<SegmentOptions> segments;

  bool with_sets() const { return rule.verify == Verify::exact; }  // whether SIGN makes sets
};

// The shards of each share of originals that the process has; none if the originals are elsewhere.
std::vector<ShardSet> shares_of(const EngineOptions& options);

// The options of an index for these engine options.
CandidateIndexOptions index_options(const EngineOptions& options);

// The state of one batch from SIGN to RESOLVE. Reused for each batch.
struct Work {
  SignedBatch sign;
  PodVector<uint64_t> band_keys;
  std::vector<DocumentSet> sets;
  std::vector<Answer> answers;
  // For answers from elsewhere: who gave them, and the cut that these and all later ones cover.
  Owners owners;
  Cut covered = 0;
  std::vector<Seq> forget;  // to remove before the first document; dead ones are ignored
  Resolved resolved;

  void resize(size_t documents, const EngineOptions& options);
};

// What the engine needs from its caller while it decides a batch.
struct ResolveHelp {
  // Reads an `unread` document of the batch and matches it, because its original has died since.
  std::function<absl::Status(size_t)> read;
  // If the originals are elsewhere: renews the answers to a document, with these originals dead.
  std::function<absl::Status(size_t, const Deaths&, const RelateHint&)> again;
  // How to insert new originals on several threads.
  int threads = 1;
  CandidateIndex::Run run;
};

class Engine {
 public:
  // `bodies` must outlive the engine.
  Engine(const EngineOptions& options, Bodies& bodies);

  const EngineOptions& options() const { return options_; }
  Originals& originals() { return originals_; }
  const Originals& originals() const { return originals_; }
  // Whether this process stores the content of an original: in its own index, or because all originals are
  // elsewhere.
  bool has(Seq seq) const { return options_.elsewhere || originals_.has(seq); }
  uint64_t id_tag(std::string_view id) const { return doppel::id_tag(options_.scheme.key, id); }

  Signer make_signer() const { return Signer(options_.scheme, options_.with_sets()); }
  // `hint`: from RESOLVE, when it matches one document a second time.
  absl::Status match(Work& work, size_t begin, size_t end, MatchCounters& counters,
                     const RelateHint* hint = nullptr) const;
  // Decides the batch, which must have been matched after the last call, and applies it: appends the bodies
  // of new originals and inserts them into the index. After an error (a body could not be read or written),
  // do not use the engine again.
  absl::Status resolve(Work& work, const ResolveHelp& help = {});
  // Whether an original with this payload is known. Any thread may call it, also while a batch is resolved;
  // the answer may be outdated after that.
  bool knows_payload(const Digest& payload) const;
  // Sets out[i] to what resolve() would decide for the signed document i of [begin, end) if it came now and
  // alone: runs MATCH, and RESOLVE with an empty window, and applies nothing. A query has no time and
  // replaces nothing. Threads may query disjoint parts of a batch, but not while a batch is resolved.
  absl::Status query(Work& work, size_t begin, size_t end, std::span<Outcome> out) const;

  // Why an original below the lowest live number is dead, if nobody removed it. `trusted_ms` is the time that
  // expiry trusts.
  RemovalReason why_dead(int64_t trusted_ms) const;

  // The number of batches decided.
  Cut cut() const { return resolver_.cut(); }
  // Originals that are decided but may not be covered by answers yet.
  size_t window_originals() const { return resolver_.window_originals(); }
  // Applies the decisions of another process: its new originals, whose bodies are stored already, and its
  // removals.
  absl::Status follow(Resolved& decided, const ResolveHelp& help = {});

  // The state of expiry, for the commit record.
  std::string clock() { return resolver_.expiry().state(); }

  // Calls take_room() for its rule. Call before the first resolve().
  void take_room(std::string_view described) { doppel::take_room(options_.rule, described); }

  // To restore, call start_restore(), restore() for every stored row in ascending order, and
  // finish_restore(), which builds the tables.
  absl::Status start_restore(Seq first_row, Seq lowest_live, std::string_view clock);
  absl::Status restore(const StoredRow& row);  // ResourceExhausted: the shards cannot take more
  // After start_restore(): of this stream's own rows, those below this need not be restored, except for
  // removed ones, of which the number is enough. They are in segments. Own rows begin at 0 here.
  Seq first_to_restore() const;
  // All rows restored so far belong to indexes that are only read (Originals::first_own).
  void begin_own() { originals_.begin_own(); }
  // A removal that became known after its row was restored, with its record time if the row had none.
  void restore_removed(Seq seq, int64_t trusted_ms);
  // Replaces the arguments of start_restore() with values that are known only at the end.
  absl::Status restore_clock(Seq lowest_live, std::string_view clock);
  void finish_restore(int threads = 1);

 private:
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
  mutable std::shared_mutex growing_;  // held exclusively while the index changes
  Seq restore_lowest_live_ = 0;
  PodVector<uint64_t> followed_keys_;
  PodVector<uint64_t> prints_;  // of one original
  mutable std::string body_;
};

}  // namespace doppel
