#pragma once
// A state directory as it is, for a look: nothing is changed and no lock is taken, so it may be in use. What
// is shown is the newest commit at the time of opening.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/bodies.h"
#include "engine/resolved.h"
#include "state/journal.h"

namespace doppel {

struct Snapshot {  // one of the journals
  std::string file;
  CommitRecord checkpoint;  // without what was removed
  uint64_t last_commit = 0;
  uint64_t bytes = 0;
};

struct Damage {
  std::string file;
  uint64_t offset = 0;
  std::string what;
};

// An original and all that is stored of it; views live until the next one.
struct StoredDocument {
  const StoredRow& row;  // with `removed`
  bool live = false;     // neither removed nor below the lowest live number
  Body body;
};

class StateView {
 public:
  // DataLoss: not even a journal can be read.
  static absl::StatusOr<std::unique_ptr<StateView>> open(const std::string& directory);
  ~StateView();

  const Epoch& epoch() const;
  const Identity& identity() const;
  const CommitRecord& last() const;  // `removed`: all that are not below keep_from
  const std::vector<Snapshot>& snapshots() const;
  uint64_t hot_bytes() const;
  uint64_t bodies_bytes() const;
  // Bytes that hot and bodies take on the disk: space that was given back is not in them.
  uint64_t disk_bytes() const;

  // Reads every row that is kept and its body, ascending, and verifies all checksums. `visit` may be empty;
  // false ends it. `progress` is called with the share that is done.
  void read(const std::function<bool(const StoredDocument&)>& visit,
            const std::function<void(double)>& progress);
  // The rows that live, ascending, their views valid for the call; bodies are not looked at. DataLoss: one is
  // damaged. Only while nobody writes into the directory.
  absl::Status live_rows(const std::function<absl::Status(StoredRow&)>& visit) const;
  // Of the rows. As long as the view lives.
  const Bodies& bodies() const;
  // What was found so far, by open() and read(); `more` counts what is not listed.
  const std::vector<Damage>& damage() const;
  uint64_t more_damage() const;

 private:
  struct Impl;
  explicit StateView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Of what lives in an index and nothing else: not where it is stored, nor what is dead. Two directories with
// the same sum hold the same index.
class IndexChecksum {
 public:
  void add(const StoredDocument& document, int num_perm, int mask_words);
  std::string hex() const;

 private:
  uint64_t sum_ = 0;
};

// What the index in a directory was made with. Empty: the directory holds no index, or one that cannot be
// read, which StateDir explains.
Identity stored_identity(const std::string& directory);

}  // namespace doppel
