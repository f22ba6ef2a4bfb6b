#pragma once
// The state directory: what lets a run go on where the last one stopped, whatever stopped it.
//
//   hot        one row per original, in order: what the index holds in memory, a CRC32C each
//   bodies     per original: metadata and coded set, a CRC32C each; rows say where
//   journal    a checkpoint record, then one commit record per batch: how long the other files are,
//              the positions of input and outputs, what was removed or has expired
//   journal.1  the one before, up to that checkpoint; journal.2 and so on: older ones
//   hash.key   the 128-bit secret (mode 0600), made once if none is configured
//   LOCK       held while a process uses the directory
//
// Columns and outputs are written before the commit record that counts them. At start the last commit
// record that everything supports is the truth: files are cut to the lengths it names. A checkpoint
// (periodic, and at a clean end) syncs the columns beside the stream and then begins a fresh journal,
// atomically. Where the newest commits turn out to be damaged, an older one is the truth: input, outputs and
// index go back together.

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/bodies.h"
#include "engine/resolved.h"
#include "index/index.h"
#include "state/file_header.h"
#include "text/hash_key.h"

namespace doppel {

enum class Fsync { none, checkpoint, commit };

struct StateOptions {
  std::string directory;
  // What signatures depend on, and what verdicts depend on besides: "name=value" lines. A directory made with
  // other ones is refused, and the message says which names differ, and how.
  std::string data_scheme;
  std::string rule;
  std::vector<std::string> accepted;  // names of the rule that may differ
  int num_perm = 128;
  int mask_words = 1;
  // A new directory is made with it (else with a random one); one of another index is refused.
  std::optional<Epoch> epoch;
  Fsync fsync = Fsync::checkpoint;
  uint64_t checkpoint_documents = 1'000'000;  // originals between checkpoints
  int64_t checkpoint_interval_ms = 0;        // and so much time at most, while something is committed; 0: any
  int snapshots = 2;                         // checkpoints that are kept, the newest included
  std::launch sync_on = std::launch::async;  // where checkpoints sync the columns; deferred: in commit()
  // Called before a checkpoint becomes durable (also one within commit()), unless fsync is none: syncs the
  // outputs, since after a power loss there is no going back behind a checkpoint. May be empty.
  std::function<absl::Status()> sync_outputs;
};

// Everything of one batch that must become durable at once.
struct Commit {
  std::vector<StoredRow> rows;  // new originals, ascending, without gaps; bodies in the same order
  std::vector<Seq> removed;
  Seq lowest_live = 0;
  std::string source_position;  // opaque
  std::string sink_position;    // opaque
  std::string clock;            // opaque: what expiry knows (watermark)
  uint64_t documents = 0;       // judged so far, in all runs
  // Rows and bodies below are given back at the next checkpoint; nullopt: those below lowest_live.
  std::optional<Seq> keep_from;
};

// What a start found. Strings are those of the last good commit; empty in a new directory.
struct Recovered {
  bool fresh = true;  // nothing was ever committed
  std::string epoch;  // UUID of this index
  std::string rule;   // in force (rule_in_force() of scheme.h)
  Seq next_seq = 0;
  Seq first_row = 0;  // rows below are gone
  Seq lowest_live = 0;
  std::string source_position, sink_position, clock;
  uint64_t documents = 0;
  uint64_t cut_bytes = 0;          // unfinished bytes that were cut off
  std::vector<std::string> notes;  // what a person should know
};

// Checkpoints of this run; the last one may be of an earlier run.
struct CheckpointStats {
  uint64_t made = 0, failed = 0;
  int64_t last_ms = 0;  // when it was made, by the machine's clock
  double last_s = 0;    // how long it took, syncing beside the stream included; 0: not of this run
  uint64_t commits_since = 0;
};

class StateDir {
 public:
  // Makes the directory if there is none, takes the lock, finds the last good commit and cuts everything
  // behind it off. DataLoss: it is damaged, and could be made again from elsewhere. FailedPrecondition: it is
  // good, but was made with other settings, for another index, by another version, or does not fit the
  // outputs. Unavailable: another process uses it. The caller puts the fingerprint of its hash key into
  // data_scheme, so that another key is refused like any other difference. supports: asked of each candidate
  // commit, latest first: can the outputs be cut to what it says? Not asked when nothing was ever committed.
  // May be empty: yes.
  using Supports = std::function<bool(std::string_view sink_position)>;
  static absl::StatusOr<std::unique_ptr<StateDir>> open(const StateOptions& options,
                                                        const Supports& supports);
  ~StateDir();

  const Recovered& recovered() const;
  const Epoch& epoch() const;
  // Calls `visit` for every stored row from first_row on, ascending, once, after open().
  absl::Status load_rows(const std::function<void(const StoredRow&)>& visit);

  // Numbering begins here: only before the first commit. Rows below are a hole.
  absl::Status start_at(Seq seq);
  // Adds a "name=value" line to the data scheme, durable when it returns: what will be committed from here on
  // depends on it, what was committed before does not. FailedPrecondition: the name has another value.
  absl::Status add_to_scheme(std::string_view line);
  // The rule in force, where more than the directory says what it is: the next checkpoint holds it.
  void set_rule(std::string rule);
  // One committed row; its views live until the next call. One that was given back is removed and has no
  // body.
  absl::StatusOr<StoredRow> read_row(Seq seq);

  Bodies& bodies();
  // Durable (as far as fsync says) when it returns OK. After an error nothing more may be committed: the
  // directory is still as of the last commit for the next open(). The outputs must have been flushed (and
  // synced where fsync is commit) before. Makes a checkpoint where one is due. Call on the thread that
  // appends bodies. What contradicts what was committed before (numbers, bodies, counts) ends the process.
  absl::Status commit(const Commit& commit);
  absl::Status checkpoint();
  // Begins one beside what follows; the next commit that finds its columns synced makes it, or checkpoint().
  void begin_checkpoint();
  // On the thread that commits.
  CheckpointStats checkpoint_stats() const;

 private:
  struct Impl;
  explicit StateDir(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A directory that open() finds damaged, where the index can be had from elsewhere: moves its columns and
// journals into damaged/, in place of what an earlier call put there, so that open() starts with nothing.
// hash.key stays. `note` says what was done. Only while nobody has the directory open.
absl::Status discard_state(const std::string& directory, std::string* note = nullptr);
// For damage that is found while running. The next open() verifies every row and body and goes on from the
// newest commit that holds; where none does, it is DataLoss with this reason.
// A broken invariant (base/check.h) leaves the same mark in every directory that is open: what was committed
// was checked before, and what the memory held since is gone with the process, so verified files may go on.
void mark_damaged(const std::string& directory, const std::string& reason);

// The key to use with this directory (made and stored if there is none: `wanted`, or a random one). `made` is
// set when it was made now.
absl::StatusOr<HashKey> hash_key_of(const std::string& directory, bool* made,
                                    const std::optional<HashKey>& wanted = std::nullopt);
// 32 hex digits, from a file or the environment; the message of an error never shows the key.
absl::StatusOr<HashKey> parse_hash_key(std::string_view hex);

// Bodies in an unlinked temporary file in `directory` (or $TMPDIR, /tmp): for runs without a state directory.
absl::StatusOr<std::unique_ptr<Bodies>> temporary_bodies(const std::string& directory);

}  // namespace doppel
