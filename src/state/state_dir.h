#pragma once
// The state directory: it lets a run continue where the last one stopped, for whatever reason that stopped.
//
//   hot        one row per original, in order: what the index holds in memory; each with a CRC32C
//   bodies     metadata and coded set of each original; each with a CRC32C; rows have the offsets
//   journal    a checkpoint record, then one commit record per batch: how long the other files are,
//              the positions of input and outputs, what was removed or has expired
//   journal.1  the previous one, up to that checkpoint; journal.2 and so on: older ones
//   hash.key   the 128-bit secret (mode 0600), made once if none is configured
//   LOCK       held while a process uses the directory
//
// Columns and outputs are written before the commit record that counts them. A start takes the last commit
// record that all files support, and cuts the files to its lengths. A checkpoint (periodic, and at a clean
// end) syncs the columns in the background and then begins a new journal, atomically. If the newest commits
// are damaged, a start takes an older one: input, outputs and index go back together.

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
#include "state/columns.h"
#include "text/hash_key.h"

namespace doppel {

enum class Fsync { none, checkpoint, commit };

struct StateOptions {
  std::string directory;
  // The settings that signatures depend on, and the other settings that verdicts depend on: "name=value"
  // lines. A directory that was made with other values is refused; the message lists each difference.
  std::string data_scheme;
  std::string rule;
  std::vector<std::string> accepted;  // names in the rule that may differ
  int num_perm = 128;
  int mask_words = 1;
  // The epoch of a new directory (otherwise it is random). A directory with another epoch is refused.
  std::optional<Epoch> epoch;
  Fsync fsync = Fsync::checkpoint;
  uint64_t checkpoint_documents = 1'000'000;  // originals between checkpoints
  int64_t checkpoint_interval_ms = 0;         // longest time between them, if there are commits; 0: any
  int snapshots = 2;                          // number of checkpoints that are kept, including the newest
  std::launch sync_on = std::launch::async;   // how checkpoints sync the columns; deferred: in commit()
  // Syncs the outputs. Called before a checkpoint becomes durable (also in commit()), unless fsync is none,
  // because a start after a power loss cannot go back behind a checkpoint. May be empty.
  std::function<absl::Status()> sync_outputs;
};

// All parts of one batch that must become durable together.
struct Commit {
  std::vector<StoredRow> rows;  // new originals, ascending, without gaps; their bodies are in the same order
  std::vector<Seq> removed;
  // Copies that clusters show from now on, until their originals die; the last one of a cluster counts.
  std::vector<Shown> shown;
  Seq lowest_live = 0;
  std::string source_position;  // opaque
  std::string sink_position;    // opaque
  std::string clock;            // opaque: the state of expiry (watermark)
  uint64_t documents = 0;       // judged so far, in all runs
  // The next checkpoint frees rows and bodies below this; nullopt: below lowest_live.
  std::optional<Seq> keep_from;
};

// What a start found. The strings come from the last good commit; they are empty in a new directory.
struct Recovered {
  bool fresh = true;  // nothing was ever committed
  std::string epoch;  // UUID of this index
  std::string rule;   // the rule in force (rule_in_force() of scheme.h)
  Seq next_seq = 0;
  Seq first_row = 0;  // rows below are gone
  Seq lowest_live = 0;
  std::string source_position, sink_position, clock;
  uint64_t documents = 0;
  uint64_t cut_bytes = 0;          // bytes of unfinished commits that were discarded
  std::vector<std::string> notes;  // messages for the user
};

// The checkpoints of this run; the last one may belong to an earlier run.
struct CheckpointStats {
  uint64_t made = 0, failed = 0;
  int64_t last_ms = 0;  // when it was made, by the machine's clock
  double last_s = 0;    // how long it took, including the sync in the background; 0: an earlier run's
  uint64_t commits_since = 0;
};

class StateDir {
 public:
  // Creates the directory if necessary, takes the lock, finds the last good commit and discards everything
  // behind it. DataLoss: the directory is damaged, and could be restored from elsewhere.
  // FailedPrecondition: it is intact, but was made with other settings, for another index or by another
  // version, or does not match the outputs. Unavailable: another process uses it. The caller puts the
  // fingerprint of its hash key into data_scheme, so that another key is refused like any other difference.
  // `supports` tells whether the outputs can be cut to a commit's sink position. It is called for each
  // candidate commit, the latest first, but not if nothing was ever committed. May be empty: yes.
  using Supports = std::function<bool(std::string_view sink_position)>;
  static absl::StatusOr<std::unique_ptr<StateDir>> open(const StateOptions& options,
                                                        const Supports& supports);
  ~StateDir();

  const Recovered& recovered() const;
  const Epoch& epoch() const;
  // Calls `visit` for each stored row from first_row on, ascending. Call it once, after open(). Rows below
  // `from` are visited only if they are removed, and have nothing else.
  absl::Status load_rows(const std::function<void(const StoredRow&)>& visit, Seq from = 0);

  // Begins numbering at `seq`, with a hole below it. Only before the first commit.
  absl::Status start_at(Seq seq);
  // Adds a "name=value" line to the data scheme; it is durable when this returns. Commits from now on
  // depend on it, earlier ones do not. FailedPrecondition: the name has another value.
  absl::Status add_to_scheme(std::string_view line);
  // Sets the rule in force if it is not the directory's own. The next checkpoint stores it.
  void set_rule(std::string rule);
  // Reads one committed row; its views are valid until the next call. A row that was freed is removed and
  // has no body.
  absl::StatusOr<StoredRow> read_row(Seq seq);

  // The copy that a cluster shows in place of its original, as of the last commit; nullptr: none. Valid until
  // the next commit.
  const std::string* shown(Seq seq) const;

  Bodies& bodies();
  // Durable (as far as fsync says) when it returns OK. After an error nothing more can be committed, and
  // the next open() finds the last good commit. Flush the outputs before (with Fsync::commit, sync them).
  // Makes a checkpoint if one is due. Call it on the thread that appends bodies. A commit that contradicts
  // earlier ones (numbers, bodies, counts) ends the process.
  absl::Status commit(const Commit& commit);
  absl::Status checkpoint();
  // Begins a checkpoint in the background. The first commit that finds the columns synced completes it, or
  // checkpoint() does.
  void begin_checkpoint();
  // Call it on the thread that commits.
  CheckpointStats checkpoint_stats() const;

 private:
  struct Impl;
  explicit StateDir(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// For a directory that open() finds damaged, if the index can be restored from elsewhere: moves columns and
// journals into damaged/, replacing its old content, so that open() starts with nothing. hash.key stays.
// `note` says what was done. Only while no process has the directory open.
absl::Status discard_state(const std::string& directory, std::string* note = nullptr);
// For damage found at run time. The next open() verifies all rows and bodies and continues from the newest
// good commit; if there is none, it returns DataLoss with this reason. A broken invariant (base/check.h)
// leaves the same mark in each open directory: all commits were checked before, and the wrong state in
// memory is gone with the process, so verified files can be used.
void mark_damaged(const std::string& directory, const std::string& reason);

// The key of this directory. If there is none, stores `wanted` or a random key, and sets `made`.
absl::StatusOr<HashKey> hash_key_of(const std::string& directory, bool* made,
                                    const std::optional<HashKey>& wanted = std::nullopt);
// Parses 32 hex digits from a file or the environment. The message of an error never shows the key.
absl::StatusOr<HashKey> parse_hash_key(std::string_view hex);

// Bodies in an unlinked temporary file in `directory` (empty: $TMPDIR or /tmp), for runs without a state
// directory.
absl::StatusOr<std::unique_ptr<Bodies>> temporary_bodies(const std::string& directory);

}  // namespace doppel
